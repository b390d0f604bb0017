//===- ResizeSymbolic.cpp - Interpolation between symbolic sizes ----------===//
//
// Where the sizes are known when a program runs, and not before, so are the
// positions: a few numbers an element of the dim, of which Gathers make rows.
// Example, linear, with scale = out / in:
//
//   position = (range(out) + 0.5) / scale - 0.5
//   lower    = floor(position)
//   result   = Gather(lower) * (1 - rest) + Gather(lower + 1) * rest
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Interpolation.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Reduction.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

static Type f64(Decomposition &d) { return d.inference.builder.getF64Type(); }

static Value number(Decomposition &d, double value) {
  return d.number(f64(d), value);
}

static Value sizeOf(Decomposition &d, DimExpr size) {
  return d.cast(d.integer(d.i64(), size), f64(d));
}

/// out / in, or what the user gave: f64 [].
static Value scaleOf(Decomposition &d, const SymbolicDim &dim) {
  if (dim.scale)
    return number(d, *dim.scale);
  if (dim.ratios.empty())
    return d.make<DivOp>({sizeOf(d, dim.out), sizeOf(d, dim.in)});
  SmallVector<Value, 4> ratios;
  for (auto [out, in] : dim.ratios)
    ratios.push_back(d.make<DivOp>({sizeOf(d, out), sizeOf(d, in)}));
  return dim.isSmallest ? d.make<MinOp>(ratios) : d.make<MaxOp>(ratios);
}

/// f64 [out]: as Interpolation::positionOf.
Value Interpolation::positionsAtRun(Decomposition &d,
                                    const ResizedDim &resized) const {
  const SymbolicDim &dim = *resized.symbolic;
  Value x = d.cast(d.range(0, dim.out), f64(d));
  Value in = sizeOf(d, dim.in), out = sizeOf(d, dim.out);
  Value scale = scaleOf(d, dim);
  bool isWhole = !dim.scale && dim.ratios.empty();
  Value length = isWhole ? out : d.mul(in, scale);
  Value one = number(d, 1), half = number(d, 0.5);
  Value last = d.sub(in, one);
  auto isOne = [&] { return d.make<EqualOp>({length, one}); };
  /// 0 to `extent` over all of the result.
  auto spread = [&](Value extent, Value ofOne) {
    Value steps = d.make<WhereOp>({isOne(), one, d.sub(length, one)});
    return d.make<WhereOp>(
        {isOne(), ofOne, d.make<DivOp>({d.mul(x, extent), steps})});
  };
  if (transform == "align_corners")
    return spread(last, number(d, 0));
  if (transform == "asymmetric")
    return d.make<DivOp>({x, scale});
  if (usesRoi()) {
    Value extent = d.mul(last, number(d, resized.roiEnd - resized.roiStart));
    return d.add(spread(extent, d.mul(extent, half)),
                 d.mul(last, number(d, resized.roiStart)));
  }
  Value position = d.sub(d.make<DivOp>({d.add(x, half), scale}), half);
  if (transform == "pytorch_half_pixel")
    return d.make<WhereOp>({isOne(), number(d, -0.5), position});
  if (transform == "half_pixel_symmetric")
    return d.add(position, d.mul(d.mul(in, half),
                                 d.sub(one, d.make<DivOp>({out, length}))));
  return position;
}

/// As Interpolation::nearestTo, before it is clamped.
Value Interpolation::nearestAtRun(Decomposition &d, Value position,
                                  bool shrinks) const {
  Value half = number(d, 0.5);
  if (isSimple) {
    Value place = d.cast(d.cast(position, d.f32()), f64(d));
    return shrinks ? d.make<CeilOp>({place}) : d.make<FloorOp>({place});
  }
  if (nearest == "ceil")
    return d.make<CeilOp>({position});
  if (nearest == "round_prefer_floor")
    return d.make<CeilOp>({d.sub(position, half)});
  if (nearest == "round_prefer_ceil")
    return d.make<FloorOp>({d.add(position, half)});
  return d.make<FloorOp>({position});
}

/// The weight of an element at this distance, f64 [out].
static Value cubicWeight(Decomposition &d, Value distance, double a,
                         bool isNear) {
  auto times = [&](Value value, double factor) {
    return d.mul(value, number(d, factor));
  };
  auto plus = [&](Value value, double summand) {
    return d.add(value, number(d, summand));
  };
  Value x = distance;
  if (isNear) // ((a + 2) x - (a + 3)) x x + 1
    return plus(d.mul(d.mul(plus(times(x, a + 2), -(a + 3)), x), x), 1);
  // ((a x - 5 a) x + 8 a) x - 4 a
  Value inner = plus(times(x, a), -5 * a);
  return plus(d.mul(plus(d.mul(inner, x), 8 * a), x), -4 * a);
}

/// Rows of `axis` at these places, f64, each moved inside.
static Value rowsAt(Decomposition &d, const SymbolicDim &dim, Value place,
                    Value image, int64_t axis) {
  Value last = d.sub(sizeOf(d, dim.in), number(d, 1));
  Value inside = d.make<MinOp>({d.make<MaxOp>({place, number(d, 0)}), last});
  return d.make<GatherOp>({image, d.cast(inside, d.i64())},
                          d.attribute("axis", axis));
}

