//===- NarrowCaches.cpp - Caches in the type in which they are joined -----===//
//
// A model that computes in one float type and takes and gives its caches in
// another casts all of past and all of present in every step. A cache is kept
// in the narrower of the two instead:
//
//              cache f32                       cache bf16
//   model      present = f32(bf16(past) | k)   present = bf16(f32(past) | k)
//   becomes    present = past | k              present = past | bf16(k)
//              past and present: bf16; their
//              callers' data is cast
//
// Widening is exact and undone by narrowing, so that both are the same bits.
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"
#include "passes/import/caches/CacheRoles.h"
#include "passes/import/validate/Validator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_NARROWCACHES
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

FloatType floatOf(Value value) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool isNarrower(FloatType a, FloatType b) {
  return a && b && a.getWidth() < b.getWidth();
}

/// One cache in one function.
struct Ports {
  func::FuncOp function;
  BlockArgument past;
  OpOperand *present;

  Value presentValue() const { return present->get(); }
};

/// The type that past is only read in; null where it is read in its own, and
/// where it is not read.
FloatType readIn(BlockArgument past) {
  FloatType type;
  for (Operation *user : past.getUsers()) {
    if (isa<func::ReturnOp>(user))
      continue;
    auto cast = dyn_cast<CastOp>(user);
    FloatType other = cast ? floatOf(cast.getResult()) : FloatType();
    if (!other || (type && type != other))
      return {};
    type = other;
  }
  return isNarrower(type, floatOf(past)) ? type : FloatType();
}

bool isCastFrom(Value value, FloatType type) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && floatOf(cast.getInput()) == type;
}

/// The narrower type in which all functions read past and compute present.
FloatType narrowType(ArrayRef<Ports> uses) {
  FloatType type;
  for (const Ports &ports : uses)
    if (FloatType read = readIn(ports.past))
      type = read;
  if (!type)
    return {};
  for (const Ports &ports : uses) {
    // As another output past has the model's type.
    for (OpOperand &use : ports.past.getUses())
      if (isa<func::ReturnOp>(use.getOwner()) && &use != ports.present)
        return {};
    const bool reads = llvm::any_of(ports.past.getUsers(), [](Operation *user) {
      return !isa<func::ReturnOp>(user);
    });
    if (reads && readIn(ports.past) != type)
      return {};
    Value present = ports.presentValue();
    if (present != ports.past && !hasNoElements(present) &&
        !isCastFrom(present, type))
      return {};
  }
  return type;
}

Value castTo(OpBuilder &builder, Value value, FloatType type) {
  if (isCastFrom(value, type))
    return value.getDefiningOp<CastOp>().getInput();
  auto shaped = cast<RankedTensorType>(value.getType());
  return CastOp::create(builder, value.getLoc(), shaped.clone(type), value);
}

/// Past and present of the function become `type`; callers keep theirs.
void retype(const Ports &ports, FloatType type) {
  func::FuncOp function = ports.function;
  const auto given = TypeAttr::get(floatOf(ports.past));
  auto shaped = cast<RankedTensorType>(ports.past.getType());
  const bool isPassedOn = ports.presentValue() == ports.past;
  BlockArgument past = ports.past;
  past.setType(shaped.clone(type));
  for (Operation *user : llvm::make_early_inc_range(past.getUsers()))
    if (auto cast = dyn_cast<CastOp>(user)) {
      cast.getResult().replaceAllUsesWith(past);
      cast.erase();
    }
  Operation *terminator = ports.present->getOwner();
  if (!isPassedOn) {
    OpBuilder builder(terminator);
    Value wide = ports.presentValue();
    ports.present->set(castTo(builder, wide, type));
    if (wide.use_empty())
      wide.getDefiningOp()->erase();
  }
  function.setType(FunctionType::get(function.getContext(),
                                     function.front().getArgumentTypes(),
                                     terminator->getOperandTypes()));
  onnx::FunctionInfo info(function);
  info.setInputGiven(past.getArgNumber(), given);
  info.setOutputGiven(ports.present->getOperandNumber(), given);
}

/// present = narrow(wide(past) | k) becomes past | narrow(k); what else reads
/// the wide one keeps it.
bool joinNarrow(const Ports &ports, Validator &validator) {
  auto cast = ports.presentValue().getDefiningOp<CastOp>();
  Operation *wide = cast ? cast.getInput().getDefiningOp() : nullptr;
  if (!isa_and_nonnull<ConcatOp, CacheAppendOp>(wide) ||
      !isNarrower(floatOf(cast.getResult()), floatOf(cast.getInput())) ||
      !isCastFrom(wide->getOperand(0), floatOf(cast.getResult())))
    return false;
  OpBuilder builder(cast);
  Operation *joined = builder.clone(*wide);
  for (unsigned operand : {0u, 1u})
    joined->setOperand(operand, castTo(builder, wide->getOperand(operand),
                                       floatOf(cast.getResult())));
  joined->moveBefore(cast);
  joined->getResult(0).setType(cast.getType());
  if (!validator.allows(cast.getResult(), joined->getResult(0),
                        "the join of a cache"))
    return false;
  cast.getResult().replaceAllUsesWith(joined->getResult(0));
  return true;
}

struct NarrowCaches : impl::NarrowCachesBase<NarrowCaches> {
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.empty())
      return;
    SmallVector<Ports> joins;
    for (unsigned output = 0; output < functions[0].getNumResults(); ++output) {
      SmallVector<Ports, 2> uses = usesOf(functions, output);
      if (uses.empty())
        continue;
      if (FloatType type = narrowType(uses)) {
        for (const Ports &ports : uses)
          retype(ports, type);
        ++numNarrowed;
        continue;
      }
      for (const Ports &ports : uses)
        joins.push_back(ports);
    }
    if (joins.empty())
      return;
    Validator validator;
    for (func::FuncOp function : functions) {
      validator.enter(function.front());
      for (const Ports &ports : joins)
        if (ports.function == function)
          numNarrowed += joinNarrow(ports, validator);
      eraseDead(function.front());
    }
  }

private:
  /// Of the cache whose present is that output; empty if it is none.
  static SmallVector<Ports, 2> usesOf(ArrayRef<func::FuncOp> functions,
                                      unsigned output) {
    SmallVector<Ports, 2> uses;
    for (func::FuncOp function : functions)
      if (auto cache = onnx::FunctionInfo(function).cache(output))
        uses.push_back(
            {function, function.getArgument(cache->input),
             &function.front().getTerminator()->getOpOperand(output)});
    return uses;
  }
};

} // namespace
} // namespace shardc::import
