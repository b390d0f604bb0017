//===- Walk.cpp - From elements back to those they are made of ------------===//

#include "passes/verify/lowered/Walk.h"

#include "dialects/dist/NodeName.h"

using namespace mlir;

namespace shardc::verify {

std::vector<Index> samplesOf(ArrayRef<int64_t> dims) {
  const int64_t count = countOf(dims);
  std::vector<Index> samples;
  if (count <= 0)
    return samples;
  std::set<int64_t> numbers = {0, count - 1};
  // Always the same of the same dims: what is looked at twice costs once.
  uint64_t state = static_cast<uint64_t>(count) * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 3; ++i) {
    state ^= state >> 29;
    state *= 0xbf58476d1ce4e5b9u;
    numbers.insert(static_cast<int64_t>((state >> 1) % count));
  }
  for (int64_t number : numbers)
    samples.push_back(unflatten(number, dims));
  return samples;
}

Walk::Side &Walk::sideOf(int64_t rank) {
  std::unique_ptr<Side> &side = sides[rank];
  if (!side)
    side = std::make_unique<Side>(program, Point{&mesh, rank, sizes});
  return *side;
}

bool Walk::follow(int64_t other) {
  if (ranks.size() < kMostRanks)
    ranks.insert(other);
  return ranks.contains(other);
}

//===----------------------------------------------------------------------===//
// What is said of a breach
//===----------------------------------------------------------------------===//

static std::string text(ArrayRef<int64_t> index) {
  std::string list;
  for (int64_t i : index)
    list += (list.empty() ? "" : ", ") + std::to_string(i);
  return "[" + list + "]";
}

static std::string describe(Operation *op, unsigned output) {
  std::string name = nodeName(op).str();
  if (!name.empty())
    name = " (" + name + ")";
  std::string what = op->getName().getStringRef().str();
  if (auto call = dyn_cast<rt::CallOp>(op))
    what = "kernel " + call.getKernel().str();
  if (auto collective = dyn_cast<rt::CollectiveOp>(op))
    what = collective.getKernel().str();
  return "output " + std::to_string(output) + " of " + what + name;
}

static std::string describe(const LoweredElement &made) {
  switch (made.kind) {
  case LoweredElement::Kind::Nothing:
    return "what nobody wrote";
  case LoweredElement::Kind::Decided:
    return "what depends on a condition";
  case LoweredElement::Kind::Looped:
    return "what a loop wrote";
  default:
    return "element " + text(made.index) + " of " +
           describe(made.op, made.output);
  }
}

