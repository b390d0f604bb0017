//===- DeviceView.h - A caller's memory of a device -----------------------===//
//
// What a caller has bound there (api/CBinding.h), of any strides. The host never
// follows its address.
//
//   {{0x7000, float32, [2, 8], strides [16, 1]}, 1}   every other row, on cuda:1
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_DEVICEVIEW_H
#define SHARDC_RUNTIME_TENSOR_DEVICEVIEW_H

#include "runtime/tensor/TensorView.h"

namespace shardc::runtime {

struct DeviceView {
  TensorView view;
  int device = 0; ///< its number, of the backend of the ranks
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_DEVICEVIEW_H
