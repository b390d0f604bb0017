//===- Roofline.h - What a device can do at best --------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_ROOFLINE_H
#define SHARDC_RUNTIME_DEVICE_ROOFLINE_H

#include "runtime/device/Backend.h"
#include "runtime/device/DeviceLimits.h"

namespace shardc::runtime {

/// Measures a copy that no cache holds and a product of large matrices of f32,
/// the best of several each: some tenths of a second. Ranks that share a
/// device's or a host's cores measure at the same time.
Status measureLimits(Device &device, DeviceStream &stream,
                     DeviceLimits &limits);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_ROOFLINE_H
