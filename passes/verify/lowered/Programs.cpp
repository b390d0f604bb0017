//===- Programs.cpp - Which program runs when, and what it keeps ----------===//

#include "passes/verify/lowered/Programs.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/rt/Provenance.h"
#include "dialects/rt/Rt.h"
#include "passes/verify/lowered/Point.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;

namespace shardc::verify {

namespace {

using Sizes = SmallVector<dist::DimExpr, 4>;

/// A cache as a program keeps it: where elements lie, and whose they are.
struct Kept {
  rt::CacheOp op;
  Type element;
  std::optional<int64_t> grows;
  bool isDimFirst = false;
  dist::Sharding sharding; ///< of what is kept between runs
};

/// Row-major, or with the dim that grows outside of all others.
Sizes stridesOf(Sizes dims, std::optional<int64_t> grows, bool isDimFirst) {
  Sizes strides(dims.size());
  dist::DimExpr stride = 1;
  auto place = [&](size_t d) {
    strides[d] = stride;
    stride = stride * (grows == int64_t(d)
                           ? dist::DimExpr::max(dims[d], rt::cacheCapacity())
                           : dims[d]);
  };
  for (size_t d = dims.size(); d-- > 0;)
    if (!isDimFirst || grows != int64_t(d))
      place(d);
  if (isDimFirst)
    place(*grows);
  return strides;
}

/// But for the dim that grows, which each rank has all of.
bool isHeldAlike(const dist::Sharding &a, const dist::Sharding &b,
                 std::optional<int64_t> grows) {
  if (a.dims.size() != b.dims.size())
    return false;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    const bool isSplit = a.dims[d].isSplit() || b.dims[d].isSplit();
    if (isSplit && (grows == int64_t(d) || a.dims[d] != b.dims[d]))
      return false;
  }
  return true;
}

class CacheVerifier {
public:
  CacheVerifier(rt::ProgramOp program, func::FuncOp function)
      : program(program), function(function), info(function) {
    for (auto input : program.getOps<rt::InputOp>())
      inputs.push_back(input);
    for (auto output : program.getOps<rt::OutputOp>())
      outputs.push_back(output);
  }

  LogicalResult run() {
    llvm::DenseSet<int64_t> grown;
    for (auto cache : program.getOps<rt::CacheOp>()) {
      if (failed(verify(cache)))
        return failure();
      if (cache.getKind() != "set" && cache.getDim())
        grown.insert(cache.getInput());
    }
    for (auto [i, input] : llvm::enumerate(inputs))
      if (input.getCacheDim().has_value() != grown.contains(i))
        return input.emitError("has room for a cache that nobody keeps, or "
                               "none for one");
    return success();
  }

  std::map<int64_t, Kept> kept; ///< by input

private:
  LogicalResult wrong(rt::CacheOp cache, const Twine &what) {
    InFlightDiagnostic error = cache.emitError(what);
    error.attachNote(function.getLoc()) << "what was partitioned is here";
    return error;
  }

  LogicalResult verify(rt::CacheOp cache) {
    const int64_t number = cache.getOutput();
    if (number < 0 || number >= int64_t(outputs.size()) ||
        number >= int64_t(function.getNumResults()))
      return wrong(cache, "is of no output");
    const auto known = info.cache(number);
    if (!known || known->input != int64_t(cache.getInput()) ||
        known->kind != cache.getKindAttr() ||
        known->dim.has_value() != cache.getDim().has_value() ||
        (known->dim && *known->dim != int64_t(*cache.getDim())) ||
        known->input >= int64_t(inputs.size()))
      return wrong(cache, "is no cache of what was partitioned");
    rt::InputOp past = inputs[known->input];
    const bool isKept = cache.getKind() == "keep";
    Value present = function.front().getTerminator()->getOperand(number);
    Value given = function.getArgument(known->input);
    const bool isBuffer = isKept
                              ? cache.getBuffer() == past.getBuffer()
                              : bufferOf(outputs[number]) == cache.getBuffer();
    if (!isBuffer || (isKept && present == given &&
                      bufferOf(outputs[number]) != cache.getBuffer()))
      return wrong(cache, "holds another buffer than that of past or present");
    Kept entry{cache, past.getElement(), known->dim, past.getDimFirst(),
               dist::getSharding(
                   (cache.getKind() == "set" ? present : given).getType())};
    if (!isKept && failed(verifyPresent(cache, number, present, given, entry)))
      return failure();
    return kept.try_emplace(known->input, entry).second
               ? success()
               : wrong(cache, "is a cache that is kept twice");
  }

