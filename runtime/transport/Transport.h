//===- Transport.h - Messages between the processes of a run --------------===//
//
// One process is one rank. Between each pair there is a TCP connection, and any
// number of streams: messages in order, from both ends, each end with a few
// slots of memory that are reused. A sender that is as many messages ahead as
// there are slots waits; nothing is allocated once the slots have grown. Between
// machines messages go over the connection, or an engine carries them
// (EngineStream.h); within one they lie in memory that both have
// (MemoryStream.h). Then the connection is for all else below.
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
// Short of that a request may fail, and the next one goes well (Settlement.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H

#include "runtime/transport/Bell.h"
#include "runtime/transport/EngineOffer.h"
#include "runtime/transport/Meeting.h"
#include "runtime/transport/Settlement.h"
#include "runtime/transport/SharedFile.h"
#include "runtime/transport/SocketStream.h"

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
  /// With processes of this machine, messages stay in memory that both have.
  bool sharesMemory = true;
  /// What carries messages to all others.
  NetworkKind network = NetworkKind::Tcp;
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
  Status wait(Ready ready, std::optional<Deadline> deadline,
              bool isOfRequest = true) {
    for (Spin spin(spinTime);;) {
      const uint32_t now = bell->now();
      if (failed())
        return failure();
      if (isOfRequest && requestFailed())
        return requestFailure();
      if (ready())
        return Status::ok();
      if (!spin.goesOn([this] { makeWay(); }) && !sleep(now, deadline))
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
  /// Waits until a message has arrived on each of these, all of one kind.
  Status waitForMessages(std::span<Stream *const> streams,
                         std::optional<Deadline> deadline);

  /// This process cannot go on: all others end with that error. The first one
  /// counts; returns it.
  Status abort(const Status &status);
  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  Status failure() const;

  // Requests (TransportRequests.cpp).
  /// Without a session, or while one is opened, none fails by itself. Closed: no
  /// thread of this process uses streams of requests.
  void openRequests(bool areOpen);
  /// Before this process begins one; the next number, or a later one. False:
  /// takeSettlement first. `endsAlone`: its failure is not that of all.
  bool beginRequest(uint64_t number, bool endsAlone);
  /// No thread of this process is at it any more. Whether it has failed, here or
  /// elsewhere: takeSettlement then says more.
  bool endRequest(bool isDone);
  /// This process cannot go on with the request at hand, which ends; where there
  /// is none, or none that ends alone, all ends. The first error counts; returns
  /// it.
  Status end(const Status &status);
  bool requestFailed() const {
    return requestHasFailed.load(std::memory_order_acquire);
  }
  Status requestFailure() const;
  uint64_t lastRequest() const; ///< that began here
  bool isSettling() const;      ///< takeSettlement has something to wait for
  /// Waits until all have settled, patiently: whoever does not ends all.
  Status takeSettlement(std::chrono::milliseconds patience, Settlement &found);

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
    std::function<void(Status)> onFailure; ///< from any thread
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
  friend class SocketStream;
  friend class MemoryStream;
  friend class EngineStream;
  struct Peer;
  class EngineSink;
  Transport(const ProcessPlace &place, const TransportOptions &options);
  Status shareMemory(const Meeting &meeting, Deadline deadline,
                     std::vector<std::unique_ptr<PeerFile>> &files);

  // Threads that send.
  void send(Peer &peer, SocketStream &stream, const FrameHeader &header,
            const std::byte *data);
  void sendText(Peer &peer, const FrameHeader &header, std::string text);
  static bool flush(Peer &peer); ///< under its outMutex; false: some is left
  static void drop(Peer &peer);  ///< likewise: nothing is sent any more
  void notify();                 ///< wakes who waits
  void wakeThread();             ///< it has something to write
  bool sleep(uint32_t seen, const std::optional<Deadline> &deadline);
  void makeWay();
  static Status timedOut();
  /// Well: of one that is lost the transport's thread is about to say how.
  bool hasLeft(int peer) const;
  /// `lost`: the rank that is gone, -1 if none is.
  void fail(const Status &status, int lost);

  // Of requests; with requestMutex held.
  void noteFailure(RequestRound &round, uint64_t number, const Status &status,
                   int rank);
  void findWhetherFailed();
  void count(RequestRound &round, const RequestCounts &counts, bool isFirst);
  void settleMine();
  void takeBack(Peer &peer);
  void finishRound();
  void takeFailure(Peer &peer);
  void takeSettled(Peer &peer);
  Status unsettled() const;

  // Of the engine (TransportEngine.cpp).
  void progressEngine();
  void takeEngineProblems(Deadline now);
  void sayGoodbyeToEngine();

  // The transport's own thread (TransportThread.cpp).
  void run();
  void loop();
  void handle(std::span<const pollfd> polled);
  void readAll(Peer &peer);
  void readAwake();
  void writeAwake(Peer &peer);
  void leaveToThread(Peer &peer);
  bool areOthersReading(Deadline now) const;
  bool read(Peer &peer, bool all);
  void takeStaged(Peer &peer, bool all);
  bool beginFrame(Peer &peer);
  Stream *streamOf(Peer &peer, const FrameHeader &header);
  void refuse(Peer &peer, const FrameHeader &header);
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
  Outbox outbox; ///< of this process, for those of this machine
  std::vector<std::unique_ptr<Peer>> peers; ///< by rank; null: this one
  std::unique_ptr<EngineSink> sink;
  std::unique_ptr<MessageEngine> engine; ///< null: there is none
  int wakeDescriptor = -1;

  Bell ownBell, *bell = &ownBell; ///< that of the outbox, if there is one
  std::vector<OutboxHead *> neighbours;
  bool hasDistant = false; ///< some messages go over connections
  std::atomic<Deadline> lastAwake = Deadline(); ///< who waits, and reads them
  std::atomic<bool> rests = false;  ///< the transport's thread, meanwhile
  Deadline largeUntil = Deadline(); ///< it does not, until then
  std::mutex readMutex;             ///< of those; before all others
  std::chrono::nanoseconds spinTime{0};
  std::atomic<bool> hasFailed = false, closing = false;
  mutable std::mutex failureMutex; ///< of the next two
  Status first;
  int speaker = 0; ///< lowest rank that lived when the run failed
  mutable std::mutex requestMutex; ///< of what follows; before all others
  uint64_t begun = 0, done = 0, told = 0;
  bool isQuiet = false;   ///< nothing of this process is at a request
  bool mayGoOn = false;   ///< after the one at hand, if it fails
  bool isSettled = false; ///< this process, in this round
  uint32_t rounds = 0;    ///< that are over
  RequestRound round, nextRound;
  std::vector<Settlement> settlements; ///< that nobody has taken yet
  std::atomic<bool> requestHasFailed = false;

  mutable std::mutex descriptionMutex;
  Descriptions descriptions;
  Deadline lastSigns, lastLook; ///< of the thread
  std::thread thread;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORT_H
