//===- Collective.cpp - Lowering of the dist ops --------------------------===//

#include "dialects/dist/Together.h"
#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {

/// Several as one, in a buffer that has the operands behind each other. Where
/// the kinds differ, minima are negated on the way in and on the way out.
static LogicalResult lowerTogether(ArrayRef<dist::AllReduceOp> reduces,
                                   Lowering &lowering) {
  dist::AllReduceOp first = reduces.front();
  const bool isMixed = llvm::any_of(reduces, [&](dist::AllReduceOp reduce) {
    return reduce.getKind() != first.getKind();
  });
  dist::DimExpr count = 0;
  bool isReplicated = true;
  for (dist::AllReduceOp reduce : reduces) {
    count = count + dist::product(Lowering::localDims(reduce.getResult()));
    isReplicated &= dist::getSharding(reduce.getType()).isReplicated();
  }
  ValueView packed = lowering.allocateAtRun(
      first, getElementTypeOrSelf(first.getType()), {count});
  packed.isReplicated = false;
  auto move = [&](dist::AllReduceOp reduce, const ValueView &from,
                  const ValueView &to) {
    const bool negates = isMixed && reduce.getKind() == "min";
    lowering.call(reduce, negates ? "Neg" : "Copy", {from}, {to});
  };
  SmallVector<ValueView> parts;
  dist::DimExpr offset = 0;
  for (dist::AllReduceOp reduce : reduces) {
    const Sizes dims = Lowering::localDims(reduce.getResult());
    parts.push_back(
        packed.with(packed.layout.sliced(0, offset, dist::product(dims))
                        .expanded(0, dims)));
    offset = offset + dist::product(dims);
    move(reduce, lowering.view(reduce.getOperand()), parts.back());
  }
  ValueView result = packed;
  result.isReplicated = isReplicated;
  rt::CollectiveOp made =
      lowering.collective(first, "all_reduce", packed, result, first.getAxes());
  made.setKind(isMixed ? StringRef("max") : first.getKind());
  for (auto [number, part] : llvm::enumerate(parts)) {
    dist::AllReduceOp reduce = reduces[number];
    if (isMixed && reduce.getKind() == "min")
      move(reduce, part,
           lowering.allocateAtRun(reduce, Value(reduce.getResult())));
    else
      lowering.bindWindow(reduce.getResult(), part, part.layout);
  }
  return success();
}

static LogicalResult lowerAllReduce(Operation *op, Lowering &lowering) {
  auto reduce = cast<dist::AllReduceOp>(op);
  if (dist::isDoneBefore(reduce))
    return success();
  SmallVector<dist::AllReduceOp> reduces;
  for (auto next = reduce; next; next = dist::nextTogether(next))
    reduces.push_back(next);
  if (reduces.size() > 1)
    return lowerTogether(reduces, lowering);
  ValueView result = lowering.allocate(op, reduce.getResult());
  rt::CollectiveOp made =
      lowering.collective(op, "all_reduce", lowering.view(reduce.getOperand()),
                          result, reduce.getAxes());
  made.setKindAttr(reduce.getKindAttr());
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
  return success();
}

static LogicalResult lowerReduceScatter(Operation *op, Lowering &lowering) {
  auto scatter = cast<dist::ReduceScatterOp>(op);
  ValueView result = lowering.allocate(op, scatter.getResult());
  rt::CollectiveOp made = lowering.collective(
      op, "reduce_scatter", lowering.view(scatter.getOperand()), result,
      scatter.getAxes());
  made.setKindAttr(scatter.getKindAttr());
  made.setDimAttr(scatter.getDimAttr());
  made.setValueAttr(dist::getValueAttr(scatter.getResult().getType()));
  return success();
}

/// dispatch and combine, which route the rows of their operand by choices.
static void route(Operation *op, Lowering &lowering, StringRef kernel,
                  const ValueView &result, dist::AxesAttr axes, Value part) {
  const ValueView choices = lowering.view(op->getOperand(1));
  rt::CollectiveOp made = lowering.collective(
      op, kernel, lowering.view(op->getOperand(0)), result, axes, &choices);
  made.setExpertsAttr(op->getAttrOfType<IntegerAttr>("experts"));
  made.setDim(0);
  made.setValueAttr(dist::getValueAttr(part.getType()));
}

