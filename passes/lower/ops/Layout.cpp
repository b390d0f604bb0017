//===- Layout.cpp - Lowering of ops that arrange elements -----------------===//
//
// Views wherever the bytes allow it; Concat and Tile copy each element once.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Layout.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

LogicalResult ReshapeOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView view = lowering.view(op->getOperand(0));
  Sizes dims = Lowering::localDims(op->getResult(0));
  std::optional<StridedLayout> layout = view.layout.reshaped(dims);
  if (!layout) {
    view = lowering.contiguous(op, view);
    layout = view.layout.reshaped(dims);
  }
  lowering.bindWindow(op->getResult(0), view, *layout);
  return success();
}

LogicalResult TransposeOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView view = lowering.view(op->getOperand(0));
  SmallVector<int64_t, 4> permutation;
  if (auto perm = op->getAttrOfType<DenseI64ArrayAttr>("perm"))
    permutation.assign(perm.asArrayRef().begin(), perm.asArrayRef().end());
  else
    for (int64_t d = view.layout.dims.size(); d-- > 0;)
      permutation.push_back(d);
  lowering.bindWindow(op->getResult(0), view,
                      view.layout.transposed(permutation));
  return success();
}

LogicalResult ExpandOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView view = lowering.view(op->getOperand(0));
  lowering.bindWindow(
      op->getResult(0), view,
      view.layout.broadcast(Lowering::localDims(op->getResult(0))));
  return success();
}

/// Error of a cut through a part that other ranks share.
static LogicalResult cutsSplitDim(Operation *op, int64_t dim) {
  return op->emitError("cuts dim ")
         << dim << " inside a part that is split: "
         << dist::getSharding(op->getOperand(0).getType()).str();
}

LogicalResult SliceOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView view = lowering.view(getData());
  dist::Sharding sharding = dist::getSharding(getData().getType());
  Sizes dims = Lowering::localDims(op->getResult(0));
  auto bounds = getBoundsAttr();
  if (!bounds)
    return op->emitError("has bounds that only the data knows, which no kernel "
                         "supports yet");
  StridedLayout layout = view.layout;
  for (auto [d, start] : llvm::enumerate(bounds.getValues())) {
    int64_t step = getSteps() ? (*getSteps())[d] : 1;
    std::optional<dist::DimExpr> offset =
        localOffset(sharding.dims[d], start, lowering.mesh);
    if (!offset)
      return cutsSplitDim(op, d);
    layout = layout.sliced(d, *offset, dims[d], step);
  }
  lowering.bindWindow(op->getResult(0), view, layout);
  return success();
}

LogicalResult SplitOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView view = lowering.view(getData());
  dist::DimExpr offset = 0;
  for (Value part : op->getResults()) {
    dist::DimExpr size = Lowering::localDims(part)[getAxis()];
    lowering.bindWindow(part, view,
                        view.layout.sliced(getAxis(), offset, size));
    offset = offset + size;
  }
  return success();
}

LogicalResult ConcatOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView result = lowering.allocate(op, op->getResult(0));
  dist::DimExpr offset = 0;
  for (Value input : op->getOperands()) {
    ValueView part = lowering.view(input);
    dist::DimExpr size = part.layout.dims[getAxis()];
    lowering.copy(op, part,
                  result.with(result.layout.sliced(getAxis(), offset, size)));
    offset = offset + size;
  }
  return success();
}

/// Repeats: [r0, d0, r1, d1, ...] with stride 0 along each r.
LogicalResult TileOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView from = lowering.view(op->getOperand(0));
  ValueView result = lowering.allocate(op, op->getResult(0));
  StridedLayout source{{}, {}, from.layout.offset};
  StridedLayout target = result.layout;
  for (size_t d = 0; d < from.layout.dims.size(); ++d) {
    dist::DimExpr size = from.layout.dims[d];
    std::optional<dist::DimExpr> repeats = result.layout.dims[d].exactDiv(size);
    if (!repeats)
      return op->emitError("has a number of repeats that is not known");
    source.dims.push_back(*repeats);
    source.dims.push_back(size);
    source.strides.push_back({});
    source.strides.push_back(from.layout.strides[d]);
    target = target.expanded(2 * d, {*repeats, size});
  }
  lowering.copy(op, from.with(source), result.with(target));
  return success();
}

} // namespace shardc::onnx
