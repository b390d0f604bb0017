//===- RecoverRotary.cpp - Rotary embedding from arithmetic ---------------===//

#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/rotary/RotaryPairs.h"
#include "passes/import/validate/Validator.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERROTARY
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {
struct RecoverRotary : impl::RecoverRotaryBase<RecoverRotary> {
  void runOnOperation() override;
};

/// Makes the ops of one block; all layers share their cosines and sines.
class RotaryBuilder {
public:
  explicit RotaryBuilder(Validator &validator) : validator(validator) {}

  /// Puts a rotary embedding in the place of `op`, if it is the result of one.
  bool replace(Operation *op);

private:
  Value cacheOf(OpBuilder &builder, Value table, const Rotation &rotation,
                ArrayRef<DimExpr> dims);

  Validator &validator;
  /// By table, and how that holds its angles.
  llvm::DenseMap<std::pair<Value, unsigned>, Value> caches;
};

} // namespace

/// b h s d of b s h d and back.
static Value swapped(OpBuilder &builder, Location loc, Value value) {
  Dims dims = dimsOf(value);
  std::swap(dims[1], dims[2]);
  return TransposeOp::create(builder, loc,
                             dist::makeType(elementOf(value), dims), value,
                             builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
}

/// Does a table of `table` dims turn all heads of b h s d alike?
static bool fitsHeads(ArrayRef<DimExpr> table, ArrayRef<DimExpr> dims) {
  return table.size() == 4 && table[1].isConstant(1) && table[2] == dims[2] &&
         (table[0].isConstant(1) || table[0] == dims[0]);
}

static Dims withSwap(Dims dims) {
  if (dims.size() == 4)
    std::swap(dims[1], dims[2]);
  return dims;
}

/// [b or 1, s, r / 2].
Value RotaryBuilder::cacheOf(OpBuilder &builder, Value table,
                             const Rotation &rotation, ArrayRef<DimExpr> dims) {
  // Of a table that has each angle once, all of it is the cache.
  const unsigned held = rotation.isTwice ? 1 + rotation.isInterleaved : 0;
  Value &cache = caches[{table, held}];
  if (cache)
    return cache;
  Value once = table;
  if (rotation.isTwice)
    once = onceEach(builder, table, rotation.isInterleaved);
  if (once)
    cache = reshaped(builder, table.getLoc(), once,
                     {dimsOf(table)[0], dims[2], dimsOf(once).back()});
  return cache;
}

/// What follows on the rotated part of a head stays as it is: then the whole
/// head is rotated, as far as that part goes.
static Operation *wholeHead(Operation *op, Value &input) {
  auto concat = dyn_cast_or_null<ConcatOp>(onlyUser(op->getResult(0)));
  auto rotated = lastDimPart(input);
  if (!concat || concat->getNumOperands() != 2 || !rotated ||
      concat->getOperand(0) != op->getResult(0) ||
      concat.getAxis() + 1 != dimsOf(concat).size())
    return op;
  auto rest = lastDimPart(concat->getOperand(1));
  if (!rest || !isSame(rest->source, rotated->source) ||
      !rotated->start.isConstant(0) || rotated->step != 1 || rest->step != 1 ||
      rest->start != dimsOf(input).back() ||
      !haveSameDims(concat, rotated->source))
    return op;
  input = rotated->source;
  return concat;
}

bool RotaryBuilder::replace(Operation *op) {
  std::optional<Rotation> rotation = readRotation(op);
  if (!rotation)
    return false;
  Value result = op->getResult(0);
  Dims dims = dimsOf(result), table = dimsOf(rotation->cos);
  if (dims.size() != 4 || table != dimsOf(rotation->sin) ||
      elementOf(rotation->cos) != elementOf(result) ||
      elementOf(rotation->sin) != elementOf(result))
    return false;
  bool isSwapped = !fitsHeads(table, dims);
  if (isSwapped && !fitsHeads(withSwap(table), withSwap(dims)))
    return false;
  dims = isSwapped ? withSwap(dims) : dims;
  std::optional<DimExpr> width = dims[3].exactDiv(rotation->isTwice ? 1 : 2);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  // The tables are made where they first are needed.
  Value cos, sin;
  if (width != table.back() ||
      !(cos = cacheOf(builder, rotation->cos, *rotation, dims)) ||
      !(sin = cacheOf(builder, rotation->sin, *rotation, dims)))
    return false;
  Value input = rotation->input;
  if (!input && rotation->isInterleaved)
    return false; // its parts would have to be put beside each other
  if (!input)
    input = ConcatOp::create(builder, loc, result.getType(),
                             ValueRange{rotation->first, rotation->second}, 3);
  int64_t rotated = dims[3].asConstant().value_or(0);
  Operation *last = rotated > 0 ? wholeHead(op, input) : op;
  builder.setInsertionPoint(last);
  if (isSwapped)
    input = swapped(builder, loc, input);
  Value turned = RotaryEmbeddingOp::create(
      builder, loc, input.getType(), input, cos, sin, ValueRange{},
      uint64_t(rotation->isInterleaved), uint64_t(0),
      uint64_t(last == op ? 0 : rotated));
  if (isSwapped)
    turned = swapped(builder, loc, turned);
  if (!validator.allows(last->getResult(0), turned, "a rotary embedding"))
    return false;
  last->getResult(0).replaceAllUsesWith(turned);
  return true;
}

void RecoverRotary::runOnOperation() {
  Validator validator;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody()) {
      validator.enter(block);
      RotaryBuilder rotations(validator);
      for (Operation &op : llvm::make_early_inc_range(block))
        numRotations += rotations.replace(&op);
      eraseDead(block);
    }
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
