//===- WalkCollectives.cpp - What collectives read ------------------------===//

#include "passes/verify/lowered/Group.h"
#include "passes/verify/lowered/Walk.h"

using namespace mlir;

namespace shardc::verify {

static bool isEqual(dist::AxesAttr a, dist::AxesAttr b) { return a == b; }

/// Element by element. Minima go with maxima as those of what is negated:
/// Neg, all_reduce "max", Neg.
LogicalResult Walk::processCollective(const Item &item, rt::CollectiveOp made) {
  Operation *op = item.wanted.value.getDefiningOp();
  auto reduce = dyn_cast<dist::AllReduceOp>(op);
  if (!reduce)
    return processPart(item, made);
  LoweredState &state = sideOf(item.rank).state;
  auto operandOf = [&](const LoweredElement &element) {
    Item at = item;
    at.made = element;
    auto call = cast<rt::CallOp>(element.op);
    const Site site = siteOf(at, call);
    followed[{item.rank, call, element.member, op, item.branches}]++;
    if (site.text.kernel != "Neg" || site.inputs.size() != 1)
      return LoweredElement();
    addBody(at, call);
    const Index *dims = inputDims(at, site, 0);
    return dims ? state.read(call.getInputs()[site.inputs[0]],
                             broadcastIndex(element.index, *dims),
                             program.timeOf(call), item.branches)
                : memberElement(call, site.inputs[0], element.index);
  };
  const bool isNegated = !made;
  LoweredElement element = item.made;
  if (isNegated) {
    element = operandOf(item.made);
    made = dyn_cast_or_null<rt::CollectiveOp>(element.op);
  }
  const StringRef kind = isNegated ? "max" : reduce.getKind();
  if (!made || made.getKernel() != "all_reduce" ||
      (isNegated && reduce.getKind() != "min") || made.getKind() != kind ||
      !isEqual(made.getAxes(), reduce.getAxes()))
    return breach(item.made.op, item.made, item.wanted,
                  "is not what that collective gives");
  if (!isFirst(item) &&
      followed[{item.rank, item.made.op, item.made.member, op, item.branches}] >
          kMostParts)
    return success();
  followed[{item.rank, made, -1, op, item.branches}]++;
  LoweredElement from = state.read(made.getInput(), element.index,
                                   program.timeOf(made), item.branches);
  if (isNegated) {
    if (!isa_and_nonnull<rt::CallOp>(from.op))
      return breach(made, from, item.wanted, "is not negated");
    from = operandOf(from);
  }
  return relate(item.rank, made, from, {reduce.getOperand(), item.wanted.index},
                item.branches);
}

/// Of the side that is split: what the instruction is told of it.
static dist::ValueAttr splitOf(Operation *op) {
  return dist::getValueAttr(
      isa<dist::AllGatherOp, dist::DispatchOp, dist::AllToAllOp>(op)
          ? op->getOperand(0).getType()
          : op->getResult(0).getType());
}

/// What parts of a dim are moved: as a whole, or some rows of it.
LogicalResult Walk::processPart(const Item &item, rt::CollectiveOp made) {
  Operation *op = item.wanted.value.getDefiningOp();
  Side &side = sideOf(item.rank);
  auto wrong = [&](const Twine &why) {
    return breach(made, item.made, item.wanted, why);
  };
  auto axes = op->getAttrOfType<dist::AxesAttr>("axes");
  if (made.getKernel() != op->getName().stripDialect() || !axes ||
      made.getAxes() != axes ||
      made.getKindAttr() != op->getAttrOfType<StringAttr>("kind") ||
      made.getExpertsAttr() != op->getAttrOfType<IntegerAttr>("experts"))
    return wrong("is not what that collective gives");
  const Window *input = side.state.windowOf(made.getInput());
  const Window *output = side.state.windowOf(made.getOutput());
  const Index *operand = side.reference.dimsOf(op->getOperand(0));
  const Index *result = side.reference.dimsOf(item.wanted.value);
  if (!input || !output || !operand || !result)
    return success();
  if (made.getValueAttr() == splitOf(op) && output->dims == *result) {
    auto dim = op->getAttrOfType<IntegerAttr>("dim");
    auto to = op->getAttrOfType<IntegerAttr>("to");
    if (int64_t(*made.getDim()) != (dim ? dim.getInt() : 0) ||
        (to && (made.getToDim() != uint64_t(to.getInt()) ||
                made.getToValueAttr() !=
                    dist::getValueAttr(op->getResult(0).getType()))))
      return wrong("is split along another dim");
    if (item.made.index != item.wanted.index)
      return wrong("lies elsewhere");
    if (!isFirst(item))
      return success();
    if (failed(relateAll(item.rank, made, made.getInput(), op->getOperand(0),
                         item.branches)))
      return failure();
    return made.getChoices() ? relateAll(item.rank, made, made.getChoices(),
                                         op->getOperand(1), item.branches)
                             : success();
  }
  // Some rows: of those that are this rank's on both sides.
  auto type = made.getValueAttr();
  auto dim = op->getAttrOfType<IntegerAttr>("dim");
  if (!type || !type.getSharding() || !dim || !made.getDim() ||
      !isa<dist::AllGatherOp, dist::ReduceScatterOp>(op))
    return wrong("has another size");
  const auto d = static_cast<size_t>(*made.getDim());
  const auto own = static_cast<size_t>(dim.getInt());
  const dist::DimSharding split = type.getSharding()->dims[d];
  const bool isGather = isa<dist::AllGatherOp>(op);
  const dist::Sharding
      whole = dist::getSharding(
          (isGather ? op->getResult(0) : op->getOperand(0)).getType()),
      part = dist::getSharding(
          (isGather ? op->getOperand(0) : op->getResult(0)).getType());
  const auto &from = isGather ? whole.dims[own] : part.dims[own];
  const auto &to = isGather ? part.dims[own] : whole.dims[own];
  Index place = item.made.index, seen = item.wanted.index;
  isFirst(item);
  if (followed[{item.rank, item.made.op, item.made.member, op, item.branches}] >
      kMostParts)
    return success();
  // Told of the same dim as the op, or of that of the rows alone.
  const bool isToldAlike = type == splitOf(op);
  if (!isToldAlike && type.getHasLocal())
    return wrong("is told of another split");
  const auto global = toGlobal(from, seen[own], side.point);
  auto givenBy = [&](const Point &giver) -> std::optional<int64_t> {
    if (!isToldAlike)
      return isGather ? toLocal(split, place[d], giver)
                      : toGlobal(split, place[d], giver);
    const auto found = toGlobal(from, place[d], side.point);
    return found ? toLocal(to, *found, giver) : std::nullopt;
  };
  // Of a gather, the rank that has it.
  const Group group(mesh, axes);
  for (int64_t distance = 0; distance < (isGather ? group.size() : 1);
       ++distance) {
    const int64_t giver = group.after(item.rank, distance);
    const Point &point = sideOf(giver).point;
    const auto wanted = global ? toLocal(to, *global, point) : std::nullopt;
    const auto found = givenBy(point);
    if (bool(wanted) != bool(found))
      return wrong("is of another rank");
    if (!wanted)
      continue;
    Index at = place, of = seen;
    at[d] = *found;
    of[own] = *wanted;
    return relateView(giver, made, made.getInput(), at, {op->getOperand(0), of},
                      item.branches);
  }
  return success();
}

} // namespace shardc::verify
