#include "passes/import/rows/RowNumbers.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

#include <cmath>
#include <random>
#include <set>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;
using evaluate::Tensor;

/// What a mask adds where it hides, compared with what it adds to a query's own
/// key: no weight is left beside it.
constexpr double kHiding = -1e4;
/// More elements than masks have at sizes that are tried.
constexpr int64_t kMostElements = int64_t(1) << 20;
/// Constants of that many are tables.
constexpr int64_t kMostOfConstants = 4096;
constexpr int64_t kLargestThreshold = 32768;
constexpr size_t kMostThresholds = 8;

/// As TextInputs.h of the runtime gives them.
static std::optional<Tensor> inputOf(func::FuncOp function,
                                     BlockArgument argument, RequestSize at,
                                     const evaluate::Sizes &sizes,
                                     bool isPlaces) {
  const StringAttr name =
      FunctionInfo(function).inputName(argument.getArgNumber());
  const bool isMask = name && name.getValue() == "attention_mask";
  const bool isIds = name && name.getValue() == "position_ids";
  std::optional<evaluate::Shape> shape =
      isMask || isIds || isPlaces ? sizes.of(dimsOf(argument)) : std::nullopt;
  if (!shape || (!isPlaces && shape->size() != 2))
    return std::nullopt;
  Tensor value(elementOf(argument), *shape);
  for (auto [i, number] : llvm::enumerate(value.data))
    number = isPlaces || isIds ? double(at.past + int64_t(i))
                               : double(int64_t(i) < at.past + at.count);
  return value;
}

/// Whether its elements are only moved and added to scores: what is seen of a
/// mask with any numbers for them is so with all.
static bool isOnlyAdded(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<AttentionOp>(user))
      return use.getOperandNumber() == AttentionOperand::Mask;
    const bool moves = isa<ReshapeOp, TransposeOp, ExpandOp, SliceOp>(user) ||
                       (isa<GatherOp>(user) && use.getOperandNumber() == 0);
    return (moves || isa<AddOp>(user)) && isOnlyAdded(user->getResult(0));
  });
}

/// Any numbers for a small table, such as that of biases by distance.
static std::optional<Tensor> tableOf(WeightOp weight) {
  const auto type = cast<RankedTensorType>(weight.getResult().getType());
  if (!type.getElementType().isF32() || !type.hasStaticShape() ||
      type.getNumElements() > kMostOfConstants ||
      !isOnlyAdded(weight.getResult()))
    return std::nullopt;
  Tensor table(type.getElementType(),
               evaluate::Shape(type.getShape().begin(), type.getShape().end()));
  std::mt19937 random(1);
  for (double &number : table.data)
    number = double(random()) / double(std::mt19937::max());
  return table;
}

/// What an infinity, such as the logarithm of a distance of 0, is as an integer
/// nobody says, and something else is chosen for it: whatever it is, it is the
/// same for all of them. Zero stands for it.
static Tensor withoutInfinities(const Tensor &value) {
  Tensor finite = value;
  for (double &number : finite.data)
    number = std::isfinite(number) ? number : 0;
  return finite;
}

static bool isSmall(Operation &op, const evaluate::Sizes &sizes) {
  return llvm::all_of(op.getResults(), [&](Value result) {
    std::optional<evaluate::Shape> shape =
        isa<RankedTensorType>(result.getType()) ? sizes.of(dimsOf(result))
                                                : std::nullopt;
    return shape &&
           evaluate::countOf(*shape) <=
               (isa<ConstantOp>(op) ? kMostOfConstants : kMostElements);
  });
}

RowNumbers numbersOf(func::FuncOp function, const RowSizes &sizes,
                     RequestSize request) {
  evaluate::Sizes at;
  at.symbols[*sizes.past.asSymbol()] = request.past;
  at.symbols[*sizes.sequence.asSymbol()] = request.count;
  if (auto batch = sizes.batch.asSymbol())
    at.symbols[*batch] = 1;
  return numbersOf(function, at, request, [](BlockArgument) { return false; });
}

bool isHidden(bool isAdded, double key, double own) {
  return isAdded ? key == -INFINITY || key - own <= kHiding : key == 0;
}

RowNumbers numbersOf(func::FuncOp function, evaluate::Sizes at,
                     RequestSize request,
                     llvm::function_ref<bool(BlockArgument)> isPlaces) {
  RowNumbers numbers;
  for (BlockArgument argument : function.getArguments())
    if (std::optional<Tensor> value =
            inputOf(function, argument, request, at, isPlaces(argument)))
      numbers[argument] = std::move(*value);
  const Tensor none;
  for (Operation &op : function.front().without_terminator()) {
    if (auto weight = dyn_cast<WeightOp>(op))
      if (std::optional<Tensor> table = tableOf(weight))
        numbers[weight.getResult()] = std::move(*table);
    SmallVector<const Tensor *, 4> operands;
    for (Value operand : op.getOperands()) {
      auto value = numbers.find(operand);
      const bool isThere = isa<TensorType>(operand.getType());
      if (!isThere || value != numbers.end())
        operands.push_back(isThere ? &value->second : &none);
    }
    if (operands.size() != op.getNumOperands() || op.getNumRegions() > 0 ||
        !evaluate::Evaluators::get().find(&op) || !isSmall(op, at))
      continue;
    Tensor finite;
    if (isa<CastOp>(op) && isa<FloatType>(elementOf(op.getOperand(0))) &&
        isa<IntegerType>(elementOf(op.getResult(0)))) {
      finite = withoutInfinities(*operands[0]);
      operands[0] = &finite;
    }
    bool overflows = false;
    evaluate::Call call{&op, operands, at, evaluate::Precision::Rounded,
                        overflows};
    if (evaluate::evaluateOp(call) == evaluate::Outcome::Done)
      for (auto [result, tensor] : llvm::zip(op.getResults(), call.results))
        numbers[result] = std::move(tensor);
  }
  return numbers;
}

std::optional<SmallVector<int64_t>>
thresholdsOf(func::FuncOp function, const RowNumbers &known, int64_t small) {
  std::set<int64_t> found;
  auto add = [&](double number) {
    if (std::optional<int64_t> whole = evaluate::integerOf(std::abs(number));
        whole && *whole > small && *whole < INT32_MAX)
      found.insert(*whole);
  };
  for (Operation &op : function.front().without_terminator()) {
    if (op.getNumResults() == 0 || !known.contains(op.getResult(0)))
      continue;
    for (StringRef name : {"values", "bounds"})
      if (auto sizes = op.getAttrOfType<dist::DimsAttr>(name))
        for (DimExpr size : sizes.getValues())
          evaluate::forEachNumber(size, [&](int64_t n) { add(double(n)); });
    const bool compares =
        isa<LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp, EqualOp, MinOp,
            MaxOp, ClipOp>(op);
    const bool shifts = isa<AddOp, SubOp, DivOp, ModOp>(op) &&
                        isa<IntegerType>(elementOf(op.getResult(0)));
    for (Value operand :
         compares || shifts ? op.getOperands() : op.getOperands().take_front(0))
      if (operand.getDefiningOp<ConstantOp>())
        for (double number : known.at(operand).data)
          add(number);
  }
  if (found.size() > kMostThresholds ||
      (!found.empty() && *found.rbegin() > kLargestThreshold))
    return std::nullopt;
  return SmallVector<int64_t>(found.begin(), found.end());
}

} // namespace shardc::import