/// i1: whether there is an element at each place.
static Value isInside(Decomposition &d, const SymbolicDim &dim, Value place) {
  Value last = d.sub(sizeOf(d, dim.in), number(d, 1));
  return d.make<AndOp>({d.make<GreaterOrEqualOp>({place, number(d, 0)}),
                        d.make<LessOrEqualOp>({place, last})});
}

/// Where no kernel is stretched: two rows an element, or four.
Value Interpolation::tapsAtRun(Decomposition &d, const SymbolicDim &dim,
                               Value position, Value image,
                               int64_t axis) const {
  Value lower = d.make<FloorOp>({position});
  Value rest = d.sub(position, lower);
  SmallVector<std::pair<Value, Value>, 4> taps; ///< places and weights
  Value total;
  auto addTap = [&](int64_t offset, Value weight) {
    Value place = offset == 0 ? lower : d.add(lower, number(d, offset));
    if (excludesOutside)
      weight = d.make<WhereOp>({isInside(d, dim, place), weight, number(d, 0)});
    total = total ? d.add(total, weight) : weight;
    taps.emplace_back(place, weight);
  };
  Value one = number(d, 1);
  if (mode == "linear") {
    addTap(0, d.sub(one, rest));
    addTap(1, rest);
  } else {
    addTap(-1, cubicWeight(d, d.add(rest, one), a, false));
    addTap(0, cubicWeight(d, rest, a, true));
    addTap(1, cubicWeight(d, d.sub(one, rest), a, true));
    addTap(2, cubicWeight(d, d.sub(number(d, 2), rest), a, false));
  }
  Decomposition::Dims shape(d.rank(image), DimExpr(1));
  shape[axis] = dim.out;
  Value sum;
  for (auto [place, weight] : taps) {
    if (excludesOutside)
      weight = d.make<DivOp>({weight, total});
    Value part = d.mul(rowsAt(d, dim, place, image, axis),
                       d.reshape(d.cast(weight, d.element(image)), shape));
    sum = sum ? d.add(sum, part) : part;
  }
  return sum;
}

/// Shrinking stretches the kernel over as many elements as the scale says: a
/// matrix [places, out], as Interpolation::matrix, whose places go so far beyond
/// the image as a kernel may reach.
Value Interpolation::matrixAtRun(Decomposition &d, const SymbolicDim &dim,
                                 Value position, Value image,
                                 int64_t axis) const {
  DimExpr beyond = dim.in * 2 + 2; // no result is below 1
  if (dim.scale)
    beyond = static_cast<int64_t>(std::ceil(2 / std::min(*dim.scale, 1.0))) + 1;
  if (excludesOutside)
    beyond = 0;
  Value places =
      d.cast(d.range(DimExpr() - beyond, dim.in + beyond * 2), f64(d));
  DimExpr numPlaces = d.dims(places).front();
  Value distance = d.make<AbsOp>({d.sub(d.reshape(places, {numPlaces, 1}),
                                        d.reshape(position, {1, dim.out}))});
  Value stretch = d.make<MinOp>({scaleOf(d, dim), number(d, 1)});
  Value x = d.mul(distance, stretch), zero = number(d, 0);
  Value weights;
  if (mode == "linear") {
    weights = d.make<MaxOp>({d.sub(number(d, 1), x), zero});
  } else {
    auto isBelow = [&](double limit) {
      return d.make<LessOrEqualOp>({x, number(d, limit)});
    };
    Value far =
        d.make<WhereOp>({isBelow(2), cubicWeight(d, x, a, false), zero});
    weights = d.make<WhereOp>({isBelow(1), cubicWeight(d, x, a, true), far});
  }
  Value total = d.reduce<ReduceSumOp>(weights, {0});
  weights = d.make<DivOp>(
      {weights,
       d.make<WhereOp>({d.make<EqualOp>({total, zero}), number(d, 1), total})});
  Value rows = rowsAt(d, dim, places, image, axis);
  SmallVector<int64_t> perm =
      llvm::to_vector(llvm::seq<int64_t>(0, d.rank(image)));
  std::swap(perm[axis], perm.back()); // its own inverse
  return d.transpose(
      d.matmul(d.transpose(rows, perm), d.cast(weights, d.element(image))),
      perm);
}

Value Interpolation::resampleAtRun(Decomposition &d, const ResizedDim &resized,
                                   Value image, int64_t axis) const {
  const SymbolicDim &dim = *resized.symbolic;
  Value position = positionsAtRun(d, resized);
  if (isNearest()) {
    bool shrinks = dim.scale.value_or(1) < 1;
    return rowsAt(d, dim, nearestAtRun(d, position, shrinks), image, axis);
  }
  return antialias ? matrixAtRun(d, dim, position, image, axis)
                   : tapsAtRun(d, dim, position, image, axis);
}

Value Interpolation::extrapolateAtRun(Decomposition &d,
                                      const ResizedDim &resized, Value image,
                                      int64_t axis, double value) const {
  Decomposition::Dims shape(d.rank(image), DimExpr(1));
  shape[axis] = resized.symbolic->out;
  Value inside = isInside(d, *resized.symbolic, positionsAtRun(d, resized));
  return d.make<WhereOp>(
      {d.reshape(inside, shape), image, d.number(d.element(image), value)});
}

} // namespace shardc::onnx
