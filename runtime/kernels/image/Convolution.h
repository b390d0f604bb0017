//===- Convolution.h - Operands of Conv -----------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_IMAGE_CONVOLUTION_H
#define SHARDC_RUNTIME_KERNELS_IMAGE_CONVOLUTION_H

#include "runtime/base/HostDevice.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::host {

inline constexpr int kConvDims = 3;

/// Fewer than 3 spatial dims are leading dims of size 1.
struct ConvWindow {
  int64_t in[kConvDims], out[kConvDims], taps[kConvDims];
  int64_t step[kConvDims], before[kConvDims], dilation[kConvDims];
  int64_t stride[kConvDims]; ///< of X, in elements

  /// Input position that output position `o` reads at `tap`, if inside.
  SHARDC_HOST_DEVICE bool inputAt(int d, int64_t o, int64_t tap,
                                  int64_t &at) const {
    at = o * step[d] - before[d] + tap * dilation[d];
    return at >= 0 && at < in[d];
  }
};

struct Convolution {
  const TensorView *x, *w, *bias, *y;
  ConvWindow window;
  int64_t group;
  int64_t channels, features; ///< per group, of X and Y
  int64_t positions = 1;      ///< of an output image
  int64_t taps = 1;           ///< times channels: rows of the unfolded image

  /// Error: operands that do not fit each other. They live longer.
  Status read(const KernelCall &call, std::string_view kernel);
};

inline int64_t intAt(const KernelCall &call, const char *name, int index,
                     int64_t otherwise) {
  const KernelAttribute *attribute = call.find(name);
  return attribute && index < attribute->numInts ? attribute->ints[index]
                                                 : otherwise;
}

inline Status checkWindow(const Convolution &c, std::string_view kernel, int d,
                          int64_t after) {
  const ConvWindow &w = c.window;
  const int64_t span = w.dilation[d] * (w.taps[d] - 1) + 1;
  const int64_t padded = w.in[d] + w.before[d] + after;
  if (w.step[d] < 1 || w.dilation[d] < 1 || w.taps[d] < 1)
    return failure(kernel, "strides, dilations and kernel must be at least 1");
  if (w.out[d] != (padded < span ? 0 : (padded - span) / w.step[d] + 1))
    return failure(kernel, "the output has dims " + dimsToString(*c.y) +
                               " for an input of " + dimsToString(*c.x));
  return Status::ok();
}

inline Status Convolution::read(const KernelCall &call,
                                std::string_view kernel) {
  Convolution &c = *this;
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  c.x = &call.inputs[0];
  c.w = &call.inputs[1];
  c.bias = hasInput(call, 2) ? &call.inputs[2] : nullptr;
  c.y = &call.outputs[0];
  c.group = call.intOr("group", 1);
  const int rank = c.x->rank, spatial = rank - 2;
  if (spatial < 1 || spatial > kConvDims || c.w->rank != rank ||
      c.y->rank != rank || c.group < 1)
    return failure(kernel, "no kernel for X " + dimsToString(*c.x) + ", W " +
                               dimsToString(*c.w));
  c.channels = c.w->dims[1];
  c.features = c.w->dims[0] / c.group;
  if (c.x->dims[1] != c.channels * c.group || c.w->dims[0] % c.group != 0 ||
      c.y->dims[1] != c.w->dims[0] || c.y->dims[0] != c.x->dims[0] ||
      (c.bias && (c.bias->rank != 1 || c.bias->dims[0] != c.w->dims[0])))
    return failure(kernel, "X " + dimsToString(*c.x) + " does not fit W " +
                               dimsToString(*c.w));
  for (const TensorView *view : {c.w, c.y, c.bias})
    if (view)
      SHARDC_RETURN_IF_ERROR(expectElement(kernel, c.x->element, *view));
  for (int d = 0; d < kConvDims; ++d) {
    const int s = d - (kConvDims - spatial); // spatial dim of X, if >= 0
    const auto of = [&](const TensorView *view) {
      return s < 0 ? 1 : view->dims[s + 2];
    };
    ConvWindow &w = c.window;
    w.in[d] = of(c.x);
    w.out[d] = of(c.y);
    w.taps[d] = of(c.w);
    w.stride[d] = s < 0 ? 0 : c.x->strides[s + 2];
    w.step[d] = s < 0 ? 1 : intAt(call, "strides", s, 1);
    w.dilation[d] = s < 0 ? 1 : intAt(call, "dilations", s, 1);
    w.before[d] = s < 0 ? 0 : intAt(call, "pads", s, 0);
    SHARDC_RETURN_IF_ERROR(checkWindow(
        c, kernel, d, s < 0 ? 0 : intAt(call, "pads", s + spatial, 0)));
    c.positions *= w.out[d];
    c.taps *= w.taps[d];
  }
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_IMAGE_CONVOLUTION_H
