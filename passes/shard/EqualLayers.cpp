//===- EqualLayers.cpp - Layers that one of them can stand for ------------===//

#include "passes/shard/EqualLayers.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;

namespace shardc::shard {

/// Of fewer layers none stands for others: three stay.
static constexpr size_t kLeastFolded = 5;

/// Of a model's ops, what is a row of its layers, and not of experts or heads.
static constexpr double kLeastShare = 0.2;

/// Periods that are tried from an op: distances to those of its signature.
static constexpr size_t kMostPeriods = 24;

static bool isSource(Operation *op) {
  return isa<onnx::WeightOp, onnx::ConstantOp>(op);
}

static llvm::hash_code signatureOf(Operation *op) {
  return llvm::hash_combine(
      op->getName(), op->getAttrDictionary(),
      llvm::hash_combine_range(op->getOperandTypes().begin(),
                               op->getOperandTypes().end()),
      llvm::hash_combine_range(op->getResultTypes().begin(),
                               op->getResultTypes().end()));
}

EqualLayers::EqualLayers(func::FuncOp function) {
  for (Operation &op : function.front().without_terminator()) {
    if (isSource(&op) || op.getNumRegions() > 0)
      continue;
    numbers[&op] = ops.size();
    ops.push_back(&op);
    signatures.push_back(signatureOf(&op));
  }
  nextAlike.assign(ops.size(), ops.size());
  llvm::DenseMap<size_t, size_t> next;
  for (size_t i = ops.size(); i-- > 0;) {
    auto [known, isNew] = next.try_emplace(size_t(signatures[i]), i);
    if (!isNew)
      nextAlike[i] = std::exchange(known->second, i);
  }
  llvm::SmallVector<std::pair<size_t, Run>> rows;
  for (size_t start = 0; start < ops.size();) {
    const Run run = longestRun(start);
    if (run.period == 0 || run.length < run.period) {
      ++start;
      continue;
    }
    if (run.length >= (kLeastFolded - 1) * run.period) {
      const size_t skipped = border(start, run.period);
      fold(start + skipped, {run.period, run.length - skipped});
    }
    if (double(run.length + run.period) > kLeastShare * double(ops.size()))
      rows.push_back({start, run});
    start += run.length + run.period;
  }
  numberLayers(rows);
}

void EqualLayers::numberLayers(llvm::ArrayRef<std::pair<size_t, Run>> rows) {
  layers.resize(ops.size());
  unsigned next = 0;
  size_t done = 0; // ops
  for (const auto &[start, run] : rows) {
    const size_t first = start + border(start, run.period),
                 end = start + run.period + run.length;
    // Behind other layers all that stands between is one; else ops of the
    // signatures of a layer are.
    const size_t before =
        next == 0 ? std::min(first, firstOfSignatures(start, run.period))
                  : done;
    for (size_t i = before; i < first; ++i)
      layers[i] = next;
    next += before < first;
    for (size_t i = first; i < end; ++i)
      layers[i] = next + (i - first) / run.period;
    // What is left of a layer ends it, or is part of the last one.
    next += (end - first + run.period - 1) / run.period;
    done = end;
  }
}

std::optional<unsigned> EqualLayers::layerOf(Operation *op) const {
  auto number = numbers.find(op);
  return number == numbers.end() ? std::nullopt : layers[number->second];
}

bool EqualLayers::areEqual(Value lhs, Value rhs, size_t distance) const {
  if (lhs == rhs)
    return true;
  if (lhs.getType() != rhs.getType())
    return false;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right)
    return left == right; // two inputs
  if (isa<onnx::WeightOp>(left) && isa<onnx::WeightOp>(right))
    return true;
  auto leftNumber = numbers.find(left), rightNumber = numbers.find(right);
  if (leftNumber == numbers.end() || rightNumber == numbers.end())
    return left->getAttrDictionary() == right->getAttrDictionary() &&
           left->getName() == right->getName() && isSource(left);
  return rightNumber->second == leftNumber->second + distance &&
         cast<OpResult>(lhs).getResultNumber() ==
             cast<OpResult>(rhs).getResultNumber();
}

