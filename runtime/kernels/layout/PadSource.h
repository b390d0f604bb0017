//===- PadSource.h - What stands at an index of a padded dim --------------===//
//
// For Pad on every backend.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_LAYOUT_PADSOURCE_H
#define SHARDC_RUNTIME_KERNELS_LAYOUT_PADSOURCE_H

#include "runtime/kernels/Dispatch.h"

namespace shardc::runtime::host {

inline constexpr int64_t kOutside = -1;

enum class PadMode { Constant, Reflect, Edge, Wrap };

inline Status readPadMode(const KernelCall &call, std::string_view kernel,
                          PadMode &mode) {
  const KernelAttribute *attribute = call.find("mode");
  const std::string_view text =
      attribute && !attribute->text.empty() ? attribute->text : "constant";
  constexpr std::string_view names[] = {"constant", "reflect", "edge", "wrap"};
  for (int i = 0; i < 4; ++i)
    if (text == names[i]) {
      mode = static_cast<PadMode>(i);
      return Status::ok();
    }
  return failure(kernel, "unknown mode '" + std::string(text) + "'");
}

/// The input index that `index` (possibly outside) stands for.
SHARDC_HOST_DEVICE inline int64_t sourceOf(PadMode mode, int64_t index,
                                           int64_t size) {
  if (index >= 0 && index < size)
    return index;
  switch (mode) {
  case PadMode::Constant:
    return kOutside;
  case PadMode::Edge:
    return index < 0 ? 0 : size - 1;
  case PadMode::Wrap:
    return (index % size + size) % size;
  case PadMode::Reflect:
    break;
  }
  if (size == 1)
    return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t folded = (index % period + period) % period;
  return folded < size ? folded : period - folded;
}

inline Status readPadding(const KernelCall &call, std::string_view kernel,
                          PadMode &mode) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 1));
  SHARDC_RETURN_IF_ERROR(readPadMode(call, kernel, mode));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const KernelAttribute *pads = call.find("pads");
  if (!pads || pads->numInts != 2 * x.rank)
    return failure(kernel, "pads must give a begin and an end for each dim");
  TensorView expected = x;
  bool needsSource = false;
  for (int d = 0; d < x.rank; ++d) {
    expected.dims[d] += pads->ints[d] + pads->ints[d + x.rank];
    needsSource |= x.dims[d] == 0 && expected.dims[d] > 0;
  }
  SHARDC_RETURN_IF_ERROR(expectLike(kernel, expected, out));
  if (needsSource && mode != PadMode::Constant && out.numElements() > 0)
    return failure(kernel, "an empty dim has no values to repeat");
  if (hasInput(call, 1))
    return expectElement(kernel, x.element, call.inputs[1]);
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_LAYOUT_PADSOURCE_H
