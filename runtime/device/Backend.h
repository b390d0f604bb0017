//===- Backend.h - Devices behind one interface ---------------------------===//
//
// A backend offers devices, a device memory, streams, events, kernels and
// communicators. `host` is built in; any other is a plugin (Plugin.h). The
// runtime knows no more of a device than what stands here:
//
//   device.allocate(MemoryKind::Device, 1 << 20)      addresses of the device
//   stream.copy(arena, input, {bytes}, HostToDevice)
//   stream.launch(kernel, call, site)                 in order, not yet done
//   stream.copy(staging, arena, {bytes}, DeviceToHost)
//   stream.synchronize()                              now the host may read
//
// Invariants:
// - The host never follows an address of device memory unless isHost() says
//   that it may; offsets are added to it all the same.
// - Work of one stream is done in order. Work of two is not, but for events.
// - What is enqueued may fail later: the next synchronize of its stream says
//   so, and what was enqueued behind it counts for nothing.
// - Sizes of 0 are legal everywhere and do nothing.
// - What a graph was captured with lies where it was, as long as it runs.
// - Objects are used by one thread at a time, but any thread; a device by
//   several at once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_BACKEND_H
#define SHARDC_RUNTIME_DEVICE_BACKEND_H

#include "runtime/collectives/StageChannel.h"
#include "runtime/device/GrowingMemory.h"
#include "runtime/device/KernelLibrary.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

class Device;

/// What is known of a device without opening it.
struct DeviceInfo {
  int number = 0;           ///< among those of its backend
  std::string name;         ///< "NVIDIA H200"
  std::string architecture; ///< "sm_90"; what kernels are compiled for
  int64_t memoryBytes = 0;
  int64_t freeBytes = 0; ///< when it was opened; 0: it was not
  std::string refusal;   ///< why it cannot be used; empty: it can
};

enum class MemoryKind {
  Device,  ///< what kernels work on
  Staging, ///< the host's, from and to which a device copies best
};

enum class CopyDirection { HostToDevice, DeviceToHost, DeviceToDevice };

/// Rows of equal length, each so many bytes behind the one before it.
struct CopyShape {
  int64_t rowBytes = 0;
  int64_t rows = 1;
  int64_t toPitch = 0; ///< not looked at where there is one row
  int64_t fromPitch = 0;
};

/// A point in a stream's work, once it was recorded there.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;

  /// Blocks the host until the event is over; at once if it was never recorded.
  /// What failed is said by its stream's synchronize.
  virtual Status synchronize() = 0;
};

/// Work of a stream that was captured. Destroyed before the stream, while it
/// does not run.
class DeviceGraph {
public:
  virtual ~DeviceGraph() = default;
};

/// Something that a device did.
struct DeviceActivity {
  std::string name;           ///< of its kernel, or "copy"
  uint64_t tag = 0;           ///< that it was enqueued under
  int64_t begin = 0, end = 0; ///< nanoseconds of std::chrono::steady_clock
};

/// Work in order, beside the host's. Destroyed when all of it is done.
class DeviceStream {
public:
  virtual ~DeviceStream() = default;

  /// What errors of its work begin with: "rank 3: ".
  std::string owner;

  /// Memory of the host must stay as it is until the copy is done.
  virtual Status copy(std::byte *to, const std::byte *from,
                      const CopyShape &shape, CopyDirection direction) = 0;

  /// Runs a kernel of the same device. Views and attributes may be gone when
  /// this returns, what they point to not. `site` is what errors name.
  virtual Status launch(const Kernel &kernel, const KernelCall &call,
                        const CollectiveSite &site) = 0;

  /// The event is behind all work so far; an earlier record of it is forgotten.
  virtual Status record(DeviceEvent &event) = 0;
  /// Later work of this stream waits for the event, the host does not. An
  /// event that was never recorded is over.
  virtual Status wait(const DeviceEvent &event) = 0;

  /// Later work of this stream waits for what others of the process, beside the
  /// runtime, have enqueued so far on that device of the same backend, where it
  /// has a stream that all of them know: of CUDA the legacy default one.
  virtual Status waitForOthers(int device) {
    (void)device;
    return Status::ok();
  }

  /// Blocks until all work is done; the first error of it, if there was one.
  virtual Status synchronize() = 0;

  // What a device did when, without waiting for each part of it:
  //
  //   stream.startTrace()              once; false: it has no clock of its own
  //   stream.beginTag(7), stream.launch(...), stream.endTag()
  //   stream.synchronize(), stream.takeActivities(list)

  virtual bool startTrace() { return false; }
  /// What this thread enqueues up to endTag, also by communicators, is noted
  /// under a tag below 2^48.
  virtual void beginTag(uint64_t tag) { (void)tag; }
  virtual void endTag() {}
  /// Adds what was noted, in any order. No stream of the process has work.
  virtual Status takeActivities(std::vector<DeviceActivity> &activities) {
    (void)activities;
    return Status::ok();
  }

  // Work that is the same each time, addresses included, costs less as a graph:
  //
  //   stream.beginCapture()
  //   stream.launch(...), ...          kept, and not done
  //   stream.endCapture(graph)
  //   stream.run(*graph)               as often as one likes
  //
  // A graph fails as its launches do, and errors name their sites. Where only
  // some of its launches change, these are set anew:
  //
  //   stream.beginUpdate(*graph)
  //   stream.launch(...), ...          with the sites that they had
  //   stream.endUpdate()

