//===- DistVerify.cpp - Verifiers of the dist ops -------------------------===//
//
// Each op must change the sharding exactly as the algebra says; sizes never
// change. Shapes and local sizes follow from the sharding and are checked
// against the mesh by verify-phase.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/Collectives.h"

using namespace mlir;

namespace shardc::dist {

/// Same element type and global sizes on both sides.
static LogicalResult verifySameValue(Operation *op) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  if (from.getElementType() != to.getElementType() ||
      getDims(from) != getDims(to))
    return op->emitOpError("must keep element type and global sizes: ")
           << from << " became " << to;
  return success();
}

static LogicalResult verifySharding(Operation *op,
                                    std::optional<Sharding> expected) {
  if (failed(verifySameValue(op)))
    return failure();
  Sharding from = getSharding(op->getOperand(0).getType());
  Sharding to = getSharding(op->getResult(0).getType());
  if (!expected)
    return op->emitOpError("does not apply to an operand with sharding ")
           << from.str();
  if (*expected != to)
    return op->emitOpError("gives sharding ")
           << expected->str() << ", but its result type says " << to.str();
  return success();
}

/// What an all_gather sends, but not at once.
const artifact::CollectiveForm &RingOp::form() {
  return *artifact::collectiveForm("all_gather");
}

LogicalResult ReshardOp::verify() { return verifySameValue(*this); }

static std::optional<ReduceKind> kindOf(Operation *op, StringRef kind) {
  std::optional<ReduceKind> parsed = symbolizeReduceKind(kind);
  if (!parsed)
    op->emitOpError("has kind \"") << kind << "\", expected sum, max or min";
  return parsed;
}

LogicalResult AllReduceOp::verify() {
  std::optional<ReduceKind> kind = kindOf(*this, getKind());
  if (!kind)
    return failure();
  return verifySharding(*this, allReduce(getSharding(getOperand().getType()),
                                         getAxes().getAxes(), *kind));
}

LogicalResult AllGatherOp::verify() {
  return verifySharding(*this, allGather(getSharding(getOperand().getType()),
                                         getDim(), getAxes().getAxes()));
}

static LogicalResult verifyScatter(Operation *op, size_t dim,
                                   ArrayRef<AxisRef> axes, ReduceKind kind) {
  if (failed(verifySameValue(op)))
    return failure();
  Sharding from = getSharding(op->getOperand(0).getType());
  Sharding to = getSharding(op->getResult(0).getType());
  std::optional<Sharding> reduced = allReduce(from, axes, kind);
  std::optional<Sharding> gathered = allGather(to, dim, axes);
  if (!reduced || !gathered || *reduced != *gathered)
    return op->emitOpError("does not turn ")
           << from.str() << " into " << to.str();
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  std::optional<ReduceKind> kind = kindOf(*this, getKind());
  return kind ? verifyScatter(*this, getDim(), getAxes().getAxes(), *kind)
              : failure();
}

/// Each token has a row of choices, which every rank knows.
static LogicalResult verifyChoices(Operation *op, Value choices,
                                   int64_t experts) {
  Sharding sharding = getSharding(choices.getType());
  auto tokens = getDims(op->getOperand(0).getType());
  auto rows = getDims(choices.getType());
  Type element = getElementTypeOrSelf(choices.getType());
  if (rows.size() != 2 || tokens.empty() || rows[0] != tokens[0] ||
      !sharding.isReplicated() || experts < 1 ||
      !(element.isInteger(32) || element.isInteger(64)))
    return op->emitOpError("needs at least one expert, and the experts that "
                           "each token chose, whole on every rank: ")
           << choices.getType();
  return success();
}

LogicalResult DispatchOp::verify() {
  if (failed(verifyChoices(*this, getChoices(), getExperts())))
    return failure();
  return verifySharding(*this, allGather(getSharding(getOperand().getType()), 0,
                                         getAxes().getAxes()));
}

LogicalResult CombineOp::verify() {
  if (failed(verifyChoices(*this, getChoices(), getExperts())))
    return failure();
  return verifyScatter(*this, 0, getAxes().getAxes(), ReduceKind::Sum);
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifySameValue(*this)))
    return failure();
  Sharding from = getSharding(getOperand().getType());
  Sharding to = getSharding(getResult().getType());
  if (!isAllToAll(from, to, getDim(), getTo(), getAxes().getAxes()))
    return emitOpError("does not turn ") << from.str() << " into " << to.str();
  return success();
}

/// Every part once, this rank's own first.
static bool isRound(ArrayRef<int64_t> steps) {
  SmallVector<bool> seen(steps.size());
  for (int64_t step : steps) {
    if (step < 0 || step >= static_cast<int64_t>(steps.size()) || seen[step])
      return false;
    seen[step] = true;
  }
  return !steps.empty() && steps.front() == 0;
}

LogicalResult RingOp::verify() {
  SmallVector<AxisRef, 2> axes = getAxes().getAxes();
  Sharding from = getSharding(getOperand().getType());
  if (static_cast<int64_t>(getSteps().size()) != numWays(axes) ||
      !isRound(getSteps()))
    return emitOpError("has steps ") << getSteps() << ", expected each of 0 to "
                                     << numWays(axes) - 1 << " once, 0 first";
  if (failed(verifySharding(*this, allGather(from, getDim(), axes))))
    return failure();
  const DimSharding &dim = from.dims[getDim()];
  bool isOfAxes = llvm::all_of(dim.segments, [&](const Segment &segment) {
    return llvm::equal(segment.factors.front().axes, axes);
  });
  if (!dim.isRangePerSegment() || !isOfAxes)
    return emitOpError("needs parts that are one range of each segment, over "
                       "its axes alone; found ")
           << from.str();
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(verifySameValue(*this)))
    return failure();
  Sharding from = getSharding(getOperand().getType());
  Sharding to = getSharding(getResult().getType());
  if (!isSlice(from, to))
    return emitOpError("can only split further what each rank holds: ")
           << from.str() << " to " << to.str();
  return success();
}

LogicalResult OnceOp::verify() {
  return verifySharding(
      *this, once(getSharding(getOperand().getType()), getAxes().getAxes()));
}

} // namespace shardc::dist
