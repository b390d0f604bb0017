//===- DeviceWeights.h - A rank's slices of the weights, in their places --===//
//
// Each slice (WeightLoader.h) has one place, whichever of the rank's programs
// use it: on the host where it lies in its file, or memory that it is packed
// into, or none where products pack it for good (TransientBytes.h); on a device
// memory that it is copied to. Places are there at once, what comes to them later,
// in the order in which it is first read:
//
//   place(...)     what the load-time program reads is there; goes again
//   freePassing()  when that is over, unless a run reads it too
//   bring(...)     the rest of it, also beside a run (WeightFeed.h)
//
// To a device slices go in pieces of memory that it copies best: while one
// travels, the host reads, or packs, what comes next into another.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_DEVICEWEIGHTS_H
#define SHARDC_RUNTIME_WEIGHTS_DEVICEWEIGHTS_H

#include "runtime/device/DeviceBuffer.h"
#include "runtime/weights/SliceUses.h"
#include "runtime/weights/TransientBytes.h"
#include "runtime/weights/WeightLoader.h"

#include <map>

namespace shardc::runtime {

/// A slice on its way, and where it goes.
struct ComingSlice {
  const WeightSlice *slice;
  size_t number;  ///< in RankWeights of `program`
  uint64_t step;  ///< that reads it first
  int64_t offset; ///< in the memory of those that come together
};

/// Of slices that come together: those of one program.
struct ComingSlices {
  std::byte *to = nullptr;
  int64_t bytes = 0;
  std::vector<ComingSlice> list; ///< by step
  uint64_t end = 0;              ///< SliceUses::end
};

/// Follows slices on their way.
class WeightWatch {
public:
  virtual ~WeightWatch() = default;
  /// It is read next. The error ends it all.
  virtual Status begins(const ComingSlice &slice, uint64_t end) {
    (void)slice, (void)end;
    return Status::ok();
  }
  /// So many bytes of it are there, or on their way to the device.
  virtual void read(int64_t bytes) { (void)bytes; }
  /// Records `event` behind what was enqueued: all that is read before `step`.
  virtual Status sent(uint64_t step, DeviceStream &stream, DeviceEvent &event) {
    (void)step;
    return stream.record(event);
  }
  /// The same where it is there; no event is used any more.
  virtual void arrived(uint64_t step) { (void)step; }
};

class DeviceWeights {
public:
  /// Points `weights.data` at the places of all slices.
  Status place(Device &device, DeviceStream &stream, const SliceUses &uses,
               RankWeights &weights);
  /// The load-time program is over.
  void freePassing();

  /// Of all that is still to come.
  int64_t comingBytes() const;
  /// All that is still to come. `readsFiles`: also the pages of what stays
  /// where it lies in a file.
  Status bring(Device &device, DeviceStream &stream, bool readsFiles,
               WeightWatch &watch);

private:
  Status reserve(Device &device, ComingSlices &slices, DeviceBuffer &memory);
  bool isComing(const WeightSlice *slice) const;

  std::map<const WeightSlice *, std::byte *> places;
  std::map<const WeightSlice *, TransientSlice> transients; ///< a host's
  std::vector<DeviceBuffer> memory;
  std::vector<ComingSlices> coming; ///< by program
  // Of the program that is loaded.
  ComingSlices passing;
  DeviceBuffer passingMemory;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_DEVICEWEIGHTS_H
