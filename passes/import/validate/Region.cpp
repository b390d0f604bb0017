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
    auto read = dyn_cast<ReadSizesOp>(op);
    if (!read)
      continue;
    for (dist::DimExpr size : read.getSizes().getValues())
      if (std::optional<StringRef> symbol = size.asSymbol())
        readers[*symbol] = &op;
  }
}

/// An op that was added stands behind the last of its operands. What those are
/// made of may have been added too, in a long chain.
uint64_t OpOrder::of(Operation *op) {
  SmallVector<Operation *> pending{op};
  while (!pending.empty()) {
    Operation *next = pending.back();
    uint64_t number = 0;
    if (!numbers.contains(next))
      for (Value operand : next->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || !contains(source))
          continue;
        if (auto found = numbers.find(source); found != numbers.end())
          number = std::max(number, found->second);
        else
          pending.push_back(source);
      }
    if (pending.back() != next)
      continue; // comes again behind its operands
    pending.pop_back();
    numbers.try_emplace(next,
                        (number >> kAddedBits << kAddedBits) + ++numAdded);
  }
  return numbers.lookup(op);
}

namespace {

/// Walks backwards from both values, the last op first, so that all users of an
/// op are known when it is its turn.
class RegionReader {
public:
  RegionReader(OpOrder &order, unsigned levels, bool isDefined)
      : order(order), levels(levels), isDefined(isDefined) {}

  std::optional<Region> read(ArrayRef<Value> old, ArrayRef<Value> made) {
    Region region;
    region.isDefined = isDefined;
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
      if (!isDefined)
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

  /// Sizes that data gives are part of what a type says. Not where an op is
  /// replaced that has a definition: it has no type yet, so that what data its
  /// operands' sizes are made of would be taken for a part of what replaces it.
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
  const bool isDefined;
  std::map<uint64_t, std::pair<Operation *, Reached>> pending;
  llvm::SetVector<Value> values;
};

} // namespace

std::optional<Region> regionOf(ArrayRef<Value> old, ArrayRef<Value> made,
                               OpOrder &order, unsigned levels,
                               bool isDefined) {
  return RegionReader(order, levels, isDefined).read(old, made);
}

} // namespace shardc::import
