//===- Reference.cpp - What a partitioned function computes, by element ---===//

#include "passes/verify/lowered/Reference.h"

#include "dialects/onnx/ops/Layout.h"

using namespace mlir;

namespace shardc::verify {

const Index *Reference::dimsOf(Value value) {
  auto [entry, isNew] = sizes.try_emplace(value);
  if (isNew)
    if (auto dims = point.of(localDims(value.getType())))
      entry->second = std::make_unique<Index>(*dims);
  return entry->second.get();
}

namespace {

/// The steps of one op, on one element.
class Arrangement {
public:
  Arrangement(Reference &reference, const ReferenceElement &element)
      : reference(reference), point(reference.point), result(element.value),
        index(element.index) {}

  std::optional<ReferenceElement> of(onnx::ReshapeOp op) const {
    Value from = op->getOperand(0);
    const Index &dims = *reference.dimsOf(from);
    const int64_t number = flatten(index, *reference.dimsOf(result));
    if (number >= countOf(dims))
      return std::nullopt;
    return ReferenceElement{from, unflatten(number, dims)};
  }

  std::optional<ReferenceElement> of(onnx::TransposeOp op) const {
    Index from(index.size());
    for (size_t d = 0; d < index.size(); ++d)
      from[op.getPerm() ? (*op.getPerm())[d] : index.size() - 1 - d] = index[d];
    return ReferenceElement{op->getOperand(0), from};
  }

  std::optional<ReferenceElement> of(onnx::ExpandOp op) const {
    Value from = op->getOperand(0);
    return ReferenceElement{from,
                            broadcastIndex(index, *reference.dimsOf(from))};
  }

  std::optional<ReferenceElement> of(onnx::SliceOp op) const {
    auto bounds = op.getBoundsAttr();
    if (!bounds)
      return std::nullopt;
    Value from = op.getData();
    Index place(index.size());
    for (size_t d = 0; d < index.size(); ++d) {
      const auto start = point.of(bounds.getValues()[d]);
      const int64_t step = op.getSteps() ? (*op.getSteps())[d] : 1;
      const auto global = globalAlong(d);
      const auto local = start && global
                             ? localAlong(from, d, *start + *global * step)
                             : std::nullopt;
      if (!local)
        return std::nullopt;
      place[d] = *local;
    }
    return ReferenceElement{from, place};
  }

  std::optional<ReferenceElement> of(onnx::SplitOp op) const {
    const size_t axis = op.getAxis();
    auto global = globalAlong(axis);
    for (Value part : op->getResults()) {
      if (part == result)
        break;
      const auto size = point.of(dist::getDims(part.getType())[axis]);
      if (!size || !global)
        return std::nullopt;
      *global += *size;
    }
    Index place = index;
    const auto local =
        global ? localAlong(op.getData(), axis, *global) : std::nullopt;
    if (!local)
      return std::nullopt;
    place[axis] = *local;
    return ReferenceElement{op.getData(), place};
  }

  std::optional<ReferenceElement> of(onnx::ConcatOp op) const {
    const size_t axis = op.getAxis();
    auto global = globalAlong(axis);
    for (Value part : op->getOperands()) {
      const auto size = point.of(dist::getDims(part.getType())[axis]);
      if (!size || !global)
        return std::nullopt;
      if (*global >= *size) {
        *global -= *size;
        continue;
      }
      Index place = index;
      const auto local = localAlong(part, axis, *global);
      if (!local)
        return std::nullopt;
      place[axis] = *local;
      return ReferenceElement{part, place};
    }
    return std::nullopt;
  }

  std::optional<ReferenceElement> of(onnx::TileOp op) const {
    Value from = op->getOperand(0);
    const Index &dims = *reference.dimsOf(from);
    Index place = index;
    for (size_t d = 0; d < place.size(); ++d)
      place[d] = dims[d] > 0 ? place[d] % dims[d] : 0;
    return ReferenceElement{from, place};
  }

  std::optional<ReferenceElement> of(dist::SliceOp op) const {
    Value from = op->getOperand(0);
    Index place(index.size());
    for (size_t d = 0; d < index.size(); ++d) {
      const auto global = globalAlong(d);
      const auto local = global ? localAlong(from, d, *global) : std::nullopt;
      if (!local)
        return std::nullopt;
      place[d] = *local;
    }
    return ReferenceElement{from, place};
  }

private:
  std::optional<int64_t> globalAlong(size_t dim) const {
    return toGlobal(dist::getSharding(result.getType()).dims[dim], index[dim],
                    point);
  }
  std::optional<int64_t> localAlong(Value value, size_t dim,
                                    int64_t global) const {
    return toLocal(dist::getSharding(value.getType()).dims[dim], global, point);
  }

