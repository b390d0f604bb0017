//===- Windows.cpp - What Conv, MaxPool, AveragePool and Pad compute ------===//
//
// In the form that they have after import: strides, dilations and pads are
// written out, and pads of a Pad are its bounds.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/evaluate/Evaluate.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Pooling.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

/// Windows over the dims of an image behind its first two.
struct Slide {
  Shape kernel, strides, dilations, pads;

  /// Calls visit(place in the image or -1, place in the kernel) for each
  /// element of the window at `at`.
  template <typename F>
  void forEach(ArrayRef<int64_t> image, ArrayRef<int64_t> at, F visit) const {
    const int64_t count = countOf(kernel);
    const Shape own = stridesOf(kernel), strideOf = stridesOf(image);
    for (int64_t k = 0; k < count; ++k) {
      int64_t place = 0;
      for (size_t s = 0; s < kernel.size() && place >= 0; ++s) {
        const int64_t x = at[s] * strides[s] +
                          k / own[s] % kernel[s] * dilations[s] - pads[s];
        place = x < 0 || x >= image[s] ? -1 : place + x * strideOf[s];
      }
      visit(place, k);
    }
  }
};

} // namespace

template <typename OpTy>
static std::optional<Slide> slideOf(OpTy op, ArrayRef<int64_t> kernel) {
  const size_t n = kernel.size();
  auto list = [](std::optional<ArrayRef<int64_t>> given, size_t count,
                 int64_t value) {
    return given ? Shape(given->begin(), given->end()) : Shape(count, value);
  };
  Slide slide{Shape(kernel.begin(), kernel.end()), list(op.getStrides(), n, 1),
              list(op.getDilations(), n, 1), list(op.getPads(), 2 * n, 0)};
  const bool fits = slide.strides.size() == n && slide.dilations.size() == n &&
                    slide.pads.size() == 2 * n && op.getAutoPad() == "NOTSET";
  return fits ? std::optional(slide) : std::nullopt;
}

/// Calls visit(plane, at, y) for each element of the result.
template <typename F> static void forEachWindow(Tensor &y, F visit) {
  const Shape spatial(y.shape.begin() + 2, y.shape.end());
  const Shape strides = stridesOf(spatial);
  const int64_t area = countOf(spatial);
  for (int64_t i = 0; i < y.size(); ++i) {
    Shape at;
    for (size_t s = 0; s < spatial.size(); ++s)
      at.push_back(i % area / strides[s] % spatial[s]);
    visit(i / area, at, y.data[i]);
  }
}

static Outcome convolve(Call &call) {
  auto op = cast<ConvOp>(call.op);
  const Tensor &x = call.operand(0), &w = call.operand(1);
  Tensor *y = call.addResult();
  const int64_t groups = op.getGroup();
  if (!y || x.rank() < 3 || w.rank() != x.rank() || y->rank() != x.rank() ||
      groups <= 0 || w.shape[0] % groups != 0 ||
      x.shape[1] != groups * w.shape[1] || y->shape[1] != w.shape[0])
    return Outcome::Unfit;
  const Shape image(x.shape.begin() + 2, x.shape.end());
  auto slide = slideOf(op, ArrayRef<int64_t>(w.shape).drop_front(2));
  if (!slide)
    return Outcome::Unknown;
  const int64_t area = countOf(image), taps = countOf(slide->kernel);
  forEachWindow(*y, [&](int64_t plane, ArrayRef<int64_t> at, double &sum) {
    const int64_t out = plane % w.shape[0], batch = plane / w.shape[0];
    const int64_t first = out / (w.shape[0] / groups) * w.shape[1];
    sum = call.has(2) ? call.operand(2).data[out] : 0;
    for (int64_t c = 0; c < w.shape[1]; ++c) {
      const int64_t from = (batch * x.shape[1] + first + c) * area;
      const int64_t filter = (out * w.shape[1] + c) * taps;
      slide->forEach(image, at, [&](int64_t place, int64_t k) {
        sum += place < 0 ? 0 : x.data[from + place] * w.data[filter + k];
      });
    }
  });
  return Outcome::Done;
}