LogicalResult Walk::breach(Operation *reader, const LoweredElement &made,
                           const ReferenceElement &wanted, const Twine &why) {
  std::string expected = "element " + text(wanted.index) + " of ";
  if (auto result = dyn_cast<OpResult>(wanted.value))
    expected += describe(result.getOwner(), result.getResultNumber());
  else
    expected +=
        "input " +
        std::to_string(cast<BlockArgument>(wanted.value).getArgNumber());
  InFlightDiagnostic error = reader->emitError("reads ") << describe(made);
  if (const std::string reason = why.str(); !reason.empty())
    error << ", which " << reason;
  error << "; what was partitioned reads " << expected;
  error.attachNote(wanted.value.getLoc()) << "here";
  return error;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

LogicalResult Walk::relateViews(Operation *op, Value view, Value value) {
  return relateAll(rank, op, view, value, {});
}

LogicalResult Walk::relateAll(int64_t rank, Operation *reader, Value view,
                              Value value, const Branches &branches) {
  Side &side = sideOf(rank);
  const Window *window = side.state.windowOf(view);
  const Index *dims = side.reference.dimsOf(value);
  if (!window || !dims)
    return success();
  if (window->dims != *dims)
    return reader->emitError("sees ")
           << text(window->dims) << " elements; what was partitioned sees "
           << text(*dims);
  std::vector<Index> places = samplesOf(*dims);
  llvm::append_range(places, side.state.seamsOf(view, program.timeOf(reader)));
  llvm::append_range(places, side.reference.seamsOf(value));
  for (const Index &index : places)
    if (failed(relateView(rank, reader, view, index, {value, index}, branches)))
      return failure();
  return success();
}

LogicalResult Walk::relateView(int64_t rank, Operation *reader, Value view,
                               const Index &index,
                               const ReferenceElement &wanted,
                               const Branches &all) {
  Side &side = sideOf(rank);
  const unsigned time = program.timeOf(reader);
  Branches branches;
  for (const auto &branch : all)
    if (program.timeOf(branch.first) < time)
      branches.push_back(branch);
  LoweredElement made = side.state.read(view, index, time, branches);
  if (made.kind == LoweredElement::Kind::Decided)
    if (const auto root = side.reference.rootOf(wanted))
      if (auto branch = root->value.getDefiningOp<onnx::IfOp>())
        return fork(branch, made, rank, reader, view, index, *root, branches);
  if (made.kind == LoweredElement::Kind::Looped ||
      made.kind == LoweredElement::Kind::Nothing)
    if (const auto root = side.reference.rootOf(wanted); root && loopOf(*root))
      if (rt::LoopOp loop = loopOver(made, branches))
        return relateLooped(loop, rank, reader, made.view, made.index, *root,
                            branches);
  return relate(rank, reader, made, wanted, branches);
}

/// In a body of control flow, which every rank runs whole, types say nothing of
/// ranks.
static dist::ValueAttr heldAs(Type type) {
  if (dist::ValueAttr encoding = dist::getValueAttr(type))
    return encoding;
  return dist::getValueAttr(
      dist::withSharding(cast<RankedTensorType>(type),
                         dist::Sharding::replicated(dist::getDims(type))));
}

LogicalResult Walk::relateSource(const LoweredElement &made,
                                 const ReferenceElement &wanted,
                                 Operation *reader) {
  bool isSame =
      made.kind == LoweredElement::Kind::Source && made.index == wanted.index;
  if (auto argument = dyn_cast<BlockArgument>(wanted.value)) {
    auto input = dyn_cast_or_null<rt::InputOp>(made.op);
    isSame &= input && input.getIndex() == argument.getArgNumber();
  } else if (auto weight = wanted.value.getDefiningOp<onnx::WeightOp>()) {
    auto source = dyn_cast_or_null<rt::WeightOp>(made.op);
    isSame &= source && source.getNameAttr() == weight.getNameAttr() &&
              source.getFileAttr() == weight.getFileAttr() &&
              source.getOffset() == weight.getOffset() &&
              source.getLength() == weight.getLength() &&
              source.getElement() == getElementTypeOrSelf(weight.getType());
    if (isSame && source.getValue() != heldAs(weight.getType()))
      return breach(reader, made, wanted, "is held otherwise by the ranks");
  } else {
    auto constant = wanted.value.getDefiningOp<onnx::ConstantOp>();
    auto source = dyn_cast_or_null<rt::ConstantOp>(made.op);
    isSame &= source && source.getElements() == constant.getValue();
    if (isSame && source.getValue() != heldAs(constant.getType()))
      return breach(reader, made, wanted, "is held otherwise by the ranks");
  }
  return isSame ? success() : breach(reader, made, wanted);
}

LogicalResult Walk::relate(int64_t rank, Operation *reader,
                           const LoweredElement &made,
                           const ReferenceElement &unresolved,
                           const Branches &branches) {
  if (!follow(rank))
    return success();
  const std::optional<ReferenceElement> wanted =
      sideOf(rank).reference.rootOf(unresolved);
  if (!wanted)
    return reader->emitError("reads ")
           << describe(made) << ", where what was partitioned has nothing";
  Operation *op = wanted->value.getDefiningOp();
  if (onnx::LoopOp loop = loopOf(*wanted))
    return keepsSizes(loop) ? breach(reader, made, *wanted) : success();
  if (!op || isa<onnx::WeightOp, onnx::ConstantOp>(op))
    return relateSource(made, *wanted, reader);
  if (made.kind != LoweredElement::Kind::Made)
    return breach(reader, made, *wanted);
  const std::optional<Index> dims = dimsOf(rank, made);
  const Index *all = sideOf(rank).reference.dimsOf(wanted->value);
  if (!dims || !all)
    return success();
  const Place place{rank, made.op, made.member, made.output,
                    flatten(made.index, *dims)};
  if (seen.insert({place, wanted->value.getAsOpaquePointer(),
                   flatten(wanted->index, *all), branches})
          .second)
    items.push_back({rank, made, *wanted, branches});
  return success();
}

LogicalResult Walk::run() {
  while (!items.empty()) {
    const Item item = items.back();
    items.pop_back();
    if (failed(process(item)))
      return failure();
  }
  return bodies.verify();
}

LogicalResult Walk::process(const Item &item) {
  Operation *op = item.wanted.value.getDefiningOp();
  compared.insert(op);
  if (auto receive = dyn_cast<dist::ReceiveOp>(op)) {
    auto made = dyn_cast<rt::ReceiveOp>(item.made.op);
    const bool isSame = made && made.getTransfer() == receive.getTransfer() &&
                        made.getStage() == receive.getStage() &&
                        item.made.index == item.wanted.index;
    return isSame ? success() : breach(item.made.op, item.made, item.wanted);
  }
  if (isa<dist::DistDialect>(op->getDialect()) && !isa<dist::OnceOp>(op))
    if (auto collective = dyn_cast<rt::CollectiveOp>(item.made.op))
      return processCollective(item, collective);
  if (auto call = dyn_cast<rt::CallOp>(item.made.op))
    return processCall(item, call);
  return breach(item.made.op, item.made, item.wanted);
}

bool Walk::isFirst(const Item &item) {
  return followed[{item.rank, item.made.op, item.made.member,
                   item.wanted.value.getDefiningOp(), item.branches}]++ == 0;
}

} // namespace shardc::verify
