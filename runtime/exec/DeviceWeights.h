//===- DeviceWeights.h - A rank's slices of the weights, on its device ----===//
//
// Each slice that the host has (WeightLoader.h) is copied once, whichever of
// the rank's programs use it. They go over in pieces of memory that a device
// copies best: while one travels, the host reads what comes next into another.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_DEVICEWEIGHTS_H
#define SHARDC_RUNTIME_EXEC_DEVICEWEIGHTS_H

#include "runtime/backend/DeviceBuffer.h"
#include "runtime/exec/WeightLoader.h"

#include <map>
#include <utility>

namespace shardc::runtime {

class DeviceWeights {
public:
  /// Points `weights.data` at the device's copies, which are there when this
  /// returns.
  Status upload(Device &device, DeviceStream &stream, RankWeights &weights);

  int64_t bytes() const { return total; }

private:
  /// By the host's: where it begins and its bytes, since one slice may be the
  /// beginning of another.
  using Slice = std::pair<const std::byte *, int64_t>;
  /// A slice on its way, and where it goes.
  struct Part {
    Slice slice;
    int64_t offset;
  };
  static Status send(Device &device, DeviceStream &stream, std::byte *to,
                     int64_t bytes, const std::vector<Part> &parts);
  std::map<Slice, const std::byte *> copies;
  std::vector<DeviceBuffer> memory; ///< one a program
  int64_t total = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_DEVICEWEIGHTS_H
