//===- HostCalls.h - Kernels that a device lacks --------------------------===//
//
// Runs a kernel of the host for values of a device: they are copied over, the
// device waits, and what was computed is copied back. Right for any op that no
// one has written for the device, and as slow as that sounds.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RUNNER_HOSTCALLS_H
#define SHARDC_RUNTIME_RUNNER_HOSTCALLS_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/Staging.h"
#include "runtime/kernels/Kernel.h"

#include <set>
#include <string>
#include <vector>

namespace shardc::runtime {

class HostCalls {
public:
  /// Both live longer.
  HostCalls(Device &device, DeviceStream &stream)
      : device(device), stream(stream) {}

  /// `kernel` is the host's, the views are the device's. Waits for the stream;
  /// results are on their way when this returns.
  Status run(const Kernel &kernel, const KernelCall &call);

  /// An instruction that the device has a kernel for is run here nevertheless;
  /// `why` names it, too.
  void noteMoved(std::string why) { reasons.insert(std::move(why)); }
  const std::set<std::string> &moved() const { return reasons; }

private:
  Device &device;
  DeviceStream &stream;
  std::vector<Staging> copies; ///< by operand; kept, so that runs allocate once
  std::vector<TensorView> onHost;
  AlignedBuffer scratch;
  std::set<std::string> reasons;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RUNNER_HOSTCALLS_H
