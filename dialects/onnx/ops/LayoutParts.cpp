//===- LayoutParts.cpp - Concat, Split, Slice -----------------------------===//
//
// Their rules cut a dim into segments: [q | k | v] -> q, k, v.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Layout.h"

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// Rule of an op with one whole and several parts, which follow each other
/// along `axis` of the whole and agree in all other dims.
static void segmentRule(ShardingRule &rule, ArrayRef<DimExpr> whole,
                        ArrayRef<DimExpr> sizes, int64_t axis,
                        RuleTensor &wholeTensor,
                        SmallVectorImpl<RuleTensor> &partTensors) {
  for (auto [d, size] : llvm::enumerate(whole))
    wholeTensor.push_back(static_cast<int64_t>(d) == axis ? RuleDim::none()
                                                          : rule.addDim(size));
  for (DimExpr size : sizes) {
    RuleTensor &part = partTensors.emplace_back(wholeTensor);
    // A single row is a segment too, and cannot be split.
    unsigned number =
        rule.addFactor(size, size.isConstant(1) || size.isConstant(0)
                                 ? FactorClass::NeedsReplication
                                 : FactorClass::PassThrough);
    part[axis] = RuleDim::factor(number);
  }
  for (RuleTensor &part : partTensors)
    wholeTensor[axis].segments.push_back(part[axis].segments.front());
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

/// All inputs known: their elements one after the other.
static std::optional<KnownValue> foldConcat(ConcatOp op,
                                            ShapeInference &inference,
                                            int64_t axis,
                                            ArrayRef<DimExpr> dims) {
  auto shape = asConstants(dims);
  if (!shape || numElements(*shape) > ShapeInference::kMaxKnownElements)
    return std::nullopt;
  SmallVector<const KnownValue *> inputs;
  for (Value input : op.getInputs()) {
    inputs.push_back(inference.known(input));
    if (!inputs.back())
      return std::nullopt;
  }
  KnownValue result{
      inputs.front()->element, SmallVector<int64_t, 4>(*shape), {}};
  forEachIndex(*shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    const KnownValue *const *input = inputs.begin();
    for (; from[axis] >= (*input)->shape[axis]; ++input)
      from[axis] -= (*input)->shape[axis];
    result.elements.push_back(
        (*input)->elements[broadcastPosition(from, (*input)->shape)]);
  });
  return result;
}

LogicalResult ConcatOp::inferTypes(ShapeInference &inference) {
  if (getInputs().empty())
    return emitOpError("has no operands, expected at least 1");
  SmallVector<DimExpr, 4> dims = inference.dims(getInputs().front());
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), dims.size());
  if (failed(axis))
    return failure();
  if (getInputs().size() == 1) {
    inference.replace(*this, getInputs().front());
    return success();
  }
  setAxis(*axis);
  Type element = inference.element(getInputs().front());
  SmallVector<DimExpr, 4> parts{dims[*axis]};
  for (Value input : getInputs().drop_front()) {
    SmallVector<DimExpr, 4> next = inference.dims(input);
    if (next.size() != dims.size() || inference.element(input) != element)
      return emitOpError("has operands of different ranks or types: ")
             << getInputs().front().getType() << " and " << input.getType();
    for (auto [d, size] : llvm::enumerate(next)) {
      if (static_cast<int64_t>(d) == *axis)
        parts.push_back(size);
      else if (failed(inference.assume(*this, GuardKind::Equal, dims[d], size,
                                       "Concat: sizes " + dims[d].str() +
                                           " and " + size.str() + " of dim " +
                                           Twine(d) + " differ")))
        return failure();
      else if (size.asConstant())
        dims[d] = size;
    }
  }
  dims[*axis] = dist::sum(parts);
  if (auto value = foldConcat(*this, inference, *axis, dims))
    inference.setKnown(getResult(), std::move(*value));
  else
    inference.setType(getResult(), element, dims);
  return success();
}

ShardingRule ConcatOp::shardingRule() {
  ShardingRule rule;
  SmallVector<DimExpr, 4> sizes;
  for (Value input : getInputs())
    sizes.push_back(dist::getDims(input.getType())[getAxis()]);
  segmentRule(rule, dist::getDims(getResult().getType()), sizes, getAxis(),
              rule.results.emplace_back(), rule.operands);
  return rule;
}

PartialRule ConcatOp::partialRule() { return PartialRule::MovesAll; }

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// Parts of ceil(size / count) as long as there is something left: the last is
/// what is left of it, so that their sum is the size.
static SmallVector<DimExpr, 4> roundedUpParts(DimExpr size, int64_t count) {
  SmallVector<DimExpr, 4> parts;
  DimExpr part = DimExpr::floorDiv(size + (count - 1), count), left = size;
  for (int64_t i = 0; i + 1 < count; ++i) {
    // Of two, the first is never more than there is.
    parts.push_back(
        i == 0 ? part : DimExpr::min(part, DimExpr::max(size - part * i, 0)));
    left = left - parts.back();
  }
  parts.push_back(left);
  return parts;
}

