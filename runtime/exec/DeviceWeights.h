//===- DeviceWeights.h - A rank's slices of the weights, on its device ----===//
//
// Each slice that the host has (WeightLoader.h) is copied once, whichever of
// the rank's programs use it. They go over in pieces of memory that a device
// copies best: while one travels, the host reads, or packs, what comes next
// into another. What only a load-time program reads goes again when that is
// over.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_DEVICEWEIGHTS_H
#define SHARDC_RUNTIME_EXEC_DEVICEWEIGHTS_H

#include "runtime/backend/DeviceBuffer.h"
#include "runtime/exec/WeightLoader.h"

#include <map>

namespace shardc::runtime {

class DeviceWeights {
public:
  /// Points `weights.data` at the device's copies, which are there when this
  /// returns; `stay`, by slice, says which are read after loading.
  Status upload(Device &device, DeviceStream &stream,
                std::span<const char> stay, RankWeights &weights);
  /// The load-time program is over.
  void freePassing();

private:
  /// A slice on its way, and where it goes.
  struct Part {
    const WeightSlice *slice;
    int64_t offset;
  };
  Status sendAll(Device &device, DeviceStream &stream,
                 std::span<const WeightSlice *const> slices,
                 DeviceBuffer &memory);
  static Status send(Device &device, DeviceStream &stream, std::byte *to,
                     int64_t bytes, const std::vector<Part> &parts);

  std::map<const WeightSlice *, const std::byte *> copies;
  std::vector<DeviceBuffer> memory; ///< one a program
  // Of the program that is loaded.
  std::vector<const WeightSlice *> passing;
  DeviceBuffer passingMemory;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_DEVICEWEIGHTS_H
