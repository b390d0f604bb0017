//===- DeviceLimits.h - What a device does at best ------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_DEVICELIMITS_H
#define SHARDC_RUNTIME_DEVICE_DEVICELIMITS_H

namespace shardc::runtime {

/// What a rank's device does at best: measured, with all ranks at it.
struct DeviceLimits {
  double bytesPerSecond = 0;
  double multiplyAddsPerSecond = 0; ///< in f32; 0: not known
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_DEVICELIMITS_H
