//===- Windows.h - Windows over an image ----------------------------------===//
//
//   image of 5 under a kernel of 3 by strides of 2, pads 1 and 0
//   windows begin at -1, 1: floor((5 + 1 - 3) / 2) + 1 = 2
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_WINDOWS_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_WINDOWS_H

#include "dialects/onnx/evaluate/microsoft/Definition.h"

namespace shardc::onnx::evaluate {

struct Windows {
  Shape kernel, strides, dilations, begins; ///< by spatial dim
  Shape image, counts;                      ///< sizes; windows

  /// Of an op's attributes; nothing where they do not fit. `first` is the first
  /// spatial dim of operand 0.
  static std::optional<Windows> of(const Definition &d, Index kernel,
                                   int64_t first);
  /// The place in the image of element `k` of window `o`, below 0 if it is
  /// beyond.
  int64_t place(size_t dim, int64_t o, int64_t k) const {
    const int64_t x = o * strides[dim] + k * dilations[dim] - begins[dim];
    return x < image[dim] ? x : -1;
  }
};

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_WINDOWS_H
