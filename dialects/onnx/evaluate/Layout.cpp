//===- Layout.cpp - What Reshape, Slice, Cast, ... compute ----------------===//
//
// Sizes are those of the results' types: after import nothing else says them.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/evaluate/Elementwise.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Element i of the result is the one at `strides` from `start`.
static Outcome moved(Call &call, ArrayRef<int64_t> shape, const Shape &strides,
                     int64_t start) {
  const Tensor &x = call.operand(0);
  Tensor y(x.element, shape);
  double *to = y.data.data();
  forEachPosition<1>(shape, {strides}, [&](const int64_t (&at)[1]) {
    *to++ = x.data[start + at[0]];
  });
  return call.finish(std::move(y));
}

static Outcome reshape(Call &call) {
  std::optional<Shape> shape = call.resultShape();
  if (!shape || countOf(*shape) != call.operand(0).size())
    return Outcome::Unfit;
  Tensor y = call.operand(0);
  y.shape = *shape;
  return call.finish(std::move(y));
}

static Outcome expand(Call &call) {
  std::optional<Shape> shape = call.resultShape();
  if (!shape)
    return Outcome::Unfit;
  Shape whole = *shape;
  if (!broadcast(whole, call.operand(0).shape) || whole != *shape)
    return Outcome::Unfit;
  return moved(call, whole, broadcastStrides(call.operand(0).shape, whole), 0);
}

static Outcome tile(Call &call) {
  const Tensor &x = call.operand(0);
  Tensor *y = call.addResult();
  if (!y || y->rank() != x.rank())
    return Outcome::Unfit;
  const Shape own = stridesOf(x.shape);
  Shape index(y->shape.size(), 0);
  for (double &value : y->data) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] % x.shape[d] * own[d];
    value = x.data[at];
    for (size_t d = index.size(); d > 0; --d) {
      if (++index[d - 1] < y->shape[d - 1])
        break;
      index[d - 1] = 0;
    }
  }
  return Outcome::Done;
}

static Outcome transpose(Call &call) {
  const Tensor &x = call.operand(0);
  SmallVector<int64_t> perm(x.rank());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (auto given = cast<TransposeOp>(call.op).getPerm())
    perm.assign(given->begin(), given->end());
  const Shape own = stridesOf(x.shape);
  Shape shape, strides;
  for (int64_t d : perm) {
    shape.push_back(x.shape[d]);
    strides.push_back(own[d]);
  }
  return moved(call, shape, strides, 0);
}

static Outcome slice(Call &call) {
  auto op = cast<SliceOp>(call.op);
  const Tensor &x = call.operand(0);
  dist::DimsAttr bounds = op.getBoundsAttr();
  std::optional<Shape> shape = call.resultShape();
  if (!bounds)
    return Outcome::Unknown;
  if (!shape || int64_t(shape->size()) != x.rank())
    return Outcome::Unfit;
  Shape strides = stridesOf(x.shape);
  int64_t first = 0;
  for (size_t d = 0; d < shape->size(); ++d) {
    const int64_t step = op.getSteps() ? (*op.getSteps())[d] : 1;
    std::optional<int64_t> start = call.sizes.of(bounds.getValues()[d]);
    if (!start)
      return Outcome::Unfit;
    if ((*shape)[d] == 0)
      continue; // nothing is read
    auto last = (dist::DimExpr((*shape)[d] - 1) * step + *start).asConstant();
    if (!last || std::min(*start, *last) < 0 ||
        std::max(*start, *last) >= x.shape[d])
      return Outcome::Unfit;
    first += *start * strides[d];
    strides[d] *= (*shape)[d] == 1 ? 0 : step;
  }
  return moved(call, *shape, strides, first);
}

/// Copies between a value and its part that starts at `start` along `axis`.
template <typename Copy>
static void forEachRun(const Tensor &whole, const Tensor &part, int64_t axis,
                       int64_t start, Copy copy) {
  int64_t inner = 1, outer = 1;
  for (int64_t d = 0; d < whole.rank(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : whole.shape[d];
  const int64_t run = part.shape[axis] * inner;
  for (int64_t i = 0; i < outer; ++i)
    copy((i * whole.shape[axis] + start) * inner, i * run, run);
}

/// Whether the dims but for `axis` are the same.
static bool isPart(const Tensor &part, const Tensor &whole, int64_t axis) {
  Shape shape = part.shape;
  if (shape.size() != whole.shape.size() || axis < 0 || axis >= whole.rank())
    return false;
  shape[axis] = whole.shape[axis];
  return shape == whole.shape;
}

static Outcome concat(Call &call) {
  const int64_t axis = cast<ConcatOp>(call.op).getAxis();
  Tensor *y = call.addResult();
  int64_t start = 0;
  for (const Tensor *part : call.operands) {
    if (!y || !isPart(*part, *y, axis) ||
        start + part->shape[axis] > y->shape[axis])
      return Outcome::Unfit;
    forEachRun(*y, *part, axis, start, [&](int64_t to, int64_t at, int64_t n) {
      std::copy_n(part->data.begin() + at, n, y->data.begin() + to);
    });
    start += part->shape[axis];
  }
  return start == y->shape[axis] ? Outcome::Done : Outcome::Unfit;
}

static Outcome split(Call &call) {
  const int64_t axis = cast<SplitOp>(call.op).getAxis();
  const Tensor &x = call.operand(0);
  int64_t start = 0;
  for (unsigned i = 0; i < call.op->getNumResults(); ++i) {
    Tensor *part = call.addResult(i);
    if (!part || !isPart(*part, x, axis) ||
        start + part->shape[axis] > x.shape[axis])
      return Outcome::Unfit;
    forEachRun(x, *part, axis, start, [&](int64_t from, int64_t to, int64_t n) {
      std::copy_n(x.data.begin() + from, n, part->data.begin() + to);
    });
    start += part->shape[axis];
  }
  return start == x.shape[axis] ? Outcome::Done : Outcome::Unfit;
}

/// Towards zero; what does not fit an integer has no meaning. Floats of eight
/// bits saturate, or do not, as an attribute says: nothing recovered has them.
static Outcome convert(Call &call) {
  Type to = call.resultElement();
  const Tensor &x = call.operand(0);
  auto type = dyn_cast<IntegerType>(to);
  if (!type && to.getIntOrFloatBitWidth() <= 8)
    return Outcome::Unknown;
  if (!type || type.getWidth() == 1 || isInteger(x))
    return unary(call, [](double value) { return value; });
  const double range = std::ldexp(1.0, int(type.getWidth()));
  const double low = type.isUnsigned() ? 0 : -range / 2;
  for (double value : x.data)
    if (!(std::trunc(value) >= low && std::trunc(value) < low + range))
      return Outcome::Invalid;
  return unary(call, [](double value) { return std::trunc(value); });
}

void addLayout(Evaluators &all) {
  all.add<ReshapeOp>(reshape);
  all.add<ExpandOp>(expand);
  all.add<TileOp>(tile);
  all.add<TransposeOp>(transpose);
  all.add<SliceOp>(slice);
  all.add<ConcatOp>(concat);
  all.add<SplitOp>(split);
  all.add<CastOp>(convert);
}

} // namespace shardc::onnx::evaluate
