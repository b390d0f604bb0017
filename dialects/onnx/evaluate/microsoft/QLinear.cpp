//===- QLinear.cpp - What com.microsoft's QLinear ops compute -------------===//
//
//   y = round(f((a - a0) sa, ...) / sy) + y0, within the type
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/QLinear.h"
#include "dialects/onnx/evaluate/microsoft/Windows.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

/// An operand, with the scale and zero point behind it.
struct Quantity {
  const Tensor *x, *scale, *zero;

  Quantity(const Definition &d, unsigned first)
      : x(d.operand(first)), scale(d.operand(first + 1)),
        zero(d.operand(first + 2)) {}
  bool isWhole() const {
    return x && scale && scale->size() == 1 && (!zero || zero->size() == 1);
  }
  double of(double whole) const {
    return (whole - (zero ? valueAt(*zero, 0) : 0)) * valueAt(*scale, 0);
  }
  double operator()(Index i) const { return of(at(*x, i)); }
};

/// What the result's scale and zero point make of a number.
struct Target {
  const Tensor *scale, *zero;
  Type element;
  bool isNumber = true; ///< NaN has no integer

  Target(const Definition &d, unsigned first, Type orElse)
      : scale(d.operand(first)), zero(d.operand(first + 1)),
        element(zero ? zero->element : orElse) {}
  double operator()(double value) {
    const double scaled = value / valueAt(*scale, 0);
    isNumber &= !std::isnan(scaled);
    return quantized(element, scaled, zero ? valueAt(*zero, 0) : 0);
  }
  Outcome outcome() const {
    return isNumber ? Outcome::Done : Outcome::Invalid;
  }
};

} // namespace

template <typename F> static Outcome ofOne(Call &call, F f) {
  Definition d(call);
  const Quantity a(d, 0);
  if (!a.isWhole())
    return Outcome::Unknown;
  Target target(d, 3, a.x->element);
  Tensor &y = d.result(target.element, a.x->shape);
  forEachIndex(y.shape, [&](Index i) { at(y, i) = target(f(a(i))); });
  return target.outcome();
}

template <typename F> static Outcome ofTwo(Call &call, F f) {
  Definition d(call);
  const Quantity a(d, 0), b(d, 3);
  if (!a.isWhole() || !b.isWhole())
    return Outcome::Unknown;
  Target target(d, 6, a.x->element);
  Shape shape = a.x->shape;
  if (!broadcast(shape, b.x->shape))
    return Outcome::Unfit;
  Tensor &y = d.result(target.element, shape);
  forEachIndex(shape, [&](Index i) { at(y, i) = target(f(a(i), b(i))); });
  return target.outcome();
}

static Outcome choose(Call &call) {
  Definition d(call);
  const Tensor &condition = *d.operand(0);
  const Quantity a(d, 1), b(d, 4);
  if (!a.isWhole() || !b.isWhole())
    return Outcome::Unknown;
  Target target(d, 7, a.x->element);
  Shape shape = condition.shape;
  if (!broadcast(shape, a.x->shape) || !broadcast(shape, b.x->shape))
    return Outcome::Unfit;
  Tensor &y = d.result(target.element, shape);
  forEachIndex(shape, [&](Index i) {
    at(y, i) = target(at(condition, i) != 0 ? a(i) : b(i));
  });
  return target.outcome();
}

/// Along an axis, or before opset 13 along all from that one on.
static Outcome softmaxOf(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftQLinearSoftmaxOp>(call.op);
  const Quantity a(d, 0);
  if (!a.isWhole())
    return Outcome::Unknown;
  const auto axis = placeIn(double(int64_t(op.getAxis())), a.x->rank());
  if (!axis)
    return Outcome::Unfit;
  const bool isFlat = op.getOpset() < 13;
  const int64_t behind = countOf(Index(a.x->shape).drop_front(*axis + 1));
  const int64_t size = isFlat ? a.x->shape[*axis] * behind : a.x->shape[*axis];
  const int64_t step = isFlat ? 1 : behind;
  Target target(d, 3, a.x->element);
  Tensor &y = d.result(target.element, a.x->shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t first = i / (size * step) * (size * step) + i % step;
    double largest = -INFINITY, sum = 0;
    bool isNumber = true;
    for (int64_t j = 0; j < size; ++j) {
      const double value = a.of(valueAt(*a.x, first + j * step));
      isNumber &= !std::isnan(value);
      largest = std::max(largest, value);
    }
    for (int64_t j = 0; j < size; ++j)
      sum += std::exp(a.of(valueAt(*a.x, first + j * step)) - largest);
    y.data[i] = target(
        isNumber ? std::exp(a.of(valueAt(*a.x, i)) - largest) / sum : NAN);
  }
  return target.outcome();
}

