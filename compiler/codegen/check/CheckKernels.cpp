//===- CheckKernels.cpp - Generated code against what it stands for -------===//

#include "compiler/codegen/check/CheckKernels.h"

#include "compiler/codegen/TemporaryFile.h"
#include "compiler/codegen/rows/RowBody.h"
#include "compiler/codegen/rows/RowForm.h"
#include "dialects/rt/RowReference.h"

#include "llvm/Support/DynamicLibrary.h"

#include <cmath>
#include <memory>
#include <random>

using namespace mlir;

namespace shardc::codegen {

namespace {

/// Two vectors of the widest level and a rest; one column; a vector.
constexpr int64_t kColumns[] = {37, 1, 16};
constexpr int64_t kRows = rt::kRowSamples;

/// All rows of one operand, as a kernel reads or writes them.
struct Storage {
  RowOperand operand;
  int64_t perRow; ///< elements
  std::vector<char> bytes;

  Storage(const RowOperand &operand, int64_t columns)
      : operand(operand), perRow(operand.isPerRow ? 1 : columns),
        bytes(kRows * perRow * storageBytes(operand.element)) {}

  uint16_t &half(int64_t i) {
    return reinterpret_cast<uint16_t *>(bytes.data())[i];
  }
  void set(int64_t row, int64_t column, double value) {
    const int64_t i = row * perRow + (operand.isPerRow ? 0 : column);
    if (operand.element.isSignlessInteger(1)) {
      bytes[i] = value != 0;
    } else if (operand.element.isF32()) {
      reinterpret_cast<float *>(bytes.data())[i] = static_cast<float>(value);
    } else {
      llvm::APFloat number(value);
      bool isInexact;
      number.convert(cast<FloatType>(operand.element).getFloatSemantics(),
                     llvm::APFloat::rmNearestTiesToEven, &isInexact);
      half(i) = number.bitcastToAPInt().getZExtValue();
    }
  }
  double get(int64_t row, int64_t column) {
    const int64_t i = row * perRow + (operand.isPerRow ? 0 : column);
    if (operand.element.isSignlessInteger(1))
      return bytes[i] != 0;
    if (operand.element.isF32())
      return reinterpret_cast<float *>(bytes.data())[i];
    const auto &semantics =
        cast<FloatType>(operand.element).getFloatSemantics();
    llvm::APFloat number(semantics, llvm::APInt(16, half(i)));
    bool isInexact;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &isInexact);
    return number.convertToDouble();
  }
};

class KernelCheck {
public:
  KernelCheck(rt::KernelOp kernel, artifact::GeneratedFunction function)
      : kernel(kernel), function(function), operands(operandsOf(kernel)),
        numInputs(kernel.getInputKinds().size()),
        slots(generatedForm(kernel).slots) {}

  LogicalResult run(int64_t columns) {
    storage.clear();
    std::mt19937 random(7);
    for (const RowOperand &operand : operands)
      storage.emplace_back(operand, columns);
    for (size_t i = 0; i < numInputs; ++i)
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t c = 0; c < storage[i].perRow; ++c)
          storage[i].set(row, c, rt::rowSample(row, random));
    call(columns);
    for (int64_t row = 0; row < kRows; ++row)
      if (failed(compare(row, columns)))
        return failure();
    return success();
  }

private:
  void call(int64_t columns) {
    std::vector<void *> addresses;
    std::vector<int64_t> sizes{columns};
    for (Storage &each : storage) {
      addresses.push_back(each.bytes.data());
      sizes.push_back(each.perRow);
    }
    constexpr size_t kLine = 64;
    std::vector<float> scratch(artifact::scratchFloats(slots, columns) +
                               kLine / sizeof(float));
    void *start = scratch.data();
    size_t bytes = scratch.size() * sizeof(float);
    std::align(kLine, 0, start, bytes);
    function(addresses.data(), sizes.data(), 0, kRows,
             static_cast<float *>(start));
  }

  LogicalResult compare(int64_t row, int64_t columns) {
    std::vector<rt::RowValues> inputs;
    for (size_t i = 0; i < numInputs; ++i) {
      rt::RowValues &input = inputs.emplace_back(columns);
      for (int64_t c = 0; c < columns; ++c)
        input[c] = storage[i].get(row, c);
    }
    rt::RowReference expected(kernel);
    if (failed(expected.run(inputs, columns)))
      return failure();
    for (size_t o = numInputs; o < operands.size(); ++o)
      for (int64_t c = 0; c < columns; ++c) {
        const double found = storage[o].get(row, c);
        if (!expected.allows(o - numInputs, c, found, operands[o].element))
          return kernel.emitError("generated code computes ")
                 << found << " in row " << row << ", column " << c << " of "
                 << columns << ", expected "
                 << expected.expected(o - numInputs, c)
                 << ": this is a bug of shardc; use --kernels reference";
      }
    return success();
  }

  rt::KernelOp kernel;
  artifact::GeneratedFunction function;
  const SmallVector<RowOperand, 8> operands;
  const size_t numInputs;
  const int64_t slots;
  std::vector<Storage> storage;
};

} // namespace

bool canRun(StringRef target) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (target == "x86-64-v3")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
  if (target == "x86-64-v4")
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return false;
}

LogicalResult checkKernels(ModuleOp module, StringRef library) {
  TemporaryFile file;
  std::string why = file.create("so", library);
  if (!why.empty())
    return module.emitError("its kernels cannot be checked: ") << why;
  auto loaded = llvm::sys::DynamicLibrary::getLibrary(file.path(), &why);
  if (!loaded.isValid())
    return module.emitError("its kernels cannot be loaded: ") << why;
  LogicalResult result = success();
  for (auto kernel : module.getOps<rt::KernelOp>()) {
    auto function = reinterpret_cast<artifact::GeneratedFunction>(
        loaded.getAddressOfSymbol(kernel.getSymName().str().c_str()));
    if (!function)
      result = kernel.emitError("is not in the library that was made of it");
    for (int64_t columns : kColumns)
      if (succeeded(result))
        result = KernelCheck(kernel, function).run(columns);
  }
  llvm::sys::DynamicLibrary::closeLibrary(loaded);
  return result;
}

} // namespace shardc::codegen
