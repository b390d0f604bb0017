//===- LayoutSlice.cpp - Bounds of Slice ----------------------------------===//
//
// ONNX clamps starts and ends to the dim. Where both are constants, or the dim
// may be shorter than a constant, so do the sizes:
//
//   x[:, -5:] of tensor<1xseq>    start seq - min(5, seq), size min(5, seq)
//
// Any other bound is assumed to lie within the dim, which is what exporters mean:
//
//   x[:, :seq] of tensor<1x128>   start 0, size seq, guard seq at_most 128
//
// So is the last or first element, since no model means a sequence without any:
//
//   x[:, -1:] of tensor<1xseq>    start seq - 1, size 1, guard seq at_least 1
//
// And what is left of a dim of 1, at the end of which a sequence lies, if it has any:
//
//   x[:, max(1 - seq, 0):] of tensor<1x1>   size 1 - max(1 - seq, 0), which is 1
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Layout.h"

#include "dialects/onnx/Decomposition.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

namespace {

/// INT64_MAX, and what exporters use instead, stand for "to the end".
constexpr int64_t kFar = int64_t(1) << 31;

struct Interval {
  DimExpr start, size;
  int64_t step = 1;
};

/// Bounds of one dim.
class SliceBounds {
public:
  SliceBounds(SliceOp op, ShapeInference &inference, DimExpr dim)
      : op(op), inference(inference), dim(dim) {}

  FailureOr<Interval> resolve(DimExpr start, DimExpr end, int64_t step) {
    step = std::clamp(step, -kFar, kFar); // a far one takes the first alone
    if (step < 0)
      return resolveBackwards(start, end, step);
    FailureOr<DimExpr> first = position(start, "start");
    FailureOr<DimExpr> last = position(end, "end");
    if (failed(first) || failed(last))
      return failure();
    DimExpr span = *last - *first;
    if (start.asConstant() && end.asConstant() &&
        !inference.isKnownAtLeast(span, 0)) // clamped, they may have crossed
      span = DimExpr::max(span, 0);
    if (failed(assumeSequences(span)))
      return failure();
    if (std::optional<int64_t> constant = span.asConstant())
      return Interval{
          *first, *constant <= 0 ? 0 : llvm::divideCeilSigned(*constant, step),
          step};
    if (failed(inference.assume(op, GuardKind::AtLeast, span, 0,
                                "Slice: start " + first->str() +
                                    " lies behind end " + last->str())))
      return failure();
    return Interval{*first, DimExpr::floorDiv(span + (step - 1), step), step};
  }

private:
  /// Takes all of a dim of 1 unless a sequence has no element. Of other dims a
  /// size may be min(past, 1), and nothing may be past.
  LogicalResult assumeSequences(DimExpr &span) {
    const DimExpr usual = span.replaceSymbols(
        [](StringRef name) { return DimExpr::symbol(name) + 1; });
    if (!dim.isConstant(1) || span.asConstant() || !usual.isConstant(1))
      return success();
    const DimExpr found = std::exchange(span, usual);
    return inference.assume(op, GuardKind::Equal, found, usual,
                            "Slice: size " + found.str());
  }

  /// Counted from the front, within [0, dim].
  FailureOr<DimExpr> position(DimExpr bound, StringRef what) {
    if (std::optional<int64_t> constant = bound.asConstant())
      return constantPosition(*constant, what);
    if (inference.isKnownAtLeast(DimExpr() - bound, 0)) {
      // -seq counts from the end, but -0 would not.
      if (failed(inference.assume(op, GuardKind::AtLeast, DimExpr() - bound, 1,
                                  message(what, bound))))
        return failure();
      bound = dim + bound;
    }
    if (failed(inference.assume(op, GuardKind::AtLeast, bound, 0,
                                message(what, bound))))
      return failure();
    if (inference.isKnownAtLeast(bound - dim, 0))
      return dim;
    if (failed(inference.assume(op, GuardKind::AtMost, bound, dim,
                                message(what, bound) + " is clamped to " +
                                    dim.str())))
      return failure();
    return bound;
  }