static LogicalResult lowerDispatch(Operation *op, Lowering &lowering) {
  auto dispatch = cast<dist::DispatchOp>(op);
  // Ranks have different rows of the whole value.
  Value whole = dispatch.getResult();
  ValueView result =
      lowering.allocate(op, getElementTypeOrSelf(whole.getType()),
                        Lowering::localDims(whole), /*isReplicated=*/false);
  lowering.bind(whole, result);
  route(op, lowering, "dispatch", result, dispatch.getAxes(),
        dispatch.getOperand());
  return success();
}

static LogicalResult lowerCombine(Operation *op, Lowering &lowering) {
  auto combine = cast<dist::CombineOp>(op);
  route(op, lowering, "combine", lowering.allocate(op, combine.getResult()),
        combine.getAxes(), combine.getResult());
  return success();
}

static LogicalResult lowerAllToAll(Operation *op, Lowering &lowering) {
  auto swap = cast<dist::AllToAllOp>(op);
  ValueView result = lowering.allocate(op, swap.getResult());
  rt::CollectiveOp made =
      lowering.collective(op, "all_to_all", lowering.view(swap.getOperand()),
                          result, swap.getAxes());
  made.setDimAttr(swap.getDimAttr());
  made.setValueAttr(dist::getValueAttr(swap.getOperand().getType()));
  made.setToDimAttr(swap.getToAttr());
  made.setToValueAttr(dist::getValueAttr(swap.getResult().getType()));
  return success();
}

/// What takes the parts in turn makes them come.
static LogicalResult lowerRing(Operation *, Lowering &) { return success(); }

/// The parts of one dim of `from`, held as `held`, that a rank owns in `split`.
/// A range is a window; otherwise each segment is copied.
static FailureOr<ValueView> sliceDim(Operation *op, Lowering &lowering,
                                     ValueView from, size_t dim,
                                     const dist::DimSharding &held,
                                     const dist::DimSharding &split) {
  const dist::Mesh &mesh = lowering.mesh;
  if (held.isRange() && split.isRange())
    return from.with(
        from.layout.sliced(dim, split.lowerBound(mesh) - held.lowerBound(mesh),
                           split.localSize(mesh)));
  if (held.isSplit())
    return op->emitError("splits further what ranks hold in several pieces, "
                         "which is not supported yet");
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
    FailureOr<ValueView> sliced =
        sliceDim(op, lowering, view, d, from.dims[d], to.dims[d]);
    if (failed(sliced))
      return failure();
    view = *sliced;
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

static LogicalResult lowerSend(Operation *op, Lowering &lowering) {
  auto send = cast<dist::SendOp>(op);
  lowering.send(op, lowering.view(send.getOperand()), send.getStageAttr(),
                send.getTransferAttr());
  return success();
}

static LogicalResult lowerReceive(Operation *op, Lowering &lowering) {
  auto receive = cast<dist::ReceiveOp>(op);
  lowering.receive(op, lowering.allocateAtRun(op, receive.getResult()),
                   receive.getStageAttr(), receive.getTransferAttr());
  return success();
}

void addCollectiveLowerings(LoweringMap &map) {
  map["dist.all_reduce"] = lowerAllReduce;
  map["dist.all_gather"] = lowerAllGather;
  map["dist.reduce_scatter"] = lowerReduceScatter;
  map["dist.dispatch"] = lowerDispatch;
  map["dist.combine"] = lowerCombine;
  map["dist.all_to_all"] = lowerAllToAll;
  map["dist.ring"] = lowerRing;
  map["dist.slice"] = lowerSlice;
  map["dist.send"] = lowerSend;
  map["dist.receive"] = lowerReceive;
  map["dist.once"] = lowerOnce;
}

} // namespace shardc::lower
