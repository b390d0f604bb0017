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

/// f64 [out]: as Interpolation::positionOf.
Value Interpolation::positionsAtRun(Decomposition &d,
                                    const SymbolicDim &dim) const {
  Value x = d.cast(d.range(0, dim.out), f64(d));
  Value in = sizeOf(d, dim.in), out = sizeOf(d, dim.out);
  Value scale = dim.scale ? number(d, *dim.scale) : d.make<DivOp>({out, in});
  Value length = dim.scale ? d.mul(in, scale) : out; // need not be whole
  Value one = number(d, 1), half = number(d, 0.5);
  if (transform == "align_corners") {
    Value steps = d.make<MaxOp>({d.sub(length, one), one});
    return d.make<DivOp>({d.mul(x, d.sub(in, one)), steps});
  }
  if (transform == "asymmetric")
    return d.make<DivOp>({x, scale});
  Value position = d.sub(d.make<DivOp>({d.add(x, half), scale}), half);
  if (transform == "pytorch_half_pixel")
    return d.make<WhereOp>(
        {d.make<EqualOp>({length, one}), number(d, -0.5), position});
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

Value Interpolation::resampleAtRun(Decomposition &d, const SymbolicDim &dim,
                                   Value image, int64_t axis) const {
  Value position = positionsAtRun(d, dim);
  Value last = d.sub(sizeOf(d, dim.in), number(d, 1));
  auto rows = [&](Value place) {
    Value inside = d.make<MinOp>({d.make<MaxOp>({place, number(d, 0)}), last});
    return d.make<GatherOp>({image, d.cast(inside, d.i64())},
                            d.attribute("axis", axis));
  };
  if (isNearest())
    return rows(nearestAtRun(d, position, dim.scale.value_or(1) < 1));
  Value lower = d.make<FloorOp>({position});
  Value rest = d.sub(position, lower);
  Decomposition::Dims shape(d.rank(image), DimExpr(1));
  shape[axis] = dim.out;
  Value sum;
  auto addTap = [&](int64_t offset, Value weight) {
    Value row = rows(offset == 0 ? lower : d.add(lower, number(d, offset)));
    Value part = d.mul(row, d.reshape(d.cast(weight, d.element(image)), shape));
    sum = sum ? d.add(sum, part) : part;
  };
  if (mode == "linear") {
    addTap(0, d.sub(number(d, 1), rest));
    addTap(1, rest);
    return sum;
  }
  addTap(-1, cubicWeight(d, d.add(rest, number(d, 1)), a, false));
  addTap(0, cubicWeight(d, rest, a, true));
  addTap(1, cubicWeight(d, d.sub(number(d, 1), rest), a, true));
  addTap(2, cubicWeight(d, d.sub(number(d, 2), rest), a, false));
  return sum;
}

} // namespace shardc::onnx
