#include "passes/import/rows/RowCausality.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/rows/RowNumbers.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;
using evaluate::Tensor;

namespace {

/// Small sizes that are tried: keys before a step, and new positions.
constexpr int64_t kMostPast = 9, kMostNew = 4;

bool isEqual(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

class Causality {
public:
  Causality(func::FuncOp function, const RowSizes &sizes)
      : function(function), sizes(sizes) {
    for (const CacheInfo &cache : FunctionInfo(function).caches())
      isCache.insert({cache.input, cache.output});
  }

  bool holds();

private:
  bool chooseSizes();
  void evaluateAll();
  std::optional<size_t> onlyTokenDim(Value value) const;
  bool isOfPlaces(Value value) const;
  bool isSame(Value value) const;
  bool isTelling(Operation &op) const;
  bool movesLength(Operation &op) const;
  bool dependsOnStep(Operation &op) const;
  bool showsTheSame(Value mask, RequestSize at, const Tensor &whole,
                    const Tensor &alone, int64_t i, bool isCausal) const;
  void checkMasks(const std::map<RequestSize, RowNumbers> &all);
  bool isOfEncoder(Value value) const;
  bool isFine(AttentionOp op) const;

  func::FuncOp function;
  const RowSizes &sizes;
  std::map<unsigned, unsigned> isCache; ///< input, output
  /// Steps whose positions are compared with what they have alone.
  std::vector<RequestSize> steps;
  /// Of values without a dim for keys; all of them have the same ones.
  std::map<RequestSize, RowNumbers> kept;
  llvm::DenseSet<Value> known;
  llvm::DenseSet<Operation *> shown; ///< attention whose mask is as it must be
  llvm::DenseSet<Value> ofStep;      ///< how a text came in steps may decide it
  llvm::DenseSet<Value> moved;       ///< lengths plus or times something
};

/// Small ones, and those around each number that lengths are compared with.
bool Causality::chooseSizes() {
  for (int64_t past = 0; past + kMostNew <= kMostPast + 1; ++past)
    for (int64_t count = 2; count <= kMostNew; ++count)
      steps.push_back({past, count});
  const auto thresholds = thresholdsOf(
      function, numbersOf(function, sizes, {0, 1}), kMostPast + kMostNew);
  if (!thresholds)
    return false;
  for (int64_t number : *thresholds)
    for (int64_t past = number - 3; past <= number + 1; ++past)
      steps.push_back({past, 2});
  return true;
}

/// That of the new positions, of a value that has no other that they change.
std::optional<size_t> Causality::onlyTokenDim(Value value) const {
  std::optional<size_t> found;
  for (auto [d, dim] : llvm::enumerate(dimsOf(value))) {
    if (sizes.isOfKeys(dim) || (found && sizes.isOfTokens(dim)))
      return std::nullopt;
    if (sizes.isOfTokens(dim))
      found = d;
  }
  return found;
}

void Causality::evaluateAll() {
  bool isFirst = true;
  auto hasKeys = [&](Value value) {
    return llvm::any_of(dimsOf(value),
                        [&](DimExpr dim) { return sizes.isOfKeys(dim); });
  };
  for (Operation &op : function.front())
    if (auto attention = dyn_cast<AttentionOp>(op))
      shown.insert(attention);
  for (RequestSize step : steps) {
    std::map<RequestSize, RowNumbers> all;
    all[step] = numbersOf(function, sizes, step);
    for (int64_t i = 0; i < step.count; ++i)
      all[{step.past + i, 1}] = numbersOf(function, sizes, {step.past + i, 1});
    checkMasks(all);
    for (auto &[at, numbers] : all) {
      RowNumbers few;
      for (auto &[value, tensor] : numbers)
        if (!hasKeys(value))
          few[value] = std::move(tensor);
      if (isFirst)
        for (auto &[value, tensor] : few)
          known.insert(value);
      isFirst = false;
      kept[at] = std::move(few);
    }
  }
  for (const auto &[at, numbers] : kept)
    for (Value value : llvm::to_vector(known))
      if (!numbers.contains(value))
        known.erase(value);
}

/// Whether what the i-th new position has is what it would have alone.
bool Causality::isOfPlaces(Value value) const {
  const std::optional<size_t> at = onlyTokenDim(value);
  if (!at)
    return false;
  for (RequestSize step : steps)
    for (int64_t i = 0; i < step.count; ++i) {
      const Tensor &whole = kept.at(step).at(value),
                   &alone = kept.at({step.past + i, 1}).at(value);
      if (whole.size() != alone.size() * step.count ||
          whole.shape[*at] % step.count != 0)
        return false;
      // Elements of one position, along the dim and behind it.
      const int64_t inner = evaluate::stridesOf(whole.shape)[*at] *
                            (whole.shape[*at] / step.count);
      for (int64_t e = 0; e < alone.size(); ++e)
        if (!isEqual(
                alone.data[e],
                whole.data[(e / inner * step.count + i) * inner + e % inner]))
          return false;
    }
  return true;
}

/// Whether sizes do not matter.
bool Causality::isSame(Value value) const {
  const Tensor &first = kept.begin()->second.at(value);
  return llvm::all_of(kept, [&](const auto &entry) {
    const Tensor &other = entry.second.at(value);
    return other.shape == first.shape &&
           llvm::all_of(llvm::zip(first.data, other.data), [](auto pair) {
             return isEqual(std::get<0>(pair), std::get<1>(pair));
           });
  });
}

/// Whether that it looks the same at the sizes that are tried says so of all:
/// where a length is moved a little, or read. What it is compared with may be
/// any sum of numbers, so that no choice of sizes is sure to find it.
bool Causality::isTelling(Operation &op) const {
  if (isa<ReshapeOp, TransposeOp, ExpandOp, SliceOp, GatherOp, ConcatOp,
          RangeOp, ReduceSumOp, ReduceMaxOp, ReduceMinOp>(op))
    return true;
  if (isa<CastOp>(op))
    return isa<IntegerType>(elementOf(op.getResult(0)));
  return isa<AddOp, SubOp, MaxOp, MinOp>(op) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           return !operand.getDefiningOp<ConstantOp>() ||
                  llvm::all_of(kept.begin()->second.at(operand).data,
                               [](double number) {
                                 return std::abs(number) <= kMostNew;
                               });
         });
}

