//===- WalkCollectives.cpp - What collectives read ------------------------===//

#include "passes/verify/lowered/Walk.h"

#include "dialects/onnx/ops/Attention.h"

using namespace mlir;

namespace shardc::verify {

static bool isEqual(dist::AxesAttr a, dist::AxesAttr b) { return a == b; }

namespace {

/// Ranks of a group, by their place in it.
class Group {
public:
  Group(const dist::Mesh &mesh, dist::AxesAttr attribute) : mesh(mesh) {
    const auto list = attribute.getAxes();
    axes.assign(list.begin(), list.end());
  }

  int64_t size() const { return dist::numWays(axes); }

  int64_t placeOf(int64_t rank) const {
    int64_t place = 0;
    for (const dist::AxisRef &axis : axes)
      place = place * axis.size + wayOf(axis, rank);
    return place;
  }

  /// The rank so many places further on, around the group.
  int64_t after(int64_t rank, int64_t distance) const {
    const int64_t place = (placeOf(rank) + distance) % size();
    for (int64_t other = 0; other < mesh.numRanks(); ++other)
      if (placeOf(other) == place && isBeside(other, rank))
        return other;
    return rank;
  }

private:
  int64_t sizeOf(const dist::AxisRef &axis) const {
    for (size_t a = 0; a < mesh.axes.size(); ++a)
      if (mesh.axes[a].name == axis.name)
        return mesh.axes[a].size;
    return 1;
  }
  int64_t innerOf(const dist::AxisRef &axis) const {
    return sizeOf(axis) / (axis.pre * axis.size);
  }
  int64_t wayOf(const dist::AxisRef &axis, int64_t rank) const {
    return mesh.coordinateAlong(rank, axis.name) / innerOf(axis) % axis.size;
  }
  /// Whether they differ in the group's ways alone.
  bool isBeside(int64_t a, int64_t b) const {
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
      int64_t left = mesh.coordinate(a, m), right = mesh.coordinate(b, m);
      for (const dist::AxisRef &axis : axes)
        if (axis.name == mesh.axes[m].name) {
          left -= wayOf(axis, a) * innerOf(axis);
          right -= wayOf(axis, b) * innerOf(axis);
        }
      if (left != right)
        return false;
    }
    return true;
  }

  const dist::Mesh &mesh;
  SmallVector<dist::AxisRef> axes;
};

} // namespace

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

//===----------------------------------------------------------------------===//
// Keys and values in turn
//===----------------------------------------------------------------------===//

/// Which of all keys a rank has, as ranges.
static std::optional<Index> piecesOf(dist::RingOp ring, const Point &point) {
  const auto split = dist::getSharding(ring.getOperand().getType());
  Index pieces;
  for (const dist::Range &range :
       split.dims[ring.getDim()].ranges(*point.mesh)) {
    const auto start = point.of(range.start), size = point.of(range.size);
    if (!start || !size)
      return std::nullopt;
    pieces.append({*start, *size});
  }
  return pieces;
}

/// What a part is told besides which keys it sees, is what the op says.
static std::string problemOfPart(onnx::AttentionOp op, rt::CallOp part,
                                 const std::optional<Index> &pieces,
                                 const Point &point) {
  NamedAttrList others(part.getConfig());
  auto told = dyn_cast_or_null<dist::DimsAttr>(others.erase("key_pieces"));
  if (!told || point.of(told.getValues()) != pieces)
    return "is told of other keys";
  return problemOfConfig(
      op, {part.getKernel(), others.getDictionary(op->getContext()), {}, 4},
      point);
}

/// Whether a part reads what it has written of those before it, or nothing.
static bool goesOn(rt::CallOp part, bool hasBefore) {
  const auto seen =
      part.getInputs().drop_front(std::min<size_t>(4, part.getInputs().size()));
  return hasBefore ? llvm::equal(seen, part.getOutputs()) : seen.empty();
}