  Reference &reference;
  const Point &point;
  Value result;
  const Index &index;
};

} // namespace

/// Nothing for an op that computes.
std::optional<ReferenceElement> Reference::step(Operation *op,
                                                const ReferenceElement &at) {
  const Arrangement arrangement(*this, at);
  if (auto reshape = dyn_cast<onnx::ReshapeOp>(op))
    return arrangement.of(reshape);
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op))
    return arrangement.of(transpose);
  if (auto expand = dyn_cast<onnx::ExpandOp>(op))
    return arrangement.of(expand);
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    return arrangement.of(slice);
  if (auto split = dyn_cast<onnx::SplitOp>(op))
    return arrangement.of(split);
  if (auto concat = dyn_cast<onnx::ConcatOp>(op))
    return arrangement.of(concat);
  if (auto tile = dyn_cast<onnx::TileOp>(op))
    return arrangement.of(tile);
  return arrangement.of(cast<dist::SliceOp>(op));
}

onnx::LoopOp loopOf(const ReferenceElement &element) {
  if (auto argument = dyn_cast<BlockArgument>(element.value))
    return dyn_cast<onnx::LoopOp>(argument.getOwner()->getParentOp());
  return element.value.getDefiningOp<onnx::LoopOp>();
}

bool keepsSizes(onnx::LoopOp loop) {
  const auto dims = [](Value value) { return dist::getDims(value.getType()); };
  for (auto [k, argument] : llvm::enumerate(loop.getCarriedArguments()))
    if (dims(argument) != dims(loop.getCarried()[k]) ||
        dims(argument) != dims(loop.getNext()[k]) ||
        dims(argument) != dims(loop->getResult(k)))
      return false;
  for (auto [k, row] : llvm::enumerate(loop.getScanned()))
    if (ArrayRef(dims(loop->getResult(loop.getNumCarried() + k)))
            .drop_front() != ArrayRef(dims(row)))
      return false;
  return true;
}

bool arranges(Operation *op) {
  return isa<onnx::ReshapeOp, onnx::TransposeOp, onnx::ExpandOp, onnx::SliceOp,
             onnx::SplitOp, onnx::ConcatOp, onnx::TileOp, dist::SliceOp>(op);
}

/// What an argument of a body stands for outside of it; null for others.
static Value capturedBy(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto branch = dyn_cast<onnx::IfOp>(parent))
    return branch.getCaptures()[argument.getArgNumber()];
  auto loop = dyn_cast<onnx::LoopOp>(parent);
  const auto captures =
      loop ? loop.getCapturedArguments() : ArrayRef<BlockArgument>();
  if (!llvm::is_contained(captures, argument))
    return {};
  return loop
      .getCaptures()[argument.getArgNumber() - captures.front().getArgNumber()];
}

std::optional<ReferenceElement> Reference::rootOf(ReferenceElement element) {
  while (true) {
    const Index *dims = dimsOf(element.value);
    if (!dims || dims->size() != element.index.size())
      return std::nullopt;
    for (auto [i, size] : llvm::zip_equal(element.index, *dims))
      if (i < 0 || i >= size)
        return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(element.value)) {
      Value captured = capturedBy(argument);
      if (!captured)
        return element;
      element.value = captured;
      continue;
    }
    Operation *op = element.value.getDefiningOp();
    if (!arranges(op))
      return element;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) && !dimsOf(operand))
        return std::nullopt;
    std::optional<ReferenceElement> next = step(op, element);
    if (!next)
      return std::nullopt;
    element = *next;
  }
}

std::vector<Index> Reference::seamsOf(Value value) {
  std::vector<Index> seams;
  auto concat = value.getDefiningOp<onnx::ConcatOp>();
  const Index *dims = concat ? dimsOf(value) : nullptr;
  if (!dims)
    return seams;
  const size_t axis = concat.getAxis();
  int64_t at = 0;
  for (Value part : concat->getOperands()) {
    const Index *sizes = dimsOf(part);
    if (!sizes || countOf(*sizes) == 0)
      continue;
    Index first(dims->size(), 0), last = *sizes;
    for (int64_t &i : last)
      --i;
    first[axis] += at;
    last[axis] += at;
    at += (*sizes)[axis];
    if (at <= (*dims)[axis]) {
      seams.push_back(first);
      seams.push_back(last);
    }
  }
  return seams;
}

} // namespace shardc::verify
