//===- DepthToSpace.cpp - Channels become blocks of pixels, and back ------===//
//
// Both are a transpose between two reshapes, [b, c, h, w] with blocks of 2:
//
//   DepthToSpace DCR   b, (2 2 c), h, w -> b, c, (h 2), (w 2)
//   DepthToSpace CRD   b, (c 2 2), h, w -> b, c, (h 2), (w 2)
//
// SpaceToDepth goes the other way.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Replaced.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// The quotient, or an error that names the dim.
static FailureOr<DimExpr> divide(Operation *op, DimExpr dim, int64_t by,
                                 StringRef name) {
  std::optional<DimExpr> part =
      by > 0 ? dim.exactDiv(by) : std::optional<DimExpr>();
  if (part)
    return *part;
  op->emitOpError("has ") << dim.str() << " " << name
                          << ", expected a multiple of " << by
                          << ", which its blocksize asks for";
  return failure();
}

static LogicalResult checkOperands(Decomposition &d, Value input,
                                   StringRef mode) {
  if (mode != "DCR" && mode != "CRD")
    return d.refuse("mode " + mode, "use DCR or CRD");
  return d.expectRank(input, "an input", 4);
}

LogicalResult DepthToSpaceOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(checkOperands(d, getInput(), getMode())))
    return failure();
  Decomposition::Dims dims = d.dims(getInput());
  int64_t block = getBlocksize();
  FailureOr<DimExpr> channels =
      divide(*this, dims[1], block * block, "channels");
  if (failed(channels))
    return failure();
  Decomposition::Dims parts = {dims[0],   block,   block,
                               *channels, dims[2], dims[3]};
  SmallVector<int64_t> perm = {0, 3, 4, 1, 5, 2};
  if (getMode() == "CRD") {
    parts = {dims[0], *channels, block, block, dims[2], dims[3]};
    perm = {0, 1, 4, 2, 5, 3};
  }
  Value moved = d.transpose(d.reshape(getInput(), parts), perm);
  return d.replaceBy({d.reshape(
      moved, {dims[0], *channels, dims[2] * block, dims[3] * block})});
}

LogicalResult SpaceToDepthOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(checkOperands(d, getInput(), getMode())))
    return failure();
  Decomposition::Dims dims = d.dims(getInput());
  int64_t block = getBlocksize();
  FailureOr<DimExpr> rows = divide(*this, dims[2], block, "rows");
  if (failed(rows))
    return failure();
  FailureOr<DimExpr> columns = divide(*this, dims[3], block, "columns");
  if (failed(columns))
    return failure();
  Value blocks =
      d.reshape(getInput(), {dims[0], dims[1], *rows, block, *columns, block});
  SmallVector<int64_t> perm = {0, 3, 5, 1, 2, 4};
  if (getMode() == "CRD")
    perm = {0, 1, 3, 5, 2, 4};
  return d.replaceBy(
      {d.reshape(d.transpose(blocks, perm),
                 {dims[0], dims[1] * (block * block), *rows, *columns})});
}

} // namespace shardc::onnx
