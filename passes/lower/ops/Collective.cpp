//===- Collective.cpp - Lowering of the dist ops --------------------------===//

#include "dialects/dist/Together.h"
#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::dist {

using namespace lower;

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

/// Whether it is done in each run, though what it reads depends on weights alone.
static bool isStored(Operation *op) { return op->hasAttr(kStoredAttr); }

/// As its form says.
static LogicalResult lowerCollective(Collective op, const ValueView &result,
                                     Lowering &lowering) {
  const artifact::CollectiveForm &form = op.form();
  const Value operand = op->getOperand(0), whole = op->getResult(0);
  ValueView choices;
  if (form.isRouted)
    choices = lowering.view(op->getOperand(1));
  rt::CollectiveOp made =
      lowering.collective(op, form.name, lowering.view(operand), result,
                          op.getAxes(), form.isRouted ? &choices : nullptr);
  for (StringRef name : {kStoredAttr, kLayerAttr})
    if (Attribute attribute = op->getAttr(name))
      made->setAttr(name, attribute);
  if (form.reduces)
    made.setKindAttr(op->getAttrOfType<StringAttr>("kind"));
  if (form.isRouted)
    made.setExpertsAttr(op->getAttrOfType<IntegerAttr>("experts"));
  if (form.splitDims > 0) {
    auto dim = op->getAttrOfType<IntegerAttr>("dim"); // of tokens: the first
    made.setDim(dim ? dim.getInt() : 0);
    const bool isResult = form.whole == artifact::WholeSide::Input;
    made.setValueAttr(getValueAttr((isResult ? whole : operand).getType()));
  }
  if (form.splitDims > 1) {
    made.setToDimAttr(op->getAttrOfType<IntegerAttr>("to"));
    made.setToValueAttr(getValueAttr(whole.getType()));
  }
  return success();
}

LogicalResult AllReduceOp::lower(Lowering &lowering) {
  if (dist::isDoneBefore(*this))
    return success();
  SmallVector<dist::AllReduceOp> reduces;
  for (auto next = *this; next; next = dist::nextTogether(next))
    reduces.push_back(next);
  if (reduces.size() > 1)
    return lowerTogether(reduces, lowering);
  return lowerCollective(*this, lowering.allocate(*this, getResult()),
                         lowering);
}

LogicalResult AllGatherOp::lower(Lowering &lowering) {
  return lowerCollective(*this,
                         isStored(*this)
                             ? lowering.allocateAtRun(*this, getResult())
                             : lowering.allocate(*this, getResult()),
                         lowering);
}

LogicalResult ReduceScatterOp::lower(Lowering &lowering) {
  return lowerCollective(*this, lowering.allocate(*this, getResult()),
                         lowering);
}

LogicalResult DispatchOp::lower(Lowering &lowering) {
  // Ranks have different rows of the whole value.
  Value whole = getResult();
  ValueView result =
      lowering.allocate(*this, getElementTypeOrSelf(whole.getType()),
                        Lowering::localDims(whole), /*isReplicated=*/false);
  lowering.bind(whole, result);
  return lowerCollective(*this, result, lowering);
}

LogicalResult CombineOp::lower(Lowering &lowering) {
  return lowerCollective(*this, lowering.allocate(*this, getResult()),
                         lowering);
}

LogicalResult AllToAllOp::lower(Lowering &lowering) {
  return lowerCollective(*this, lowering.allocate(*this, getResult()),
                         lowering);
}

/// What takes the parts in turn makes them come.
LogicalResult RingOp::lower(Lowering &) { return success(); }

/// A factor as ranks hold it that have yet to be cut: less the axes that cut it.
static dist::Factor withoutCuts(dist::Factor factor,
                                ArrayRef<dist::AxisRef> held) {
  llvm::erase_if(factor.axes, [&](const dist::AxisRef &axis) {
    return !llvm::is_contained(held, axis);
  });
  return factor;
}

/// The parts of one dim of `from`, held as `held`, that a rank owns in `split`.
/// A range is a window; otherwise each segment is copied: of (8, 16:"tp"=4) and
/// (8:"dp"=2, 16:"tp"=4) a rank has [8, 4] and takes [4, 4] of it.
static ValueView sliceDim(Operation *op, Lowering &lowering, ValueView from,
                          size_t dim, const dist::DimSharding &held,
                          const dist::DimSharding &split) {
  const dist::Mesh &mesh = lowering.mesh;
  if (held.isOneRange() && split.isOneRange())
    return from.with(
        from.layout.sliced(dim, split.lowerBound(mesh) - held.lowerBound(mesh),
                           split.localSize(mesh)));
  from.isReplicated = false;
  Sizes dims = from.layout.dims;
  dims[dim] = split.localSize(mesh);
  ValueView to = lowering.allocate(op, from.element, dims, false);
  const auto heldAxes = held.axes();
  dist::DimExpr fromOffset = 0, toOffset = 0;
  for (const dist::Segment &segment : split.segments) {
    Sizes before, offsets, local;
    for (const dist::Factor &factor : segment.factors) {
      const dist::Factor uncut = withoutCuts(factor, heldAxes);
      before.push_back(uncut.localSize(mesh));
      offsets.push_back(factor.lowerBound(mesh) - uncut.lowerBound(mesh));
      local.push_back(factor.localSize(mesh));
    }
    const dist::DimExpr size = dist::product(before);
    StridedLayout source =
        from.layout.sliced(dim, fromOffset, size).expanded(dim, before);
    for (size_t f = 0; f < local.size(); ++f)
      source = source.sliced(dim + f, offsets[f], local[f]);
    StridedLayout target =
        to.layout.sliced(dim, toOffset, segment.localSize(mesh))
            .expanded(dim, local);
    lowering.copy(op, from.with(source), to.with(target));
    fromOffset = fromOffset + size;
    toOffset = toOffset + segment.localSize(mesh);
  }
  return to;
}

LogicalResult SliceOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView view = lowering.view(op->getOperand(0));
  dist::Sharding from = dist::getSharding(op->getOperand(0).getType());
  dist::Sharding to = dist::getSharding(op->getResult(0).getType());
  for (size_t d = 0; d < to.dims.size(); ++d) {
    if (from.dims[d] == to.dims[d])
      continue;
    view = sliceDim(op, lowering, view, d, from.dims[d], to.dims[d]);
  }
  lowering.bindWindow(op->getResult(0), view, view.layout);
  return success();
}

LogicalResult OnceOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  dist::DimExpr index = dist::flatIndex(getAxes().getAxes(), lowering.mesh);
  // 1 on the first way, 0 on all others.
  dist::DimExpr present = dist::DimExpr(1) - dist::DimExpr::min(index, 1);
  lowering.call(op, "Once", {lowering.view(getOperand())},
                {lowering.allocate(op, getResult())},
                {lowering.scalars("present", present)});
  return success();
}

LogicalResult SendOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  lowering.send(op, lowering.view(getOperand()), getStageAttr(),
                getTransferAttr());
  return success();
}

LogicalResult ReceiveOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  lowering.receive(op, lowering.allocateAtRun(op, getResult()), getStageAttr(),
                   getTransferAttr());
  return success();
}

} // namespace shardc::dist