/// AttentionPart for each step, on keys and values that came from so many ranks
/// further on, and AttentionFinish.
LogicalResult Walk::processRing(const Item &item, rt::CallOp finish) {
  auto op = dyn_cast<onnx::AttentionOp>(item.wanted.value.getDefiningOp());
  auto wrong = [&](const Twine &why) {
    return breach(finish, item.made, item.wanted, why);
  };
  auto ringOf = [&](unsigned operand) {
    return op ? op->getOperand(operand).getDefiningOp<dist::RingOp>()
              : dist::RingOp();
  };
  dist::RingOp rings[] = {ringOf(1), ringOf(2)};
  if (!rings[0] || !rings[1] || item.made.index != item.wanted.index)
    return wrong("is no attention on parts of keys and values");
  if (!isFirst(item))
    return success();
  SmallVector<rt::CallOp> parts;
  Value buffer = finish.getInputs()[1].getDefiningOp<rt::ViewOp>().getBuffer();
  for (const auto &writer : program.writersOf(buffer))
    if (auto part = dyn_cast<rt::CallOp>(writer.op);
        part && writer.time < program.timeOf(finish))
      parts.push_back(part);
  const ArrayRef<int64_t> steps = rings[0].getSteps();
  if (parts.size() != steps.size())
    return wrong("sees other parts of keys");
  const Group group(mesh, rings[0].getAxes());
  Side &side = sideOf(item.rank);
  auto relateBroadcast = [&](rt::CallOp call, unsigned input,
                             unsigned operand) -> LogicalResult {
    const bool isThere = input < call.getInputs().size() &&
                         isa<rt::ViewType>(call.getInputs()[input].getType());
    const bool isWanted =
        operand < op->getNumOperands() &&
        isa<RankedTensorType>(op->getOperand(operand).getType());
    if (isThere != isWanted)
      return wrong("has other inputs than the op");
    if (!isThere)
      return success();
    Value view = call.getInputs()[input], value = op->getOperand(operand);
    const Window *window = side.state.windowOf(view);
    const Index *dims = side.reference.dimsOf(value);
    if (!window || !dims)
      return success();
    for (const Index &index : samplesOf(window->dims))
      if (failed(relateView(item.rank, call, view, index,
                            {value, broadcastIndex(index, *dims)},
                            item.branches)))
        return failure();
    return success();
  };
  if (const std::string problem = problemOfConfig(
          op, {finish.getKernel(), finish.getConfig(), {}, 4}, side.point);
      !problem.empty())
    return wrong(problem);
  if (failed(relateBroadcast(finish, 2, onnx::AttentionOperand::Sinks)))
    return failure();
  for (auto [s, part] : llvm::enumerate(parts)) {
    if (failed(relateBroadcast(part, 3, onnx::AttentionOperand::Mask)))
      return failure();
    followed[{item.rank, part, -1, op, item.branches}]++;
    if (!goesOn(part, s > 0) ||
        part.getOutputs() != finish.getInputs().take_front(2))
      return wrong("does not go on with what it has seen");
    if (part.getKernel() != "AttentionPart" || part.getInputs().size() < 3)
      return wrong("is made of other kernels");
    const int64_t giver = group.after(item.rank, steps[s]);
    if (const std::string problem = problemOfPart(
            op, part, piecesOf(rings[0], sideOf(giver).point), side.point);
        !problem.empty())
      return wrong(problem);
    if (failed(relateAll(item.rank, part, part.getInputs()[0],
                         op->getOperand(0), item.branches)))
      return failure();
    for (unsigned k = 0; k < 2; ++k) {
      Value view = part.getInputs()[1 + k];
      const Window *window = side.state.windowOf(view);
      for (const Index &index :
           window ? samplesOf(window->dims) : std::vector<Index>()) {
        int64_t rank = item.rank, distance = 0;
        LoweredElement made =
            side.state.read(view, index, program.timeOf(part), item.branches);
        while (auto shift = dyn_cast_or_null<rt::CollectiveOp>(made.op)) {
          if (shift.getKernel() != "shift" ||
              shift.getAxes() != rings[k].getAxes())
            break;
          distance += *shift.getDistance();
          followed[{item.rank, shift, -1, op, item.branches}]++;
          rank = group.after(rank, *shift.getDistance());
          made = sideOf(rank).state.read(shift.getInput(), made.index,
                                         program.timeOf(shift), item.branches);
        }
        if (distance % int64_t(steps.size()) != steps[s])
          return wrong("sees the parts of keys and values in another order");
        if (failed(relate(rank, part, made, {rings[k].getOperand(), index},
                          item.branches)))
          return failure();
      }
    }
  }
  return success();
}

} // namespace shardc::verify
