//===- DeviceBlocks.h - A rank's part of a caller's device memory ---------===//
//
// Blocks between memory that a caller has on some device and a rank's, on the
// rank's stream and never by way of the host: by kernels on the rank's own
// device, of which any strides and types are a matter, and by the device's
// copies of rows to and from another one.
//
//   rank 1 on cuda:1, x [4, 8] on cuda:0 split by columns: 4 rows of 4 elements
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_DEVICEBLOCKS_H
#define SHARDC_RUNTIME_DEVICE_DEVICEBLOCKS_H

#include "runtime/device/DeviceBuffer.h"
#include "runtime/tensor/DeviceView.h"
#include "runtime/tensor/Ownership.h"

#include <functional>
#include <span>
#include <vector>

namespace shardc::runtime {

class DeviceBlocks {
public:
  /// Both live longer. A kernel that is launched for the first time may be loaded
  /// then, which waits for the device and keeps other ranks of the process from
  /// launching what it waits for (RunControl::settles): before a launch of a new
  /// kind `settle` waits for all that the rank has enqueued.
  DeviceBlocks(Device &device, DeviceStream &stream,
               std::function<Status()> settle)
      : device(device), stream(stream), settle(std::move(settle)) {}

  /// Enqueues the copy of the block of `whole` that `dims`, one entry for each
  /// dim, describe; elements are cast where `local` is of another float type.
  /// What callers have enqueued there has to be done (waitForOthers).
  Status copyIn(const DeviceView &whole, std::span<const OwnedRuns> dims,
                const TensorView &local);
  /// The same the other way.
  Status copyOut(const DeviceView &whole, std::span<const OwnedRuns> dims,
                 const TensorView &local);

private:
  Status copy(const DeviceView &whole, std::span<const OwnedRuns> dims,
              const TensorView &local, bool into);
  Status copyRuns(std::span<const OwnedRuns> dims, int d,
                  const TensorView &global, const TensorView &local);
  Status copyBox(const TensorView &to, const TensorView &from);
  Status launch(const char *name, const TensorView &to, const TensorView &from);
  Status reserve(const TensorView &like, TensorView &dense);

  Device &device;
  DeviceStream &stream;
  const std::function<Status()> settle;
  std::vector<uint64_t> launched; ///< kinds, so far
  DeviceBuffer between; ///< what is cast on its way from or to another device
  // The copy at hand.
  bool isOwn = false;  ///< memory of the rank's device
  bool isInto = false; ///< the rank's memory
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_DEVICEBLOCKS_H