/// Whether a result is a length that was moved, or is made of one: what a mask
/// compares that with is no number that stands in the file. Lengths themselves
/// may be compared, with keys or with numbers, around which sizes are tried.
bool Causality::movesLength(Operation &op) const {
  if (auto symbols = dyn_cast<SymbolsOp>(op)) {
    bool isMoved = false;
    for (DimExpr value : symbols.getValues().getValues())
      evaluate::forEachNumber(
          value, [&](int64_t number) { isMoved |= number > kMostNew; });
    return isMoved;
  }
  const bool compares = isa<LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp,
                            EqualOp, AndOp, OrOp, NotOp, WhereOp>(op);
  return llvm::any_of(op.getOperands(), [&](Value operand) {
    return moved.contains(operand) ||
           (ofStep.contains(operand) && known.contains(operand) && !compares &&
            !isTelling(op));
  });
}

bool Causality::dependsOnStep(Operation &op) const {
  auto any = [&](OperandRange operands) {
    return llvm::any_of(operands,
                        [&](Value value) { return ofStep.contains(value); });
  };
  if (isa<AttentionOp>(op)) // its mask is looked at by itself
    return any(op.getOperands().take_front(AttentionOperand::Mask));
  if (isa<CacheAppendOp>(op)) // lengths say where, not what
    return any(op.getOperands().take_front(2));
  if (op.getNumResults() == 0)
    return false;
  if (llvm::all_of(op.getResults(),
                   [&](Value result) { return known.contains(result); }))
    return (any(op.getOperands()) && !isTelling(op)) ||
           !llvm::all_of(op.getResults(), [&](Value result) {
             return isOfPlaces(result) || isSame(result);
           });
  return any(op.getOperands()) || isa<TriluOp, SymbolsOp, RangeOp>(op);
}