static Outcome concatenate(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftQLinearConcatOp>(call.op);
  Target target(d, 0, Type());
  if (!target.zero)
    return Outcome::Unknown;
  SmallVector<Quantity> parts;
  for (unsigned i = 2; i + 2 < call.operands.size(); i += 3)
    parts.emplace_back(d, i);
  if (parts.empty() ||
      llvm::any_of(parts, [](const Quantity &p) { return !p.isWhole(); }))
    return Outcome::Unknown;
  const auto axis = placeIn(double(int64_t(op.getAxis())), parts[0].x->rank());
  if (!axis)
    return Outcome::Unfit;
  Shape shape = parts[0].x->shape;
  for (const Quantity &part : ArrayRef(parts).drop_front())
    shape[*axis] += part.x->shape[*axis];
  Tensor &y = d.result(target.element, shape);
  int64_t before = 0;
  for (const Quantity &part : parts) {
    forEachIndex(part.x->shape, [&](Index i) {
      Shape to(i.begin(), i.end());
      to[*axis] += before;
      at(y, to) = target(part(i));
    });
    before += part.x->shape[*axis];
  }
  return target.outcome();
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// The mean of each window; what it has beyond the image counts as 0, or not,
/// behind the last pads as well.
static Outcome meansOf(Call &call, Index kernel, bool areLast,
                       bool countsPads) {
  Definition d(call);
  const Quantity a(d, 0);
  const int64_t first = areLast ? 1 : 2;
  if (!a.isWhole())
    return Outcome::Unknown;
  const std::optional<Windows> w = Windows::of(d, kernel, first);
  if (!w)
    return Outcome::Unfit;
  Target target(d, 3, a.x->element);
  Shape shape = a.x->shape;
  llvm::copy(w->counts, shape.begin() + first);
  Tensor &y = d.result(target.element, shape);
  forEachIndex(shape, [&](Index o) {
    double sum = 0;
    int64_t count = 0;
    forEachIndex(w->kernel, [&](Index k) {
      Shape from(o.begin(), o.end());
      bool isInside = true;
      for (size_t s = 0; s < k.size(); ++s) {
        from[first + s] = w->place(s, o[first + s], k[s]);
        isInside &= from[first + s] >= 0;
      }
      sum += isInside ? a(from) : 0;
      count += isInside || countsPads;
    });
    at(y, o) = target(sum / double(count));
  });
  return target.outcome();
}

static Outcome windowMeans(Call &call) {
  auto op = cast<MicrosoftQLinearAveragePoolOp>(call.op);
  return meansOf(call, op.getKernelShape(), op.getChannelsLast() != 0,
                 op.getCountIncludePad() != 0);
}

static Outcome wholeMeans(Call &call) {
  const bool areLast =
      cast<MicrosoftQLinearGlobalAveragePoolOp>(call.op).getChannelsLast() != 0;
  const Shape &shape = call.operand(0).shape;
  if (shape.size() < 3)
    return Outcome::Unfit;
  const Index image = Index(shape).slice(areLast ? 1 : 2, shape.size() - 2);
  return meansOf(call, image, areLast, false);
}

//===----------------------------------------------------------------------===//
// QGemm
//===----------------------------------------------------------------------===//

/// alpha sa sb (sum_k (a - a0) (b - b0) + c), as integers if there is a scale.
static Outcome quantizedGemm(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftQGemmOp>(call.op);
  const Tensor &a = *d.operand(0), &sa = *d.operand(1), &a0 = *d.operand(2);
  const Tensor &b = *d.operand(3), &sb = *d.operand(4), &b0 = *d.operand(5);
  const Tensor *c = d.operand(6);
  if (a.rank() != 2 || b.rank() != 2)
    return Outcome::Unfit;
  const bool flipsA = op.getTransA() != 0, flipsB = op.getTransB() != 0;
  const Shape shape = {a.shape[flipsA ? 1 : 0], b.shape[flipsB ? 0 : 1]};
  const int64_t count = a.shape[flipsA ? 0 : 1];
  if (b.shape[flipsB ? 1 : 0] != count || (c && !reaches(*c, shape)) ||
      a0.size() != 1 || sa.size() != 1)
    return Outcome::Unfit;
  Target target(d, 7, Type());
  const bool isWhole = target.scale;
  target.element = target.zero ? target.zero->element : a.element;
  auto ofColumn = [](const Tensor &x, int64_t j) {
    return valueAt(x, x.size() == 1 ? 0 : j);
  };
  Tensor &y = d.result(isWhole ? target.element : sa.element, shape);
  forEachIndex(shape, [&](Index i) {
    double sum = c ? at(*c, i) : 0;
    for (int64_t k = 0; k < count; ++k) {
      const double left = flipsA ? at(a, {k, i[0]}) : at(a, {i[0], k});
      const double right = flipsB ? at(b, {i[1], k}) : at(b, {k, i[1]});
      sum += (left - valueAt(a0, 0)) * (right - ofColumn(b0, i[1]));
    }
    const double value = sum * (valueAt(sa, 0) * ofColumn(sb, i[1]) *
                                op.getAlpha().convertToFloat());
    at(y, i) = isWhole ? target(value) : value;
  });
  return target.outcome();
}

void defineQLinear(Evaluators &all) {
  all.add<MicrosoftQLinearAddOp>([](Call &call) {
    return ofTwo(call, [](double a, double b) { return a + b; });
  });
  all.add<MicrosoftQLinearMulOp>([](Call &call) {
    return ofTwo(call, [](double a, double b) { return a * b; });
  });
  all.add<MicrosoftQLinearSigmoidOp>([](Call &call) {
    return ofOne(call, [](double x) { return 1 / (1 + std::exp(-x)); });
  });
  all.add<MicrosoftQLinearLeakyReluOp>([](Call &call) {
    const double alpha =
        cast<MicrosoftQLinearLeakyReluOp>(call.op).getAlpha().convertToFloat();
    return ofOne(call, [=](double x) { return x >= 0 ? x : alpha * x; });
  });
  all.add<MicrosoftQLinearWhereOp>(choose);
  all.add<MicrosoftQLinearSoftmaxOp>(softmaxOf);
  all.add<MicrosoftQLinearConcatOp>(concatenate);
  all.add<MicrosoftQLinearAveragePoolOp>(windowMeans);
  all.add<MicrosoftQLinearGlobalAveragePoolOp>(wholeMeans);
  all.add<MicrosoftQGemmOp>(quantizedGemm);
}

} // namespace shardc::onnx::evaluate