  FailureOr<DimExpr> constantPosition(int64_t bound, StringRef what) {
    if (bound >= kFar)
      return dim;
    if (bound <= -kFar || bound == 0)
      return DimExpr();
    if (std::optional<int64_t> size = dim.asConstant())
      return DimExpr(
          std::clamp<int64_t>(bound < 0 ? bound + *size : bound, 0, *size));
    int64_t needed = bound < 0 ? -bound : bound;
    if (needed > 1 && !inference.isKnownAtLeast(dim, needed)) {
      DimExpr reach = DimExpr::min(needed, dim);
      return bound < 0 ? dim - reach : reach;
    }
    if (failed(inference.assume(op, GuardKind::AtLeast, dim, needed,
                                message(what, bound) + " of a dim of " +
                                    dim.str())))
      return failure();
    return bound < 0 ? dim + bound : DimExpr(bound);
  }

  FailureOr<Interval> resolveBackwards(DimExpr start, DimExpr end,
                                       int64_t step) {
    std::optional<int64_t> first = start.asConstant(), last = end.asConstant();
    std::optional<int64_t> size = dim.asConstant();
    bool isWhole =
        first && last && (*first >= kFar || *first == -1) && *last <= -kFar;
    if (isWhole)
      return Interval{dim - 1, DimExpr::floorDiv(dim + (-step - 1), -step),
                      step};
    if (!first || !last || !size)
      return op.emitOpError("goes backwards over a dim of ")
             << dim.str() << " from " << start.str() << " to " << end.str()
             << ", expected constants or the whole dim";
    int64_t from = *first < 0 ? *first + *size : *first;
    int64_t to = *last < 0 ? *last + *size : *last;
    // ONNX clamps a start to the first element, NumPy to before it.
    from = std::clamp<int64_t>(from, *size > 0 ? 0 : -1, *size - 1);
    to = std::clamp<int64_t>(to, -1, *size - 1);
    int64_t count = from <= to ? 0 : llvm::divideCeilSigned(from - to, -step);
    return Interval{std::max<int64_t>(from, 0), count, step};
  }

  std::string message(StringRef what, DimExpr bound) {
    return ("Slice: " + what + " " + bound.str()).str();
  }

  SliceOp op;
  ShapeInference &inference;
  DimExpr dim;
};

/// starts, ends, axes, steps: operands, or attributes before opset 10.
struct SliceOperands {
  SmallVector<DimExpr, 4> starts, ends;
  SmallVector<int64_t> axes, steps;
};

} // namespace

static FailureOr<SliceOperands> readOperands(SliceOp op,
                                             ShapeInference &inference) {
  SliceOperands operands;
  if (op.getStarts() && op.getEnds()) {
    operands.starts.assign(op.getStarts()->begin(), op.getStarts()->end());
    operands.ends.assign(op.getEnds()->begin(), op.getEnds()->end());
    if (op.getAxes())
      operands.axes.assign(op.getAxes()->begin(), op.getAxes()->end());
  } else {
    auto starts = inference.knownOrReadDims(op, 1);
    auto ends = inference.knownOrReadDims(op, 2);
    if (!starts || !ends)
      return op.emitOpError("has starts or ends that are no small integer "
                            "tensors");
    operands.starts.assign(starts->begin(), starts->end());
    operands.ends.assign(ends->begin(), ends->end());
    for (unsigned index : {3u, 4u}) {
      auto known = inference.knownInts(op, index);
      if (ShapeInference::isPresent(op, index) && !known)
        return op.emitOpError("has axes or steps that depend on data, expected "
                              "constants");
      if (known)
        (index == 3 ? operands.axes : operands.steps)
            .assign(known->begin(), known->end());
    }
  }
  size_t count = operands.starts.size();
  if (operands.axes.empty())
    for (size_t d = 0; d < count; ++d)
      operands.axes.push_back(d);
  if (operands.steps.empty())
    operands.steps.assign(count, 1);
  if (operands.ends.size() != count || operands.axes.size() != count ||
      operands.steps.size() != count)
    return op.emitOpError("has ")
           << count << " starts, but " << operands.ends.size() << " ends, "
           << operands.axes.size() << " axes and " << operands.steps.size()
           << " steps";
  return operands;
}

