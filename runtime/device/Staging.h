//===- Staging.h - Values of a device, for the host -----------------------===//
//
// What the host has to read or write of a device's memory goes through memory
// of its own: sizes that data decide on, outputs, and what collectives and
// transfers of the host move for a device that has none.
//
//   Staging staging(device, stream);
//   TensorView onHost;
//   SHARDC_RETURN_IF_ERROR(staging.fetch(view, onHost));   // waits
//   readInteger(onHost, 0);
//
// Where the device is the host, a view is its own copy.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_STAGING_H
#define SHARDC_RUNTIME_DEVICE_STAGING_H

#include "runtime/collectives/StageChannel.h"
#include "runtime/device/DeviceBuffer.h"

namespace shardc::runtime {

/// Holds one value at a time, in memory that grows and is kept.
class Staging {
public:
  /// Both live longer.
  Staging(Device &device, DeviceStream &stream)
      : device(device), stream(stream) {}

  /// The elements of `view` where the host can read them. Waits for the stream.
  Status fetch(const TensorView &view, TensorView &onHost);
  /// The same of several, each with a Staging of its own: the elements are
  /// there once the stream was waited for.
  Status startFetch(const TensorView &view, TensorView &onHost);
  /// Room for the elements of `view`, to be written and then stored.
  Status prepare(const TensorView &view, TensorView &onHost);
  /// Enqueues the copy of what prepare gave. Elements between those of a
  /// strided view stay as they are; the stream is waited for to that end.
  Status store(const TensorView &onHost, const TensorView &view);

private:
  Status reserve(DeviceBuffer &buffer, int64_t bytes);
  Status startInto(DeviceBuffer &buffer, const TensorView &view,
                   TensorView &onHost);

  Device &device;
  DeviceStream &stream;
  DeviceBuffer memory;
  DeviceBuffer around; ///< a strided view with what lies between its elements
};

/// Collectives of the host for values of a device that has none. `host` lives
/// longer.
std::unique_ptr<Communicator>
stageCommunicator(Communicator &host, Device &device, DeviceStream &stream);

/// The group's collectives for values of the device: its own, or those of
/// place.host. All ranks of the group call this together.
Status joinGroup(const GroupPlace &place, Device &device, DeviceStream &stream,
                 std::unique_ptr<Communicator> &communicator);

/// A channel of the host for values of a device. `host` lives longer.
std::unique_ptr<StageChannel> stageChannel(StageChannel &host, Device &device,
                                           DeviceStream &stream);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_STAGING_H
