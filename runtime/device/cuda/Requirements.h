//===- Requirements.h - What a GPU and its driver must offer --------------===//
//
// Plain numbers in, an error out: what is decided here is tested without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_REQUIREMENTS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_REQUIREMENTS_H

#include "runtime/base/Status.h"

#include <string>

namespace shardc::runtime {

/// Versions as CUDA counts them: 13000 is 13.0.
struct DriverFacts {
  int driverVersion = 0; ///< 0: no driver is installed
  int builtWith = 0;     ///< of the toolkit
  int devices = 0;
};

/// Oldest compute capability that the plugin has kernels for.
inline constexpr int kOldestMajor = 8, kOldestMinor = 0;

/// "13.0"
std::string cudaVersionText(int version);

/// No driver, one that is too old, or no GPU that it shows.
Status checkDriver(const DriverFacts &facts);

/// Why a GPU of that compute capability cannot be used; empty: it can.
std::string deviceRefusal(int major, int minor);

/// The NCCL that was loaded against the one that the plugin was built with;
/// versions as NCCL counts them: 22809 is 2.28.9.
Status checkNccl(int loaded, int builtWith);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_REQUIREMENTS_H
