//===- Layout.cpp - What com.microsoft's Trilu, Pad, NhwcMaxPool compute --===//

#include "dialects/onnx/ops/microsoft/Layout.h"
#include "dialects/onnx/evaluate/microsoft/Windows.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// What is on the diagonal `k` places to the right, and on one side of it.
static Outcome triangle(Call &call) {
  Definition d(call);
  const Tensor &x = *d.operand(0), *k = d.operand(1);
  const bool isUpper = cast<MicrosoftTriluOp>(call.op).getUpper() != 0;
  const double diagonal = k ? valueAt(*k, 0) : 0;
  if (x.rank() < 2)
    return Outcome::Unfit;
  Tensor &y = d.result(x.element, x.shape);
  forEachIndex(x.shape, [&](Index i) {
    const double right = double(i.back() - i[i.size() - 2]);
    const bool isKept = isUpper ? right >= diagonal : right <= diagonal;
    at(y, i) = isKept ? at(x, i) : 0;
  });
  return Outcome::Done;
}

/// Where place `i` of a border is read in a dim of `size`; nothing for a
/// constant.
static std::optional<int64_t> borderPlace(StringRef mode, int64_t i,
                                          int64_t size) {
  if (i >= 0 && i < size)
    return i;
  if (mode == "edge")
    return i < 0 ? 0 : size - 1;
  if (mode == "wrap")
    return (i % size + size) % size;
  if (mode == "reflect") {
    const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
    const int64_t place = (i % period + period) % period;
    return place < size ? place : period - place;
  }
  return std::nullopt;
}

/// Begins of all dims, then ends; below 0 they cut off.
static Outcome pad(Call &call) {
  Definition d(call);
  const Tensor &x = *d.operand(0), &pads = *d.operand(1);
  const Tensor *value = d.operand(2);
  const StringRef mode = cast<MicrosoftPadOp>(call.op).getMode();
  if (pads.size() != 2 * x.rank())
    return Outcome::Unfit;
  Shape shape = x.shape;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const double size =
        double(shape[i]) + valueAt(pads, i) + valueAt(pads, x.rank() + i);
    if (!(size >= 0 && size < double(kMostElements)) ||
        (shape[i] == 0 && mode != "constant"))
      return Outcome::Invalid;
    shape[i] = int64_t(size);
  }
  Tensor &y = d.result(x.element, shape);
  forEachIndex(shape, [&](Index o) {
    Shape from;
    for (int64_t i = 0; i < x.rank(); ++i) {
      const auto place =
          borderPlace(mode, o[i] - integerAt(pads, i), x.shape[i]);
      if (!place) {
        at(y, o) = value ? valueAt(*value, 0) : 0;
        return;
      }
      from.push_back(*place);
    }
    at(y, o) = at(x, from);
  });
  return Outcome::Done;
}

/// The largest of each window of [b, ..., c]; what is beyond does not count.
static Outcome largestOfWindows(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftNhwcMaxPoolOp>(call.op);
  const Tensor &x = *d.operand(0);
  const std::optional<Windows> w = Windows::of(d, op.getKernelShape(), 1);
  if (!w)
    return Outcome::Unfit;
  Shape shape = x.shape;
  llvm::copy(w->counts, shape.begin() + 1);
  Tensor &y = d.result(x.element, shape);
  forEachIndex(shape, [&](Index o) {
    double largest = -INFINITY;
    forEachIndex(w->kernel, [&](Index k) {
      Shape from(o.begin(), o.end());
      for (size_t s = 0; s < k.size(); ++s) {
        from[1 + s] = w->place(s, o[1 + s], k[s]);
        if (from[1 + s] < 0)
          return;
      }
      largest = std::max(largest, at(x, from));
    });
    at(y, o) = largest;
  });
  return Outcome::Done;
}

void defineLayout(Evaluators &all) {
  all.add<MicrosoftTriluOp>(triangle);
  all.add<MicrosoftPadOp>(pad);
  all.add<MicrosoftNhwcMaxPoolOp>(largestOfWindows);
}

} // namespace shardc::onnx::evaluate
