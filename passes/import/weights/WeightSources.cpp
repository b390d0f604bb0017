#include "passes/import/weights/WeightSources.h"

#include "dialects/onnx/ops/Indexing.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using namespace onnx;

SmallVector<int64_t> matrixTransposition(int64_t rank) {
  auto perm = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(perm.end()[-1], perm.end()[-2]);
  return perm;
}

std::optional<WeightSource> WeightSource::of(Value matrix) {
  WeightSource source;
  if (auto transpose = matrix.getDefiningOp<TransposeOp>()) {
    if (!transpose.turnsMatrix())
      return std::nullopt;
    matrix = transpose.getData();
    source.isTransposed = true;
  }
  source.weight = matrix.getDefiningOp<WeightOp>();
  auto type = dyn_cast<RankedTensorType>(matrix.getType());
  if (!source.weight || !type || !type.hasStaticShape() || type.getRank() < 2)
    return std::nullopt;
  const Type element = type.getElementType();
  return element.isF32() || element.isF16() || element.isBF16()
             ? std::optional(source)
             : std::nullopt;
}

static bool isConcatAlong(ConcatOp concat, int64_t axis) {
  const int64_t rank = cast<ShapedType>(concat.getType()).getRank();
  const auto along = static_cast<int64_t>(concat.getAxis());
  return (along < 0 ? along + rank : along) == axis;
}

/// [a, b] becomes [1, a, b].
static bool addsOne(ReshapeOp reshape) {
  auto from = dyn_cast<RankedTensorType>(reshape.getData().getType());
  auto to = dyn_cast<RankedTensorType>(reshape.getType());
  return from && to && from.getRank() == 2 && to.getRank() == 3 &&
         from.getShape() == to.getShape().drop_front();
}

/// Of one expert: [1, k, n], or [1, n, k] where that is turned afterwards.
static std::optional<ExpertStack::Parts> partsOf(Value matrix, bool isTurned) {
  ExpertStack::Parts parts;
  if (auto expand = matrix.getDefiningOp<ExpandOp>()) {
    if (!expand.getData().getDefiningOp<ConstantOp>() ||
        splatConstant(expand.getData()) != 0.0)
      return std::nullopt;
    return parts;
  }
  for (bool isInside = true; isInside;) {
    auto transpose = matrix.getDefiningOp<TransposeOp>();
    auto reshape = matrix.getDefiningOp<ReshapeOp>();
    isInside =
        (transpose && transpose.turnsMatrix()) || (reshape && addsOne(reshape));
    if (isInside) {
      matrix = matrix.getDefiningOp()->getOperand(0);
      isTurned ^= bool(transpose);
    }
  }
  const int64_t rank = cast<ShapedType>(matrix.getType()).getRank();
  SmallVector<Value, 2> values = {matrix};
  if (auto concat = matrix.getDefiningOp<ConcatOp>();
      concat && isConcatAlong(concat, isTurned ? rank - 2 : rank - 1))
    values.assign(concat.getInputs().begin(), concat.getInputs().end());
  for (Value value : values) {
    std::optional<WeightSource> source = WeightSource::of(value);
    if (!source)
      return std::nullopt;
    source->isTransposed ^= isTurned;
    parts.push_back(*source);
  }
  return parts;
}

std::optional<ExpertStack> ExpertStack::of(Value matrices) {
  auto transpose = matrices.getDefiningOp<TransposeOp>();
  if (transpose) {
    if (!transpose.turnsMatrix())
      return std::nullopt;
    matrices = transpose.getData();
  }
  auto concat = matrices.getDefiningOp<ConcatOp>();
  auto type = dyn_cast<RankedTensorType>(matrices.getType());
  if (!concat || !type || type.getRank() != 3 || !type.hasStaticShape() ||
      !isConcatAlong(concat, 0))
    return std::nullopt;
  ExpertStack stack;
  bool hasWeights = false;
  for (Value expert : concat.getInputs()) {
    auto each = dyn_cast<RankedTensorType>(expert.getType());
    std::optional<Parts> parts =
        each && each.getRank() == 3 && each.getDimSize(0) == 1
            ? partsOf(expert, bool(transpose))
            : std::nullopt;
    if (!parts)
      return std::nullopt;
    hasWeights |= !parts->empty();
    stack.experts.push_back(std::move(*parts));
  }
  return hasWeights ? std::optional(std::move(stack)) : std::nullopt;
}

const WeightSource &ExpertStack::first() const {
  return llvm::find_if(experts,
                       [](const Parts &parts) { return !parts.empty(); })
      ->front();
}

} // namespace shardc::import