/// Sizes of the parts; without any given they are equal, the last may be less.
static FailureOr<SmallVector<DimExpr, 4>>
partSizes(SplitOp op, ShapeInference &inference, DimExpr size) {
  int64_t count = op.getNumResults();
  bool isDone = op.getNumOperands() == 1 && !op.getSplit() &&
                !op.getNumOutputs() &&
                llvm::all_of(op.getResults(), ShapeInference::hasType);
  if (isDone)
    return llvm::map_to_vector<4>(op.getResults(), [&](Value part) {
      return inference.dims(part)[op.getAxis()];
    });
  if (ShapeInference::isPresent(op, 1)) {
    if (auto sizes = inference.knownOrReadDims(op, 1))
      return *sizes;
    return op.emitOpError("has sizes that are no small integer tensor");
  }
  if (std::optional<ArrayRef<int64_t>> sizes = op.getSplit())
    return SmallVector<DimExpr, 4>(sizes->begin(), sizes->end());
  if (op.getNumOutputs().value_or(count) != static_cast<uint64_t>(count))
    return op.emitOpError("has num_outputs ")
           << *op.getNumOutputs() << ", but " << count << " results";
  SmallVector<DimExpr, 4> sizes;
  if (std::optional<int64_t> constant = size.asConstant()) {
    int64_t part = llvm::divideCeilSigned(*constant, count), left = *constant;
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(std::min(part, left));
      left -= std::min(part, left);
    }
    return sizes;
  }
  // Until opset 18, which has num_outputs, all parts are equal.
  if (size.exactDiv(count) || !op.getNumOutputs()) {
    if (failed(inference.assume(
            op, GuardKind::Equal, DimExpr::mod(size, count), 0,
            "Split: " + size.str() + " is no multiple of " + Twine(count))))
      return failure();
    sizes.assign(count, DimExpr::floorDiv(size, count));
    return sizes;
  }
  return roundedUpParts(size, count);
}

LogicalResult SplitOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), dims.size());
  if (failed(axis))
    return failure();
  setAxis(*axis);
  const DimExpr size = dims[*axis];
  FailureOr<SmallVector<DimExpr, 4>> sizes = partSizes(*this, inference, size);
  if (failed(sizes))
    return failure();
  if (sizes->size() != getNumResults())
    return emitOpError("has ")
           << sizes->size() << " sizes, but " << getNumResults() << " results";
  const DimExpr sum = dist::sum(*sizes);
  if (failed(inference.assume(*this, GuardKind::Equal, sum, size,
                              "Split: the parts are " + sum.str() +
                                  " of a dim of " + size.str())))
    return failure();
  const KnownValue *known = inference.known(getData());
  DimExpr start = 0;
  for (auto [result, part] : llvm::zip_equal(getResults(), *sizes)) {
    dims[*axis] = part;
    auto shape = asConstants(dims);
    if (known && shape && start.asConstant())
      inference.setKnown(
          result, moveElements(*known, *shape, [&](ArrayRef<int64_t> index) {
            SmallVector<int64_t> from(index);
            from[*axis] += *start.asConstant();
            return from;
          }));
    else
      inference.setType(result, inference.element(getData()), dims);
    start = start + part;
  }
  inference.keepOperands(*this, 1);
  removeSplitAttr();
  removeNumOutputsAttr();
  return success();
}

ShardingRule SplitOp::shardingRule() {
  ShardingRule rule;
  SmallVector<DimExpr, 4> sizes;
  for (Value part : getParts())
    sizes.push_back(dist::getDims(part.getType())[getAxis()]);
  segmentRule(rule, dist::getDims(getData().getType()), sizes, getAxis(),
              rule.operands.emplace_back(), rule.results);
  return rule;
}

PartialRule SplitOp::partialRule() { return PartialRule::Moves; }

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// [before | taken | after]; a step other than 1 needs the whole dim.
/// Bounds that are clamped to the dim: of the segments between them it cannot
/// always be proved that they are the whole.
static bool isClamped(DimExpr bound) {
  return llvm::any_of(bound.terms(), [](const DimExpr::Term &term) {
    return llvm::any_of(term.atoms, [](const dist::detail::DimAtom *atom) {
      return atom->kind == dist::detail::AtomKind::Min ||
             atom->kind == dist::detail::AtomKind::Max;
    });
  });
}

ShardingRule SliceOp::shardingRule() {
  ShardingRule rule;
  RuleTensor data, result;
  ArrayRef<DimExpr> starts = getBounds()->getValues();
  ArrayRef<int64_t> steps = *getSteps();
  for (auto [d, sizes] :
       llvm::enumerate(llvm::zip_equal(dist::getDims(getData().getType()),
                                       dist::getDims(getResult().getType())))) {
    auto [from, to] = sizes;
    if (from == to && steps[d] == 1) {
      data.push_back(rule.addDim(from));
      result.push_back(data.back());
      continue;
    }
    const DimExpr after = from - starts[d] - to;
    if (steps[d] != 1 || (isClamped(starts[d]) && !after.isConstant(0))) {
      data.push_back(rule.addDim(from, FactorClass::NeedsReplication));
      result.push_back(rule.addDim(to, FactorClass::NeedsReplication));
      continue;
    }
    RuleDim dim;
    auto addSegment = [&](DimExpr size) {
      bool isRow = size.isConstant(1) || size.isConstant(0);
      dim.segments.push_back(
          {rule.addFactor(size, isRow ? FactorClass::NeedsReplication
                                      : FactorClass::PassThrough)});
    };
    if (!starts[d].isConstant(0))
      addSegment(starts[d]);
    addSegment(to);
    RuleDim taken = RuleDim::factor(dim.segments.back().front());
    if (!after.isConstant(0))
      addSegment(after);
    data.push_back(dim);
    result.push_back(to.isConstant(1) ? RuleDim::none() : taken);
  }
  rule.operands = {data};
  rule.results = {result};
  return rule;
}

PartialRule SliceOp::partialRule() { return PartialRule::Moves; }

} // namespace shardc::onnx
