//===- ViewRows.h - Copies of views without a kernel ----------------------===//
//
// A device's own copies move rows of equal length (Backend.h, CopyShape). They
// reach memory of another device, which kernels do not.
//
//   to [2, 3, 4] dense, from [2, 3, 4] with strides [64, 16, 1]
//   2 copies of 3 rows of 4 elements
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_VIEWROWS_H
#define SHARDC_RUNTIME_DEVICE_VIEWROWS_H

#include "runtime/device/Backend.h"

namespace shardc::runtime {

/// Enqueues copies of all elements from device to device. Both views have the
/// same dims and element type, of whole bytes; those of `to` lie apart.
/// InvalidArgument: they are too many.
Status copyRows(DeviceStream &stream, const TensorView &to,
                const TensorView &from);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_VIEWROWS_H