  LogicalResult verifyPresent(rt::CacheOp cache, int64_t number, Value present,
                              Value given, Kept &entry) {
    auto type = cast<rt::ViewType>(outputs[number].getView().getType());
    const auto grows = entry.grows;
    const Sizes dims = localDims(present.getType());
    const bool isSet = cache.getKind() == "set";
    if (isSet)
      entry.isDimFirst =
          grows && type.getStrides() != ArrayRef(stridesOf(dims, grows, false));
    if (type.getElement() != entry.element || !type.getOffset().isConstant(0) ||
        type.getStrides() != ArrayRef(stridesOf(dims, grows, entry.isDimFirst)))
      return wrong(cache, "does not lie as past does");
    if (!isHeldAlike(dist::getSharding(present.getType()),
                     isSet ? dist::getSharding(present.getType())
                           : dist::getSharding(given.getType()),
                     grows))
      return wrong(cache, "is held by other ranks than past");
    return success();
  }

  static Value bufferOf(rt::OutputOp output) {
    auto view = output.getView().getDefiningOp<rt::ViewOp>();
    return view ? view.getBuffer() : Value();
  }

  rt::ProgramOp program;
  func::FuncOp function;
  const onnx::FunctionInfo info;
  SmallVector<rt::InputOp> inputs;
  SmallVector<rt::OutputOp> outputs;
};

/// What one program keeps is what the next one, of another profile, finds.
LogicalResult verifyKeptAlike(rt::ProgramOp program,
                              const std::map<int64_t, Kept> &first,
                              const std::map<int64_t, Kept> &kept) {
  if (kept.size() != first.size())
    return program.emitError("keeps other caches than the stage's first "
                             "program");
  for (const auto &[input, own] : kept) {
    auto other = first.find(input);
    if (other == first.end())
      return program.emitError("keeps other caches than the stage's first "
                               "program");
    rt::CacheOp op = own.op;
    if (own.element != other->second.element ||
        own.grows != other->second.grows ||
        own.isDimFirst != other->second.isDimFirst ||
        !isHeldAlike(own.sharding, other->second.sharding, own.grows))
      return op.emitError("is kept otherwise than by the stage's first "
                          "program");
  }
  return success();
}

} // namespace

LogicalResult verifyPrograms(ModuleOp module) {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  size_t number = 0;
  std::map<int64_t, std::map<int64_t, Kept>> stages;
  for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
    const FlatSymbolRefAttr name = rt::partitionedOf(program);
    if (!name)
      continue;
    if (number == functions.size() ||
        functions[number].getSymNameAttr() != name.getAttr())
      return program.emitError("is not the next program of what was "
                               "partitioned: ")
             << name;
    func::FuncOp function = functions[number++];
    if (auto other = onnx::FunctionInfo(function).firstNotCopied(program))
      return program.emitError("has another ")
             << *other << " than what was partitioned";
    CacheVerifier caches(program, function);
    if (failed(caches.run()))
      return failure();
    auto [first, isFirst] =
        stages.try_emplace(onnx::FunctionInfo(function).stage(), caches.kept);
    if (!isFirst &&
        failed(verifyKeptAlike(program, first->second, caches.kept)))
      return failure();
  }
  return number == functions.size()
             ? success()
             : functions[number].emitError("is computed by no program");
}

} // namespace shardc::verify
