//===- Region.cpp - What a recovery replaces, and by what -----------------===//

#include "passes/import/validate/Region.h"

#include "dialects/onnx/evaluate/Evaluate.h"
#include "dialects/onnx/ops/Dynamic.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;

namespace shardc::import {

using namespace onnx;

constexpr size_t kMaxOps = 8192;
/// Of a number the lower bits are for ops that a pass adds.
constexpr unsigned kAddedBits = 32;

OpOrder::OpOrder(Block &block) : block(&block) {
  for (Operation &op : block) {
    numbers.try_emplace(&op, uint64_t(numbers.size() + 1) << kAddedBits);
    addReader(&op);
  }
}

void OpOrder::addReader(Operation *op) {
  if (auto read = dyn_cast<ReadSizesOp>(op))
    for (dist::DimExpr size : read.getSizes().getValues())
      if (std::optional<StringRef> symbol = size.asSymbol())
        readers[*symbol] = op;
}

void OpOrder::insert(Operation *op) {
  numbers.erase(op);
  if (op->getBlock() == block)
    addReader(op);
}

/// An op that was added stands behind the last of its operands. What those are
/// made of may have been added too, in a long chain.
uint64_t OpOrder::of(Operation *op) {
  SmallVector<Operation *> pending{op};
  while (!pending.empty()) {
    Operation *next = pending.back();
    const size_t before = pending.size();
    uint64_t number = 0;
    if (!numbers.contains(next))
      for (Value operand : next->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && contains(source)) {
          auto found = numbers.find(source);
          if (found == numbers.end())
            pending.push_back(source);
          else
            number = std::max(number, found->second);
        }
    if (pending.size() > before)
      continue;
    pending.pop_back();
    if (!numbers.contains(next))
      numbers[next] = (number >> kAddedBits << kAddedBits) + ++numAdded;
  }
  return numbers.lookup(op);
}

namespace {

/// Walks backwards from both values, the last op first, so that all users of an
/// op are known when it is its turn.
class RegionReader {
public:
  RegionReader(OpOrder &order, unsigned levels)
      : order(order), levels(levels) {}

  std::optional<Region> read(ArrayRef<Value> old, ArrayRef<Value> made) {
    Region region;
    region.old.assign(old.begin(), old.end());
    region.made.assign(made.begin(), made.end());
    for (Value value : old)
      reach(value, {true, false, 0});
    for (Value value : made)
      reach(value, {false, true, 0});
    while (!pending.empty()) {
      auto last = std::prev(pending.end());
      auto [op, reached] = last->second;
      pending.erase(last);
      if (!expands(op, reached))
        continue;
      if (region.ops.size() == kMaxOps)
        return std::nullopt;
      region.ops.push_back(op);
      if (reached.byOld && reached.byMade)
        ++reached.level;
      for (Value operand : op->getOperands())
        reach(operand, reached);
      reachReaders(op, reached);
    }
    std::reverse(region.ops.begin(), region.ops.end());
    llvm::DenseSet<Operation *> inside(region.ops.begin(), region.ops.end());
    for (Value value : values)
      if (!inside.contains(value.getDefiningOp()))
        region.leaves.push_back(value);
    return region;
  }

private:
  struct Reached {
    bool byOld, byMade;
    unsigned level; ///< of what both have in common
  };

  void reach(Value value, Reached reached) {
    values.insert(value);
    if (Operation *op = value.getDefiningOp(); op && order.contains(op))
      reachOp(op, reached);
  }

  void reachOp(Operation *op, Reached reached) {
    auto [entry, isNew] =
        pending.try_emplace(order.of(op), std::pair(op, reached));
    if (isNew)
      return;
    Reached &known = entry->second.second;
    known.byOld |= reached.byOld;
    known.byMade |= reached.byMade;
    known.level = std::max(known.level, reached.level);
  }

  /// Sizes that data gives are part of what a type says.
  void reachReaders(Operation *op, Reached reached) {
    for (Type type : op->getResultTypes())
      if (isa<RankedTensorType>(type))
        for (dist::DimExpr size : dist::getDims(type))
          size.forEachSymbol([&](StringRef symbol, bool) {
            Operation *reader = order.readerOf(symbol);
            if (reader && reader != op && order.of(reader) < order.of(op))
              reachOp(reader, reached);
          });
  }

  bool expands(Operation *op, const Reached &reached) const {
    if (!evaluate::Evaluators::get().find(op))
      return false;
    return op->getNumOperands() == 0 || !(reached.byOld && reached.byMade) ||
           reached.level < levels;
  }

  OpOrder &order;
  const unsigned levels;
  std::map<uint64_t, std::pair<Operation *, Reached>> pending;
  llvm::SetVector<Value> values;
};

} // namespace

std::optional<Region> regionOf(ArrayRef<Value> old, ArrayRef<Value> made,
                               OpOrder &order, unsigned levels) {
  return RegionReader(order, levels).read(old, made);
}

} // namespace shardc::import
