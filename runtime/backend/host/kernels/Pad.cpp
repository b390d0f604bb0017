//===- Pad.cpp - Constant, reflected, edge or wrapped borders -------------===//
//
// pads is [begins..., ends...] over all dims; negative ones crop. Every output
// index of a dim maps to one input index, or to the constant.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Pad";
constexpr int64_t kOutside = -1;

enum class Mode { Constant, Reflect, Edge, Wrap };

Status readMode(const KernelCall &call, Mode &mode) {
  const KernelAttribute *attribute = call.find("mode");
  const std::string_view text =
      attribute && !attribute->text.empty() ? attribute->text : "constant";
  constexpr std::string_view names[] = {"constant", "reflect", "edge", "wrap"};
  for (int i = 0; i < 4; ++i)
    if (text == names[i]) {
      mode = static_cast<Mode>(i);
      return Status::ok();
    }
  return failure(kName, "unknown mode '" + std::string(text) + "'");
}

/// The input index that `index` (possibly outside) stands for.
int64_t sourceOf(Mode mode, int64_t index, int64_t size) {
  if (index >= 0 && index < size)
    return index;
  switch (mode) {
  case Mode::Constant:
    return kOutside;
  case Mode::Edge:
    return index < 0 ? 0 : size - 1;
  case Mode::Wrap:
    return (index % size + size) % size;
  case Mode::Reflect:
    break;
  }
  if (size == 1)
    return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t folded = (index % period + period) % period;
  return folded < size ? folded : period - folded;
}

template <typename T> struct Padding {
  const TensorView &x, &out;
  const int64_t *begins;
  Mode mode;
  T value;

  /// Dims from d on, at the given offsets; a null x is all constant.
  void fill(int d, T *to, const T *from) const {
    if (d == out.rank) {
      *to = from ? *from : value;
      return;
    }
    for (int64_t i = 0; i < out.dims[d]; ++i) {
      const int64_t source =
          from ? sourceOf(mode, i - begins[d], x.dims[d]) : kOutside;
      fill(d + 1, to + i * out.strides[d],
           source == kOutside ? nullptr : from + source * x.strides[d]);
    }
  }
};

Status check(const KernelCall &call, Mode mode) {
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const KernelAttribute *pads = call.find("pads");
  if (!pads || pads->numInts != 2 * x.rank)
    return failure(kName, "pads must give a begin and an end for each dim");
  TensorView expected = x;
  bool needsSource = false;
  for (int d = 0; d < x.rank; ++d) {
    expected.dims[d] += pads->ints[d] + pads->ints[d + x.rank];
    needsSource |= x.dims[d] == 0 && expected.dims[d] > 0;
  }
  SHARDC_RETURN_IF_ERROR(expectLike(kName, expected, out));
  if (needsSource && mode != Mode::Constant && out.numElements() > 0)
    return failure(kName, "an empty dim has no values to repeat");
  if (hasInput(call, 1))
    return expectElement(kName, x.element, call.inputs[1]);
  return Status::ok();
}

Status run(const KernelCall &call) {
  Mode mode = Mode::Constant;
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 1));
  SHARDC_RETURN_IF_ERROR(readMode(call, mode));
  SHARDC_RETURN_IF_ERROR(check(call, mode));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  return dispatchSize(x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T value = hasInput(call, 1) ? *call.inputs[1].as<T>() : T(0);
    // An empty input has nothing to point at: all is constant.
    const T *from = x.numElements() > 0 ? x.as<T>() : nullptr;
    Padding<T>{x, out, call.find("pads")->ints, mode, value}.fill(
        0, out.as<T>(), from);
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
