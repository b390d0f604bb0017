//===- Pad.cpp - Constant, reflected, edge or wrapped borders -------------===//
//
// pads is [begins..., ends...] over all dims; negative ones crop. Every output
// index of a dim maps to one input index, or to the constant.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/layout/PadSource.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Pad";
template <typename T> struct Padding {
  const TensorView &x, &out;
  const int64_t *begins;
  PadMode mode;
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

Status run(const KernelCall &call) {
  PadMode mode = PadMode::Constant;
  SHARDC_RETURN_IF_ERROR(readPadding(call, kName, mode));
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
