//===- Transport.h - Messages between the processes of a run --------------===//
//
// One process is one rank. Between each pair there is a TCP connection, and on
// it any number of streams: messages in order, from both ends, each end with a
// few slots of memory that are reused. A sender that is as many messages ahead
// as there are slots waits; nothing is allocated once the slots have grown.
//
//   Stream &stream = transport.stream(/*peer=*/1, /*number=*/7, {.slots = 2});
//   std::byte *memory;                                    // rank 0
//   SHARDC_RETURN_IF_ERROR(stream.prepare(bytes, memory));
//   ... write them ...
//   stream.commit(bytes, /*tag=*/0);
//
//   SHARDC_RETURN_IF_ERROR(transport.wait(                // rank 1
//       [&] { return stream.hasArrived(); }, {}));
//   Arrived message = stream.front();
//   ... read it ...
//   stream.release();
//
// A thread of its own reads all connections, and writes what did not go at
// once. It also finds out who is gone:
//
//   a process that ended   its connection closes: noticed at once
//   one that was stopped, or whose machine is off
//                          it sends no sign of life for `silence`
//   one that failed        it says so, and why (abort)
//
// Whatever is found first is the error of all waits from then on, here and,
// since it is passed on, everywhere: a run of processes ends once and for all.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/base/Futex.h"
#include "runtime/transport/Meeting.h"
#include "runtime/transport/Stream.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <thread>

namespace shardc::runtime {

struct TransportOptions {
  std::chrono::milliseconds timeout{60'000}; ///< for all to come
  /// Without a sign of life for so long a process counts as stopped; 0: never.
  std::chrono::milliseconds silence{4'000};
  std::string secret = {};    ///< of the job (JobSecret.h); empty: none
  std::string interface = {}; ///< whose address to use (Meeting.h); empty: any
};

class Transport {
public:
  /// Returns when the processes are connected.
  static Status open(const ProcessPlace &place, const TransportOptions &options,
                     std::unique_ptr<Transport> &transport);
  /// Tells the others that this process needs them no more, unless the run has
  /// failed; what was sent is delivered.
  ~Transport();

  int rank() const { return place.rank; }
  int size() const { return place.size; }
  int kernelThreads() const { return threads; }

  /// The stream `number` with `peer`; made at the first call, or when the first
  /// message comes. Both ends use the same options.
  Stream &stream(int peer, uint32_t number, const StreamOptions &options);

  /// Waits until `ready` says yes. `deadline`: then Timeout comes back, as an
  /// error without text; whoever waits knows better what to say.
  template <typename Ready>
  Status wait(Ready ready, std::optional<Deadline> deadline) {
    while (true) {
      const uint32_t now = changes.load(std::memory_order_acquire);
      if (failed())
        return failure();
      if (ready())
        return Status::ok();
      if (!sleep(now, deadline))
        return timedOut();
    }
  }
  static bool isTimeout(const Status &status);
  /// Calls `wait(deadline)` again as long as some process gets on with its
  /// program: a wait for one that waits for others is no hang.
  template <typename Wait>
  Status waitPatiently(std::chrono::milliseconds patience, Wait wait) {
    for (Deadline since = std::chrono::steady_clock::now();;) {
      const Status status = wait(since + patience);
      const Deadline moved = lastProgress();
      if (!isTimeout(status) || moved <= since)
        return status;
      since = moved;
    }
  }
  /// Waits until a message has arrived on each of these.
  Status waitForMessages(std::span<Stream *const> streams,
                         std::optional<Deadline> deadline);

  /// This process cannot go on: all others end with that error. The first one
  /// counts; returns it.
  Status abort(const Status &status);
  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  Status failure() const;
  /// Who speaks for all to the user: the lowest rank that lives, as far as this
  /// one knows.
  bool isSpeaker() const;
  /// Waits until rank `peer` has ended, well or with an error.
  Status waitForEnd(int peer);

  /// How ranks are called in messages, and what this one is doing. Called from
  /// the transport's thread, until the next call of describe().
  struct Descriptions {
    std::function<std::string(int)> rank;
    std::function<std::string()> place;    ///< "in MatMul at node '/up'", or ""
    std::function<uint64_t()> progress;    ///< changes as long as it moves
    std::function<void(Status)> onFailure; ///< once, from any thread
  };
  void describe(Descriptions descriptions);
  std::string rankText(int rank) const;
  /// With what it was last known to do.
  std::string rankTextWithPlace(int rank) const;
  /// When `peer` last got on with its program, as far as this process knows.
  Deadline lastProgress(int peer) const;
  /// The same of whichever was last.
  Deadline lastProgress() const;

private:
  friend class Stream;
  struct Peer;
  Transport(const ProcessPlace &place, const TransportOptions &options);

  // Threads that send.
  void send(Peer &peer, Stream &stream, const FrameHeader &header,
            const std::byte *data);
  void sendText(Peer &peer, const FrameHeader &header, std::string text);
  static bool flush(Peer &peer); ///< under its outMutex; false: some is left
  static void drop(Peer &peer);  ///< likewise: nothing is sent any more
  void notify();                 ///< wakes who waits
  void wakeThread();             ///< it has something to write
  bool sleep(uint32_t seen, const std::optional<Deadline> &deadline);
  static Status timedOut();
  bool hasLeft(int peer) const;
  /// `lost`: the rank that is gone, -1 if none is.
  void fail(const Status &status, int lost);

  // The transport's own thread (TransportThread.cpp).
  void run();
  void loop();
  void handle(std::span<const pollfd> polled);
  void read(Peer &peer);
  void takeStaged(Peer &peer);
  bool beginFrame(Peer &peer);
  Stream *streamOf(Peer &peer);
  void endFrame(Peer &peer);
  void lose(Peer &peer, const std::string &how);
  void sendSigns(Deadline now);
  void forgiveIfStopped(Deadline now);
  bool missesSigns(const Peer &peer, Deadline now) const;
  void findSilent(Deadline now);
  void linger();

  const ProcessPlace place;
  const TransportOptions options;
  int threads = 1;
  std::vector<std::unique_ptr<Peer>> peers; ///< by rank; null: this one
  int wakeDescriptor = -1;

  FutexWord changes = 0;
  std::atomic<int> waiters = 0;
  std::atomic<bool> hasFailed = false, closing = false;
  mutable std::mutex failureMutex; ///< of the next two
  Status first;
  int speaker = 0; ///< lowest rank that lived when the run failed
  mutable std::mutex descriptionMutex;
  Descriptions descriptions;
  Deadline lastSigns, lastLook; ///< of the thread
  std::thread thread;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