/// Of the i-th query of a step: nothing later, and of its own key and those
/// before it what it would be shown alone.
bool Causality::showsTheSame(Value mask, RequestSize at, const Tensor &whole,
                             const Tensor &alone, int64_t i,
                             bool isCausal) const {
  auto rowsOf = [](const Tensor &t) {
    return t.rank() < 2 ? 1 : t.shape[t.rank() - 2];
  };
  const int64_t keys = at.past + at.count, own = at.past + i;
  const int64_t ofWhole = whole.rank() == 0 ? 1 : whole.shape.back();
  const int64_t ofAlone = alone.rank() == 0 ? 1 : alone.shape.back();
  const int64_t rows = rowsOf(whole);
  if ((ofWhole != 1 && ofWhole != keys) ||
      (ofAlone != 1 && ofAlone != own + 1) || (rows != 1 && rows != at.count) ||
      rowsOf(alone) != 1 ||
      whole.size() / (ofWhole * rows) != alone.size() / ofAlone)
    return false;
  const bool isAdded = !elementOf(mask).isInteger(1);
  for (int64_t outer = 0; outer < alone.size() / ofAlone; ++outer) {
    const double *row =
        whole.data.data() + (outer * rows + (rows == 1 ? 0 : i)) * ofWhole;
    auto of = [&](int64_t key) { return row[ofWhole == 1 ? 0 : key]; };
    for (int64_t key = 0; key <= own; ++key)
      if (!isEqual(of(key),
                   alone.data[outer * ofAlone + (ofAlone == 1 ? 0 : key)]))
        return false;
    for (int64_t key = own + 1; key < keys && !isCausal; ++key)
      if (!isHidden(isAdded, of(key), of(own)))
        return false;
  }
  return true;
}

void Causality::checkMasks(const std::map<RequestSize, RowNumbers> &all) {
  const auto &[step, numbers] = *llvm::find_if(
      all, [](const auto &entry) { return entry.first.count > 1; });
  for (Operation *op : llvm::to_vector(shown)) {
    if (op->getNumOperands() <= AttentionOperand::Mask)
      continue;
    Value mask = op->getOperand(AttentionOperand::Mask);
    auto whole = numbers.find(mask);
    bool isSame = isa<NoneType>(mask.getType()) || whole != numbers.end();
    for (int64_t i = 0; whole != numbers.end() && i < step.count; ++i) {
      const RowNumbers &alone = all.at({step.past + i, 1});
      auto one = alone.find(mask);
      isSame &= one != alone.end() &&
                showsTheSame(mask, step, whole->second, one->second, i,
                             cast<AttentionOp>(op).getIsCausal());
    }
    if (!isSame)
      shown.erase(op);
  }
}

/// A text has it in all of its steps.
bool Causality::isOfEncoder(Value value) const {
  const Dims dims = dimsOf(value);
  return llvm::any_of(dims, [&](DimExpr d) { return sizes.isOfEncoder(d); }) &&
         llvm::none_of(dims, [&](DimExpr d) {
           return sizes.isOfTokens(d) || sizes.mentions(d, sizes.past);
         });
}

/// An attention that is causal counts from behind the cache on, or it has no
/// step.
bool Causality::isFine(AttentionOp op) const {
  const bool hasMask =
      op->getNumOperands() > AttentionOperand::Mask &&
      isa<TensorType>(op->getOperand(AttentionOperand::Mask).getType());
  if (isOfEncoder(op.getKey())) {
    Value mask = hasMask ? op->getOperand(AttentionOperand::Mask) : Value();
    return !op.getIsCausal() &&
           !(mask && (moved.contains(mask) || ofStep.contains(mask)));
  }
  if (!shown.contains(op))
    return false;
  return hasMask ? !moved.contains(op->getOperand(AttentionOperand::Mask))
                 : op.getIsCausal() != 0;
}

bool Causality::holds() {
  if (!chooseSizes())
    return false;
  evaluateAll();
  for (BlockArgument argument : function.getArguments())
    if (!isCache.count(argument.getArgNumber()) && !onlyTokenDim(argument) &&
        !isOfEncoder(argument))
      ofStep.insert(argument);
  auto isPast = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && isCache.count(argument.getArgNumber());
  };
  for (Operation &op : function.front().without_terminator()) {
    const bool isAppend =
        isa<ConcatOp, CacheAppendOp>(op) && isPast(op.getOperand(0));
    if (movesLength(op))
      moved.insert(op.getResults().begin(), op.getResults().end());
    if (dependsOnStep(op))
      ofStep.insert(op.getResults().begin(), op.getResults().end());
    auto attention = dyn_cast<AttentionOp>(op);
    if ((attention && !isFine(attention)) ||
        (isAppend && ofStep.contains(op.getResult(0))))
      return false;
  }
  return llvm::none_of(function.front().getTerminator()->getOperands(),
                       [&](Value output) { return ofStep.contains(output); });
}

} // namespace

bool isCausal(func::FuncOp function, const RowSizes &sizes) {
  return Causality(function, sizes).holds();
}

} // namespace shardc::import
