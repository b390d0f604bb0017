//===- WalkRing.cpp - Attention on keys and values in turn ----------------===//

#include "passes/verify/lowered/Group.h"
#include "passes/verify/lowered/Walk.h"

#include "dialects/onnx/ops/Attention.h"

using namespace mlir;

namespace shardc::verify {

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

/// Part `s` of a ring sees what the rank `steps[s]` further on has. By induction
/// over the parts, so that a ring of n ranks takes n steps a rank and not n^2:
/// what came from the next rank is what that one has seen in the part before.
LogicalResult Walk::relateTurn(const Item &item, dist::RingOp ring,
                               ArrayRef<rt::CallOp> parts, size_t s,
                               unsigned input) {
  const Group group(mesh, ring.getAxes());
  auto wrong = [&] {
    return breach(parts[s], item.made, item.wanted,
                  "sees the parts of keys and values in another order");
  };
  auto viewOf = [&](rt::CallOp part) { return part.getInputs()[input]; };
  auto seenBy = [&](int64_t rank, size_t part, const Index &index) {
    return sideOf(rank).state.read(viewOf(parts[part]), index,
                                   program.timeOf(parts[part]), item.branches);
  };
  const int64_t before = s ? ring.getSteps()[s - 1] : 0;
  const int64_t distance =
      (ring.getSteps()[s] - before + group.size()) % group.size();
  const int64_t giver = group.after(item.rank, distance);
  const Window *window = sideOf(item.rank).state.windowOf(viewOf(parts[s]));
  for (const Index &index :
       window ? samplesOf(window->dims) : std::vector<Index>()) {
    LoweredElement made = seenBy(item.rank, s, index);
    if (distance) {
      auto shift = dyn_cast_or_null<rt::CollectiveOp>(made.op);
      if (!shift || shift.getKernel() != "shift" ||
          shift.getAxes() != ring.getAxes() ||
          int64_t(*shift.getDistance()) != distance)
        return wrong();
      followed[{item.rank, shift, -1, item.wanted.value.getDefiningOp(),
                item.branches}]++;
      made = sideOf(giver).state.read(shift.getInput(), made.index,
                                      program.timeOf(shift), item.branches);
    }
    if (s == 0) {
      if (failed(relate(giver, parts[s], made, {ring.getOperand(), index},
                        item.branches)))
        return failure();
    } else if (!made.isSame(seenBy(giver, s - 1, index))) {
      return wrong();
    }
  }
  // That the part before is right there is to be shown, too.
  const Index *dims = sideOf(giver).reference.dimsOf(item.wanted.value);
  if (!distance || s == 0 || !dims || countOf(*dims) == 0)
    return success();
  Item there = item;
  there.made.index = there.wanted.index = Index(dims->size(), 0);
  return relate(giver, parts[s], there.made, there.wanted, item.branches);
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
    const int64_t owner = group.after(item.rank, steps[s]);
    if (const std::string problem = problemOfPart(
            op, part, piecesOf(rings[0], sideOf(owner).point), side.point);
        !problem.empty())
      return wrong(problem);
    if (failed(relateAll(item.rank, part, part.getInputs()[0],
                         op->getOperand(0), item.branches)))
      return failure();
    for (unsigned k = 0; k < 2; ++k)
      if (failed(relateTurn(item, rings[k], parts, s, 1 + k)))
        return failure();
  }
  return success();
}

} // namespace shardc::verify