bool EqualLayers::areEqual(size_t i, size_t j) const {
  Operation *lhs = ops[i], *rhs = ops[j];
  if (signatures[i] != signatures[j] || lhs->getName() != rhs->getName() ||
      lhs->getAttrDictionary() != rhs->getAttrDictionary() ||
      lhs->getResultTypes() != rhs->getResultTypes() ||
      lhs->getNumOperands() != rhs->getNumOperands())
    return false;
  for (auto [left, right] : llvm::zip(lhs->getOperands(), rhs->getOperands()))
    if (!areEqual(left, right, j - i))
      return false;
  return true;
}

EqualLayers::Run EqualLayers::longestRun(size_t start) const {
  Run best;
  size_t alike = nextAlike[start];
  for (size_t tried = 0; tried < kMostPeriods && alike < ops.size();
       ++tried, alike = nextAlike[alike]) {
    const size_t period = alike - start;
    size_t length = 0;
    while (start + length + period < ops.size() &&
           areEqual(start + length, start + length + period))
      ++length;
    if (length > best.length)
      best = {period, length};
  }
  return best;
}

double EqualLayers::crossing(size_t first, size_t end) const {
  auto nominal = [](StringRef, bool) {
    return std::optional(dist::kNominalSize);
  };
  double elements = 0;
  for (size_t i = first; i < end; ++i)
    for (Value result : ops[i]->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            auto number = numbers.find(user);
            return number != numbers.end() && number->second >= end;
          }))
        elements += double(dist::product(dist::getDims(result.getType()))
                               .evaluate(nominal)
                               .value_or(1));
  return elements;
}

size_t EqualLayers::firstOfSignatures(size_t start, size_t period) const {
  size_t first = start;
  while (first > 0 && first + period > start &&
         signatures[first - 1] == signatures[first - 1 + period])
    --first;
  return first;
}

/// The better one is less: fewer elements cross; exporters that number layers
/// change the number here; the first op of the first layer is nearer.
using Border = std::tuple<double, bool, size_t>;

/// Of "/model/layers.12/mlp/MatMul_3" "12".
static StringRef firstNumber(Operation *op) {
  auto isDigit = [](char c) { return llvm::isDigit(c); };
  return nodeName(op).drop_until(isDigit).take_while(isDigit);
}

size_t EqualLayers::border(size_t start, size_t period) const {
  // The first layer takes its input from elsewhere, and its first ops are not
  // equal to those of others: where it begins, all of them do.
  const size_t natural = firstOfSignatures(start, period);
  size_t best = 0;
  Border least{std::numeric_limits<double>::infinity(), true, 0};
  for (size_t offset = 0; offset < period; ++offset) {
    const size_t end = start + period + offset; // of the first layer
    const Border here{crossing(start + offset, end),
                      firstNumber(ops[end - 1]) == firstNumber(ops[end]),
                      (start + offset - natural) % period};
    if (here < least) {
      best = offset;
      least = here;
    }
  }
  return best;
}

/// Layer 1 for those from 2 on, but for the last one.
void EqualLayers::fold(size_t start, const Run &run) {
  const size_t layers = (run.length + run.period) / run.period;
  for (size_t layer = 2; layer + 1 < layers; ++layer)
    for (size_t i = 0; i < run.period; ++i) {
      const size_t kept = start + run.period + i;
      standFor(ops[start + layer * run.period + i], ops[kept]);
    }
}

void EqualLayers::standFor(Operation *op, Operation *kept) {
  representatives[op] = kept;
  ++counts.try_emplace(kept, 1).first->second;
  for (auto [own, other] : llvm::zip(op->getOperands(), kept->getOperands())) {
    Operation *source = own.getDefiningOp(),
              *keptSource = other.getDefiningOp();
    if (source == keptSource || !source || !isa<onnx::WeightOp>(source) ||
        representatives.count(source))
      continue;
    representatives[source] = keptSource;
    ++counts.try_emplace(keptSource, 1).first->second;
  }
}

Operation *EqualLayers::representative(Operation *op) const {
  auto known = representatives.find(op);
  return known == representatives.end() ? op : known->second;
}

double EqualLayers::count(Operation *op) const {
  auto known = counts.find(op);
  return known == counts.end() ? 1 : known->second;
}

} // namespace shardc::shard
