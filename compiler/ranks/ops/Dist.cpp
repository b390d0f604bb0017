//===- Dist.cpp - Collectives and local steps -----------------------------===//

#include "compiler/ranks/RankProgram.h"

using namespace mlir;

namespace shardc::ranks {

namespace {

class DistWriter {
public:
  DistWriter(Operation *op, RankProgram &program)
      : op(op), program(program), writer(program.writer),
        x(program.tensor(op->getOperand(0))),
        from(dist::getSharding(op->getOperand(0).getType())),
        to(dist::getSharding(op->getResult(0).getType())) {
    if (auto collective = dyn_cast<dist::Collective>(op))
      axes = collective.getAxes().getAxes();
    if (!axes.empty())
      group = groupOf(program.rank, axes);
  }

  std::optional<Tensor> write() {
    if (isa<dist::SliceOp>(op))
      return program.parts.cut(x, from, to);
    if (isa<dist::OnceOp>(op))
      return once();
    if (!isa<dist::Collective>(op))
      return std::nullopt;
    noteGroup();
    if (isa<dist::AllReduceOp>(op))
      return allReduce();
    if (isa<dist::AllGatherOp, dist::RingOp>(op))
      return gather(number("dim"));
    if (isa<dist::DispatchOp>(op)) // rows that nobody asked for do no harm
      return gather(0);
    if (isa<dist::ReduceScatterOp>(op))
      return reduceScatter(number("dim"));
    if (isa<dist::CombineOp>(op))
      return reduceScatter(0);
    return allToAll();
  }

private:
  int64_t number(StringRef name) const {
    return op->getAttrOfType<IntegerAttr>(name).getInt();
  }
  StringRef kind() const {
    auto attribute = op->getAttrOfType<StringAttr>("kind");
    return attribute ? attribute.getValue() : StringRef("sum");
  }

  void noteGroup() {
    SmallVector<int64_t> members(group);
    llvm::sort(members);
    program.groups.emplace_back(writer.nodeName().str(), members);
  }

  /// Of the operand.
  Dims dimsAt(int64_t rank) const {
    return program.rank.other(rank).localDims(op->getOperand(0).getType());
  }

  Tensor allReduce() {
    return program.collectives.allReduce(
        x, group, kind(), [&](int64_t rank) { return dimsAt(rank); });
  }

  Tensor gather(size_t dim) {
    return program.parts.gather(
        x, dim, from.dims[dim], axes,
        [&](int64_t rank) { return dimsAt(rank); },
        [&](const Tensor &part, size_t at, ArrayRef<int64_t> members,
            ArrayRef<dist::DimExpr> sizes, DimsAt partDimsAt) {
          return program.collectives.allGather(part, at, members, sizes,
                                               partDimsAt);
        });
  }

  Tensor reduceScatter(size_t dim) {
    // Equal parts of a dim that nothing else splits, one behind the other.
    const bool isPlain = !from.dims[dim].isSplit() &&
                         isSplitOnlyBy(to.dims[dim]) && !hasShares();
    if (isPlain)
      if (std::optional<Tensor> made =
              program.collectives.reduceScatter(x, dim, group, kind()))
        return *made;
    dist::Sharding whole = to;
    whole.dims[dim] = from.dims[dim];
    return program.parts.cut(allReduce(), whole, to);
  }

  /// By the axes of the op, as a whole.
  bool isSplitOnlyBy(const dist::DimSharding &dim) const {
    return dim == dist::DimSharding::whole(dim.size(), axes);
  }

  Tensor allToAll() {
    const size_t dim = number("dim"), target = number("to");
    const bool isPlain = dim != target && isSplitOnlyBy(from.dims[dim]) &&
                         isSplitOnlyBy(to.dims[target]) &&
                         dist::product(program.localDims(op->getResult(0))) ==
                             dist::product(x.dims) &&
                         isEven(from.dims[dim].size()) && !hasShares();
    if (isPlain)
      if (std::optional<Tensor> made =
              program.collectives.allToAll(x, dim, target, group))
        return *made;
    dist::Sharding whole = from;
    whole.dims[dim] = dist::DimSharding::unsplit(from.dims[dim].size());
    return program.parts.cut(gather(dim), whole, to);
  }

  bool hasShares() const { return dist::hasShares(axes, program.rank.mesh); }

  bool isEven(dist::DimExpr size) const {
    return size.exactDiv(int64_t(group.size())).has_value();
  }

  Tensor once() {
    auto held = cast<dist::OnceOp>(op).getAxes().getAxes();
    return groupOf(program.rank, held).front() == program.rank.rank
               ? x
               : writer.zeros(x.dims, x.element);
  }

  Operation *op;
  RankProgram &program;
  GraphWriter &writer;
  const Tensor x;
  const dist::Sharding from, to;
  SmallVector<dist::AxisRef, 2> axes;
  SmallVector<int64_t> group;
};

} // namespace

bool writeDistOp(Operation *op, RankProgram &program) {
  if (!isa<dist::DistDialect>(op->getDialect()))
    return false;
  std::optional<Tensor> made = DistWriter(op, program).write();
  if (made)
    program.bind(op->getResult(0), *made);
  return made.has_value();
}

} // namespace shardc::ranks
