//===- Collective.cpp - Lowering of the dist ops --------------------------===//

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

static LogicalResult lowerAllReduce(Operation *op, Lowering &lowering) {
  auto reduce = cast<dist::AllReduceOp>(op);
  ValueView result = lowering.allocate(op, reduce.getResult());
  rt::CollectiveOp made =
      lowering.collective(op, "all_reduce", lowering.view(reduce.getOperand()),
                          result, reduce.getAxes());
  made.setKindAttr(reduce.getKindAttr());
  if (reduce.getWhyAttr())
    made.setWhyAttr(reduce.getWhyAttr());
  return success();
}

static LogicalResult lowerAllGather(Operation *op, Lowering &lowering) {
  auto gather = cast<dist::AllGatherOp>(op);
  ValueView result = lowering.allocate(op, gather.getResult());
  rt::CollectiveOp made =
      lowering.collective(op, "all_gather", lowering.view(gather.getOperand()),
                          result, gather.getAxes());
  made.setDimAttr(gather.getDimAttr());
  made.setValueAttr(dist::getValueAttr(gather.getOperand().getType()));
  if (gather.getWhyAttr())
    made.setWhyAttr(gather.getWhyAttr());
  return success();
}

/// The parts of one dim of `from` that a rank owns, written into or read from
/// `to`. A single range is a window; otherwise each segment is copied.
static ValueView sliceDim(Operation *op, Lowering &lowering, ValueView from,
                          size_t dim, const dist::DimSharding &split) {
  const dist::Mesh &mesh = lowering.mesh;
  const dist::Segment &first = split.segments.front();
  bool isRange =
      split.segments.size() == 1 &&
      llvm::none_of(llvm::drop_begin(first.factors),
                    [](const dist::Factor &f) { return f.isSplit(); });
  if (isRange) {
    dist::DimExpr rest = *split.size().exactDiv(first.factors.front().size);
    return from.with(
        from.layout.sliced(dim, first.factors.front().lowerBound(mesh) * rest,
                           split.localSize(mesh)));
  }
  from.isReplicated = false;
  Sizes dims = from.layout.dims;
  dims[dim] = split.localSize(mesh);
  ValueView to = lowering.allocate(op, from.element, dims, false);
  dist::DimExpr fromOffset = 0, toOffset = 0;
  for (const dist::Segment &segment : split.segments) {
    Sizes global, local;
    for (const dist::Factor &factor : segment.factors) {
      global.push_back(factor.size);
      local.push_back(factor.localSize(mesh));
    }
    StridedLayout source = from.layout.sliced(dim, fromOffset, segment.size())
                               .expanded(dim, global);
    for (auto [f, factor] : llvm::enumerate(segment.factors))
      source = source.sliced(dim + f, factor.lowerBound(mesh), local[f]);
    StridedLayout target =
        to.layout.sliced(dim, toOffset, segment.localSize(mesh))
            .expanded(dim, local);
    lowering.copy(op, from.with(source), to.with(target));
    fromOffset = fromOffset + segment.size();
    toOffset = toOffset + segment.localSize(mesh);
  }
  return to;
}

static LogicalResult lowerSlice(Operation *op, Lowering &lowering) {
  ValueView view = lowering.view(op->getOperand(0));
  dist::Sharding from = dist::getSharding(op->getOperand(0).getType());
  dist::Sharding to = dist::getSharding(op->getResult(0).getType());
  for (size_t d = 0; d < to.dims.size(); ++d) {
    if (from.dims[d] == to.dims[d])
      continue;
    if (from.dims[d].isSplit())
      return op->emitError("splits further a dim that is split already, which "
                           "is not supported yet");
    view = sliceDim(op, lowering, view, d, to.dims[d]);
  }
  lowering.bindWindow(op->getResult(0), view, view.layout);
  return success();
}

static LogicalResult lowerOnce(Operation *op, Lowering &lowering) {
  auto once = cast<dist::OnceOp>(op);
  dist::DimExpr index =
      dist::flatIndex(once.getAxes().getAxes(), lowering.mesh);
  // 1 on the first way, 0 on all others.
  dist::DimExpr present = dist::DimExpr(1) - dist::DimExpr::min(index, 1);
  lowering.call(op, "Once", {lowering.view(once.getOperand())},
                {lowering.allocate(op, once.getResult())},
                {lowering.scalars("present", present)});
  return success();
}

void addCollectiveLowerings(LoweringMap &map) {
  map["dist.all_reduce"] = lowerAllReduce;
  map["dist.all_gather"] = lowerAllGather;
  map["dist.slice"] = lowerSlice;
  map["dist.once"] = lowerOnce;
}

} // namespace shardc::lower
