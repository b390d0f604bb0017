//===- CheckKernels.cpp - Generated code against what it stands for -------===//

#include "compiler/codegen/check/CheckKernels.h"

#include "compiler/codegen/TemporaryFile.h"
#include "compiler/codegen/check/RowReference.h"
#include "compiler/codegen/rows/RowBody.h"
#include "compiler/codegen/rows/RowForm.h"

#include "llvm/Support/DynamicLibrary.h"

#include <array>
#include <cmath>
#include <memory>
#include <random>

using namespace mlir;

namespace shardc::codegen {

namespace {

/// Two vectors of the widest level and a rest; one column; a vector.
constexpr int64_t kColumns[] = {37, 1, 16};
constexpr int64_t kRows = 5;

/// A row's numbers of one operand. Row 0 is ordinary; then large, tiny, few
/// values with ties and zeros of both signs, and what is not finite.
double sampleOf(int64_t row, std::mt19937 &random) {
  std::normal_distribution<double> normal;
  const double plain = normal(random);
  switch (row) {
  case 1:
    return plain * 30;
  case 2:
    return plain * 1e-4;
  case 3:
    return std::array{-1.0, -0.0, 0.0, 1.0, 2.0}[random() % 5];
  case 4:
    return random() % 4 ? plain
                        : std::array{INFINITY, -INFINITY, NAN}[random() % 3];
  }
  return plain;
}

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

/// Both evaluations of one row.
struct Expected {
  RowReference single, exact;

  /// Rounded like either of them: where a comparison or a step to the next
  /// integer makes them differ, both are right.
  bool allows(unsigned number, size_t column, double found, Type type) const {
    const double a = single.output(number)[column];
    const double b = exact.output(number)[column];
    const double slack =
        std::isfinite(a) && std::isfinite(b) ? 16 * std::fabs(a - b) : 0;
    return isNear(found, a, slack, column, type) ||
           isNear(found, b, slack, column, type);
  }

private:
  bool isNear(double found, double expected, double slack, size_t column,
              Type type) const {
    if (std::isnan(expected))
      return std::isnan(found);
    if (found == expected)
      return true;
    const int precision = llvm::APFloat::semanticsPrecision(
        isa<FloatType>(type) ? cast<FloatType>(type).getFloatSemantics()
                             : llvm::APFloat::IEEEsingle());
    const double unit = std::ldexp(1.0, 1 - precision);
    const double allowed = slack + std::fabs(expected) * (1e-5 + 2 * unit) +
                           2e-6 * single.magnitude(column) + 1e-37;
    // Past the largest number of its type, rounding decides.
    if (std::isinf(expected) != std::isinf(found))
      return std::isinf(roundedTo(
                 type,
                 std::copysign(std::fabs(std::isinf(found) ? expected : found) *
                                       1.01 +
                                   allowed,
                               found))) &&
             (found > 0) == (expected > 0);
    return std::fabs(found - expected) <= allowed;
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
          storage[i].set(row, c, sampleOf(row, random));
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
    std::vector<RowValues> inputs;
    for (size_t i = 0; i < numInputs; ++i) {
      RowValues &input = inputs.emplace_back(columns);
      for (int64_t c = 0; c < columns; ++c)
        input[c] = storage[i].get(row, c);
    }
    Expected expected{{kernel, /*roundsSingle=*/true},
                      {kernel, /*roundsSingle=*/false}};
    if (failed(expected.single.run(inputs, columns)) ||
        failed(expected.exact.run(inputs, columns)))
      return failure();
    for (size_t o = numInputs; o < operands.size(); ++o)
      for (int64_t c = 0; c < columns; ++c) {
        const double found = storage[o].get(row, c);
        if (!expected.allows(o - numInputs, c, found, operands[o].element))
          return kernel.emitError("generated code computes ")
                 << found << " in row " << row << ", column " << c << " of "
                 << columns << ", expected "
                 << expected.single.output(o - numInputs)[c]
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
