//===- RankDevices.h - Which device each rank works on --------------------===//
//
// The ranks of this machine take its devices in order, or all of them the one
// that was asked for:
//
//   "cuda"     4 ranks, 4 GPUs: rank i on cuda:i
//   "cuda:1"   4 ranks on cuda:1
//   ""         what the artifact was compiled for
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_RANKDEVICES_H
#define SHARDC_RUNTIME_DEVICE_RANKDEVICES_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/Backend.h"
#include "runtime/launch/ProcessPlace.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What the user asked for.
struct DeviceChoice {
  std::string backend = "host";
  int number = -1; ///< of the device that all ranks share; -1: one each
};

/// "cuda" or "cuda:1"; InvalidArgument for anything else.
Status parseDevice(std::string_view text, DeviceChoice &choice);

/// Numbers of the devices that ranks with these places on their machine take,
/// by rank. Error: too few, or the one that was asked for is not there.
Status assignDevices(const DeviceChoice &choice,
                     std::span<const DeviceInfo> devices,
                     std::span<const int> places, std::vector<int> &numbers);

/// Which rank of its machine this process is, from the launcher's environment:
/// -1 where it does not say.
int placeOnMachine(const Environment &environment);

/// Devices whose memory the ranks of this process read and write.
struct MemoryDevices {
  std::string backend;
  std::vector<int> numbers; ///< that ranks are on, then those that all reach
  size_t ofRanks = 0;       ///< of them, those that ranks are on
};

class RankDevices {
public:
  /// Finds the backend. `asked`: "" for the artifact's `target`.
  Status choose(const std::string &asked, const std::string &target);
  /// Opens one device for each of `worldSize` ranks, or for rank `only` alone
  /// where this process is that rank (-1: all are here).
  Status open(int worldSize, int only);

  bool isHost() const { return choice.backend == "host"; }
  MemoryDevices memoryDevices() const;
  /// Of a rank that is here.
  Device &of(int worldRank) const {
    return *devices[static_cast<size_t>(worldRank)];
  }
  /// Kernels which the artifact needs and the device has not: the host's are
  /// called (HostCalls.h).
  std::vector<std::string> findHostKernels(const Artifact &artifact) const;

  /// A line for each two devices of this process that do not reach each other.
  std::vector<std::string> findUnreachable() const;

private:
  DeviceChoice choice;
  Backend *backend = nullptr;
  std::vector<std::unique_ptr<Device>> devices; ///< by world rank
  int numDevices = 0;                           ///< of this machine
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_RANKDEVICES_H