  virtual bool canCapture() const { return false; }
  /// Until endCapture, which the same thread calls, copies, launches and
  /// operations of communicators that can be captured (isCapturable) are kept.
  /// Nobody may wait for the stream or allocate, and events are refused.
  virtual Status beginCapture() { return cannotCapture(); }
  /// The error: it could not be captured, and nothing of it is kept.
  virtual Status endCapture(std::unique_ptr<DeviceGraph> &graph) {
    graph.reset();
    return cannotCapture();
  }
  /// As beginCapture; until endUpdate launches take the place of those that the
  /// graph has of the same instructions (CollectiveSite). The graph may be
  /// running: its next run is the first that has them.
  virtual Status beginUpdate(DeviceGraph &graph) {
    (void)graph;
    return cannotCapture();
  }
  /// The error: the graph has no launches like these, and may not be run any
  /// more.
  virtual Status endUpdate() { return cannotCapture(); }
  /// Enqueues a graph of this stream.
  virtual Status run(DeviceGraph &graph) {
    (void)graph;
    return cannotCapture();
  }

private:
  static Status cannotCapture() {
    return Status::error(StatusCode::Artifact,
                         "work of this device cannot be captured");
  }
};

/// A rank among those of its group, for a device's communicator.
struct GroupPlace {
  std::span<const int> members; ///< world ranks, in the group's order
  int index = 0;
  /// The same group over the host's memory or network: what tells unique ids.
  /// Lives longer than the device's.
  Communicator *host = nullptr;
  std::chrono::milliseconds timeout{0};
  /// Says where a world rank is, for messages.
  std::function<std::string(int)> describeRank;
  /// Whether some rank has failed, so that nobody need wait for long; may be
  /// empty. Any thread asks.
  std::function<bool()> hasFailed = {};
  /// Changes as long as some rank gets on, for which it is worth waiting longer
  /// than `timeout`; may be empty. Any thread asks.
  std::function<uint64_t()> progress = {};
};

/// One way from a rank's device to that of a rank of a later stage.
class DeviceLink {
public:
  virtual ~DeviceLink() = default;

  /// A channel for a value of the two stages' programs. Both sides create their
  /// ends, over the two ends of a channel of the host with so many slots, which
  /// lives longer, as the link does. Values are received in the order in which
  /// they are sent, those of all its channels together.
  virtual std::unique_ptr<StageChannel> createChannel(StageChannel &host,
                                                      size_t slots) = 0;

  /// Waits until the other side has all that was sent, or this one all that it
  /// receives: the last of a run is not lost when a rank ends. Ends without
  /// that where the other one has failed.
  virtual Status drain() = 0;

  /// After a run that failed, before the next one: forgets what is under way.
  /// Called by both ranks at the same time, with their group as createLink had
  /// it.
  virtual Status restart(Communicator &host) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceInfo &info() const = 0;

  /// Whether what is on this one comes to that one of the same backend by itself;
  /// else the host has to pass it on.
  virtual bool canReach(int device) const {
    (void)device;
    return true;
  }

  /// Whether a caller's address is in memory of that device of the same backend, as
  /// he says, as far as that can be told: InvalidArgument, where it is not.
  virtual Status checkMemory(const std::byte *memory, int device) const {
    (void)memory, (void)device;
    return Status::ok();
  }

  /// The host may use device memory, and work is done when its call returns.
  virtual bool isHost() const { return false; }

  /// Uninitialised memory aligned to kBufferAlignment, or null. Not null for 0
  /// bytes.
  [[nodiscard]] virtual std::byte *allocate(MemoryKind kind, int64_t bytes) = 0;
  /// No stream may still have work that touches it. Null is nothing.
  virtual void release(MemoryKind kind, std::byte *memory) = 0;
  /// Device memory that grows to so many bytes: all there at once where the
  /// device has no pages, or where it would be less than one. Null: there is no
  /// room, not even for addresses. The device lives longer.
  [[nodiscard]] virtual std::unique_ptr<GrowingMemory>
  reserve(int64_t bytes) = 0;

  virtual Status createStream(std::unique_ptr<DeviceStream> &stream) = 0;
  virtual Status createEvent(std::unique_ptr<DeviceEvent> &event) = 0;

  /// Null if the device has none of that name. Lives as long as the backend.
  virtual const Kernel *findKernel(std::string_view name) const = 0;

  /// The kernels of an artifact in the form that suits this device; the file
  /// stays as it is. Artifact: there is none, and what to do.
  virtual Status loadKernels(const KernelFiles &files,
                             std::unique_ptr<KernelLibrary> &library) = 0;

  /// Called by all ranks of the group at the same time, each with its device.
  /// Operations are enqueued on `stream`, which lives longer; they return
  /// before they are done. Null: values go through the host.
  virtual Status
  createCommunicator(const GroupPlace &place, DeviceStream &stream,
                     std::unique_ptr<Communicator> &communicator) {
    (void)place, (void)stream;
    communicator.reset();
    return Status::ok();
  }

  /// Called by both ranks of the pair at the same time, sender first in the
  /// group, which is there for this call. `stream`, which lives longer,
  /// computes what is sent and reads what has come. Null: values go through the
  /// host.
  virtual Status createLink(const GroupPlace &pair, DeviceStream &stream,
                            std::unique_ptr<DeviceLink> &link) {
    (void)pair, (void)stream;
    link.reset();
    return Status::ok();
  }
};

class Backend {
public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  /// All there are, also those that are refused, none of which is opened: that
  /// takes memory of a GPU. The error: why there can be none at all (no
  /// driver).
  virtual Status findDevices(std::vector<DeviceInfo> &devices) = 0;
  /// Several may open one device, each gets its own.
  virtual Status open(int number, std::unique_ptr<Device> &device) = 0;
};

/// The host's: one device, always there.
Backend &hostBackend();

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_BACKEND_H