/// f(elements of a window, how many it would hold with its pads).
template <typename OpTy, typename F> static Outcome pool(Call &call, F f) {
  auto op = cast<OpTy>(call.op);
  const Tensor &x = call.operand(0);
  Tensor *y = call.addResult();
  auto kernel = op.getKernelShape();
  if (call.op->getNumResults() != 1 || op.getCeilMode() != 0 || !kernel)
    return Outcome::Unknown;
  auto slide = slideOf(op, *kernel);
  if (!y || !slide || x.rank() != int64_t(kernel->size()) + 2 ||
      y->rank() != x.rank())
    return Outcome::Unfit;
  const Shape image(x.shape.begin() + 2, x.shape.end());
  const int64_t area = countOf(image);
  forEachWindow(*y, [&](int64_t plane, ArrayRef<int64_t> at, double &to) {
    SmallVector<double> inside;
    slide->forEach(image, at, [&](int64_t place, int64_t) {
      if (place >= 0)
        inside.push_back(x.data[plane * area + place]);
    });
    to = f(op, inside, countOf(slide->kernel));
  });
  return Outcome::Done;
}

static double meanOfWindow(AveragePoolOp op, ArrayRef<double> inside,
                           int64_t all) {
  double sum = 0;
  for (double x : inside)
    sum += x;
  return sum / double(op.getCountIncludePad() ? all : int64_t(inside.size()));
}

static double largestOfWindow(MaxPoolOp, ArrayRef<double> inside, int64_t) {
  double most = -INFINITY;
  for (double x : inside)
    most = x > most ? x : most;
  return most;
}

/// The place of a border's element in a dim; below 0 for the constant.
static int64_t reflected(StringRef mode, int64_t place, int64_t size) {
  if (place >= 0 && place < size)
    return place;
  if (mode == "constant" || size == 0)
    return -1;
  if (mode == "edge")
    return place < 0 ? 0 : size - 1;
  if (mode == "wrap")
    return ((place % size) + size) % size;
  while (size > 1 && (place < 0 || place >= size))
    place = place < 0 ? -place : 2 * (size - 1) - place;
  return size == 1 ? 0 : place;
}

static Outcome pad(Call &call) {
  auto op = cast<PadOp>(call.op);
  const Tensor &x = call.operand(0);
  Tensor *y = call.addResult();
  dist::DimsAttr bounds = op.getBoundsAttr();
  if (!bounds)
    return Outcome::Unknown;
  SmallVector<int64_t> begins;
  for (dist::DimExpr bound : bounds.getValues()) {
    auto known = call.sizes.of(bound);
    if (!known)
      return Outcome::Unfit;
    begins.push_back(*known);
  }
  if (!y || y->rank() != x.rank() || int64_t(begins.size()) != 2 * x.rank())
    return Outcome::Unfit;
  const double constant = call.has(1)     ? call.operand(1).data[0]
                          : op.getValue() ? op.getValue()->convertToFloat()
                                          : 0;
  const Shape strides = stridesOf(y->shape), own = stridesOf(x.shape);
  for (int64_t i = 0; i < y->size(); ++i) {
    int64_t from = 0;
    for (int64_t d = 0; d < x.rank() && from >= 0; ++d) {
      const int64_t place = reflected(
          op.getMode(), i / strides[d] % y->shape[d] - begins[d], x.shape[d]);
      from = place < 0 ? -1 : from + place * own[d];
    }
    y->data[i] = from < 0 ? constant : x.data[from];
  }
  return Outcome::Done;
}

void addWindows(Evaluators &all) {
  all.add<ConvOp>(convolve);
  all.add<AveragePoolOp>(
      [](Call &call) { return pool<AveragePoolOp>(call, meanOfWindow); });
  all.add<MaxPoolOp>(
      [](Call &call) { return pool<MaxPoolOp>(call, largestOfWindow); });
  all.add<PadOp>(pad);
}

} // namespace shardc::onnx::evaluate