static FailureOr<SmallVector<Interval>>
resolveBounds(SliceOp op, ShapeInference &inference, ArrayRef<DimExpr> dims) {
  FailureOr<SliceOperands> operands = readOperands(op, inference);
  if (failed(operands))
    return failure();
  SmallVector<Interval> intervals;
  for (DimExpr dim : dims)
    intervals.push_back({0, dim, 1});
  for (size_t i = 0; i < operands->axes.size(); ++i) {
    FailureOr<int64_t> axis =
        inference.normalizeAxis(op, operands->axes[i], dims.size());
    if (failed(axis))
      return failure();
    if (operands->steps[i] == 0)
      return op.emitOpError("has step 0");
    FailureOr<Interval> interval =
        SliceBounds(op, inference, dims[*axis])
            .resolve(operands->starts[i], operands->ends[i],
                     operands->steps[i]);
    if (failed(interval))
      return failure();
    intervals[*axis] = *interval;
  }
  return intervals;
}

/// Elements of a known operand at known places.
static std::optional<KnownValue>
foldSlice(SliceOp op, ShapeInference &inference, ArrayRef<Interval> intervals) {
  const KnownValue *known = inference.known(op.getData());
  if (!known)
    return std::nullopt;
  SmallVector<int64_t> starts, shape;
  for (const Interval &interval : intervals) {
    auto start = interval.start.asConstant(), size = interval.size.asConstant();
    if (!start || !size)
      return std::nullopt;
    starts.push_back(*start);
    shape.push_back(*size);
  }
  return moveElements(*known, shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from;
    for (auto [i, start, interval] : llvm::zip_equal(index, starts, intervals))
      from.push_back(start + i * interval.step);
    return from;
  });
}

/// Every `step`th element of one dim is a row of the dim as [n, step], and so
/// can be split: gate and up of an MLP, interleaved. Null for other slices.
static Value takeRow(SliceOp op, ShapeInference &inference,
                     ArrayRef<DimExpr> dims, ArrayRef<Interval> intervals) {
  std::optional<size_t> axis;
  for (auto [d, interval] : llvm::enumerate(intervals)) {
    if (interval.step == 1 && interval.size == dims[d])
      continue;
    std::optional<int64_t> start = interval.start.asConstant();
    bool isRow = interval.step > 1 && start && *start < interval.step &&
                 dims[d].exactDiv(interval.step) == interval.size;
    if (!isRow || axis)
      return {};
    axis = d;
  }
  if (!axis)
    return {};
  Decomposition d(op, inference);
  Decomposition::Dims split(dims.begin(), dims.end());
  split[*axis] = intervals[*axis].size;
  split.insert(split.begin() + *axis + 1, intervals[*axis].step);
  return d.row(d.reshape(op.getData(), split), *axis + 1,
               intervals[*axis].start);
}

LogicalResult SliceOp::inferTypes(ShapeInference &inference) {
  if (getBounds() && ShapeInference::hasType(getResult()))
    return success();
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  auto intervals = resolveBounds(*this, inference, dims);
  if (failed(intervals))
    return failure();
  SmallVector<DimExpr, 4> starts, sizes;
  SmallVector<int64_t> steps;
  bool isWhole = true;
  for (auto [dim, interval] : llvm::zip_equal(dims, *intervals)) {
    starts.push_back(inference.simplify(interval.start));
    sizes.push_back(inference.simplify(interval.size));
    steps.push_back(interval.step);
    isWhole &= interval.step == 1 && interval.size == dim;
  }
  if (isWhole) {
    inference.replace(*this, getData());
    return success();
  }
  if (auto value = foldSlice(*this, inference, *intervals)) {
    inference.setKnown(getResult(), std::move(*value));
    return success();
  }
  if (Value row = takeRow(*this, inference, dims, *intervals)) {
    inference.replace(*this, row);
    return success();
  }
  inference.keepOperands(*this, 1);
  for (StringRef name : {"starts", "ends", "axes"})
    (*this)->removeAttr(name);
  setBoundsAttr(dist::DimsAttr::get(getContext(), starts));
  setSteps(steps);
  inference.setType(getResult(), inference.element(getData()), sizes);
  return success();
}

} // namespace shardc::onnx
