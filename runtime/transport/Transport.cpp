#include "runtime/transport/Transport.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"
#include "runtime/transport/EngineStream.h"
#include "runtime/transport/ErrorText.h"
#include "runtime/transport/MemoryStream.h"
#include "runtime/transport/Neighbours.h"
#include "runtime/transport/TransportEngine.h"
#include "runtime/transport/TransportPeer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace shardc::runtime {

using Clock = std::chrono::steady_clock;

/// As long as it takes to fall asleep and to be woken, about.
static constexpr std::chrono::microseconds kSpin{50};

Transport::Transport(const ProcessPlace &place, const TransportOptions &options)
    : place(place), options(options) {}

Status Transport::open(const ProcessPlace &place,
                       const TransportOptions &options,
                       std::unique_ptr<Transport> &transport) {
  std::unique_ptr<Transport> opened(new Transport(place, options));
  Meeting meeting;
  const Deadline deadline = Clock::now() + options.timeout;
  SHARDC_RETURN_IF_ERROR(meet(
      place, {options.timeout, JobSecret(options.secret), options.interface},
      meeting));
  std::vector<std::unique_ptr<PeerFile>> files;
  SHARDC_RETURN_IF_ERROR(opened->shareMemory(meeting, deadline, files));
  opened->sink = std::make_unique<EngineSink>(*opened);
  SHARDC_RETURN_IF_ERROR(
      openEngine(options.network, *opened->sink, opened->engine));
  // The engine calls its sink at the first progress, in the thread below.
  SHARDC_RETURN_IF_ERROR(connectEngine(options.network, opened->engine.get(),
                                       meeting.peers, files, deadline));
  opened->threads = meeting.kernelThreads;
  const Deadline now = Clock::now();
  opened->lastSigns = opened->lastLook = now;
  for (int rank = 0; rank < place.size; ++rank) {
    opened->peers.emplace_back();
    if (rank == place.rank)
      continue;
    auto &socket = meeting.peers[static_cast<size_t>(rank)];
    auto &file = files[static_cast<size_t>(rank)];
    const bool hasEngine = opened->engine && !file;
    opened->peers.back() = std::make_unique<Peer>(rank, std::move(socket),
                                                  std::move(file), hasEngine);
    opened->peers.back()->heard = now;
    opened->peers.back()->progressed = now;
  }
  opened->wakeDescriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (opened->wakeDescriptor < 0)
    return artifactError("cannot create an event: ", std::strerror(errno));
  // std::thread reports a failure by an exception only; it ends here.
  try {
    opened->thread = quietThread([at = opened.get()] { at->run(); });
  } catch (const std::system_error &error) {
    return artifactError("cannot start a thread: ", error.what());
  }
  transport = std::move(opened);
  return Status::ok();
}

Status Transport::shareMemory(const Meeting &meeting, Deadline deadline,
                              std::vector<std::unique_ptr<PeerFile>> &files) {
  const Status made = options.sharesMemory ? outbox.create() : Status::ok();
  Neighbours found;
  SHARDC_RETURN_IF_ERROR(
      findNeighbours(meeting.peers, outbox, made, deadline, found));
  files = std::move(found.files);
  if (!found.problem.empty())
    std::fprintf(
        stderr,
        "shardrt: warning: rank %d shares no memory with %s; what they "
        "send each other goes over TCP\n",
        place.rank, found.problem.c_str());
  for (const auto &file : files)
    if (file)
      neighbours.push_back(&file->head());
  hasDistant = static_cast<int>(neighbours.size()) < place.size - 1;
  spinTime = kSpin;
  if (outbox.isOpen())
    bell = &outbox.head().bell;
  return Status::ok();
}

Transport::~Transport() {
  if (thread.joinable()) {
    if (!failed()) {
      if (engine)
        sayGoodbyeToEngine();
      for (auto &peer : peers)
        if (peer)
          sendText(*peer, {.kind = FrameKind::Goodbye}, "");
    }
    describe({});
    closing.store(true);
    wakeThread();
    thread.join();
  }
  if (wakeDescriptor >= 0)
    close(wakeDescriptor);
}

Stream &Transport::stream(int peer, uint32_t number,
                          const StreamOptions &streamOptions) {
  Peer &other = *peers[static_cast<size_t>(peer)];
  std::lock_guard lock(other.streamMutex);
  std::unique_ptr<Stream> &found = other.streams[number];
  if (!found && other.memory)
    found = std::make_unique<MemoryStream>(*this, peer, number, streamOptions,
                                           outbox, *other.memory, other.epoch);
  else if (!found && other.hasEngine)
    found = std::make_unique<EngineStream>(*this, peer, number, streamOptions,
                                           *engine, other.epoch,
                                           other.messagesSent);
  else if (!found)
    found = std::make_unique<SocketStream>(*this, peer, number, streamOptions);
  return *found;
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

/// Gives the system as much as it takes.
bool Transport::flush(Peer &peer) {
  for (; peer.firstOut < peer.out.size(); ++peer.firstOut) {
    PendingFrame &frame = peer.out[peer.firstOut];
    while (frame.written < frame.bytes()) {
      iovec parts[2];
      size_t count = 0;
      const size_t head = sizeof frame.header;
      if (frame.written < head)
        parts[count++] = {reinterpret_cast<char *>(&frame.header) +
                              frame.written,
                          head - frame.written};
      const size_t done = frame.written > head ? frame.written - head : 0;
      if (frame.header.bytes > done)
        parts[count++] = {const_cast<std::byte *>(frame.body()) + done,
                          frame.header.bytes - done};
      msghdr message = {};
      message.msg_iov = parts;
      message.msg_iovlen = count;
      const ssize_t sent = sendmsg(peer.socket.descriptor(), &message,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0)
        frame.written += static_cast<size_t>(sent);
      else if (errno == EAGAIN)
        return false;
      else if (errno != EINTR) {
        drop(peer);
        return true;
      }
    }
    if (frame.stream && frame.header.kind == FrameKind::Data)
      frame.stream->noteWritten();
  }
  peer.out.clear();
  peer.firstOut = 0;
  return true;
}

/// The connection is broken: what comes after half a frame would be taken for
/// the rest of it. Whoever reads, at both ends, finds that it is closed.
void Transport::drop(Peer &peer) {
  shutdown(peer.socket.descriptor(), SHUT_RDWR);
  for (; peer.firstOut < peer.out.size(); ++peer.firstOut) {
    const PendingFrame &frame = peer.out[peer.firstOut];
    if (frame.stream && frame.header.kind == FrameKind::Data)
      frame.stream->noteWritten();
  }
  peer.out.clear();
  peer.firstOut = 0;
}

void Transport::send(Peer &peer, SocketStream &stream,
                     const FrameHeader &header, const std::byte *data) {
  {
    std::lock_guard lock(peer.outMutex);
    peer.out.push_back({header, data, "", &stream, 0});
    if (peer.firstOut == 0 && peer.out.size() == 1 && flush(peer))
      return;
  }
  // Else whoever sends waits soon, and goes on; the thread looks again, too.
  if (!rests.load())
    wakeThread();
}

void Transport::sendText(Peer &peer, const FrameHeader &header,
                         std::string text) {
  FrameHeader complete = header;
  complete.bytes = text.size();
  {
    std::lock_guard lock(peer.outMutex);
    peer.out.push_back({complete, nullptr, std::move(text), nullptr, 0});
    if (peer.firstOut == 0 && peer.out.size() == 1 && flush(peer))
      return;
  }
  wakeThread();
}

void Transport::wakeThread() {
  const uint64_t one = 1;
  (void)!write(wakeDescriptor, &one, sizeof one);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

void Transport::notify() { bell->ring(); }

/// False at the deadline.
bool Transport::sleep(uint32_t seen, const std::optional<Deadline> &deadline) {
  std::chrono::nanoseconds left = kForever;
  if (deadline) {
    left = *deadline - Clock::now();
    if (left.count() <= 0)
      return false;
  }
  if (hasDistant) {
    lastAwake.store(Deadline());
    if (rests.load())
      wakeThread();
  }
  bell->sleepWhile(seen, left);
  return true;
}

/// Two that wait for each other are found on one core, where the system lets the
/// one run that the other one wakes: whoever is awake there keeps the other from
/// sending anything.
void Transport::makeWay() {
  if (hasDistant) {
    lastAwake.store(Clock::now());
    readAwake();
    if (engine)
      progressEngine();
    sched_yield(); // they may be as near
  }
  if (neighbours.empty())
    return;
  const int core = sched_getcpu();
  outbox.head().core.store(core, std::memory_order_relaxed);
  for (const OutboxHead *neighbour : neighbours)
    if (neighbour->core.load(std::memory_order_relaxed) == core) {
      sched_yield();
      return;
    }
}

static const char *const kTimedOut = "timed out";

Status Transport::timedOut() { return artifactError(kTimedOut); }

bool Transport::isTimeout(const Status &status) {
  return status.message() == kTimedOut;
}

Status Transport::waitForMessages(std::span<Stream *const> streams,
                                  std::optional<Deadline> deadline) {
  int gone = -1;
  auto areThere = [&] {
    for (Stream *stream : streams) {
      // What it sent before it left counts.
      const bool left = hasLeft(stream->otherRank());
      if (stream->hasArrived())
        continue;
      gone = left ? stream->otherRank() : -1;
      return left;
    }
    return true;
  };
  const bool isOfRequest = streams.empty() || streams.front()->isOfRequests();
  SHARDC_RETURN_IF_ERROR(wait(areThere, deadline, isOfRequest));
  if (gone < 0)
    return Status::ok();
  return abort(artifactError(rankText(gone), " has ended its session, but ",
                             rankText(place.rank), " waits for it")
                   .at({.rank = gone}));
}

Status Transport::waitForEnd(int peer) {
  return wait([&] { return hasLeft(peer); }, std::nullopt);
}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

/// The others are told also of what was heard from one of them: whoever ends
/// has to say why, or it is taken for dead by those that have not heard yet.
void Transport::fail(const Status &status, int lost) {
  if (lost >= 0 && lost != place.rank && lost < place.size)
    peers[static_cast<size_t>(lost)]->state = Peer::State::Lost;
  {
    std::lock_guard lock(failureMutex);
    if (hasFailed.load())
      return;
    first = status;
    const Deadline now = Clock::now();
    for (speaker = 0; speaker < place.rank; ++speaker)
      if (const Peer &peer = *peers[static_cast<size_t>(speaker)];
          peer.state == Peer::State::Alive && !missesSigns(peer, now))
        break;
    hasFailed.store(true, std::memory_order_release);
  }
  FrameHeader header{.kind = FrameKind::Abort};
  header.taken = static_cast<uint64_t>(lost + 1);
  header.tag = static_cast<uint64_t>(status.code());
  for (auto &peer : peers)
    if (peer && peer->state == Peer::State::Alive)
      sendText(*peer, header, textOf(status));
  notify();
  std::lock_guard lock(descriptionMutex);
  if (descriptions.onFailure)
    descriptions.onFailure(status);
}

Status Transport::abort(const Status &status) {
  fail(status, -1);
  return failure();
}

Status Transport::failure() const {
  std::lock_guard lock(failureMutex);
  return first;
}

bool Transport::isSpeaker() const {
  std::lock_guard lock(failureMutex);
  return speaker == place.rank;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

void Transport::describe(Descriptions newDescriptions) {
  std::lock_guard lock(descriptionMutex);
  descriptions = std::move(newDescriptions);
}

std::string Transport::rankText(int rank) const {
  std::lock_guard lock(descriptionMutex);
  return descriptions.rank ? descriptions.rank(rank) : message("rank ", rank);
}

std::string Transport::rankTextWithPlace(int rank) const {
  std::string text = rankText(rank), at;
  if (rank == place.rank) {
    std::lock_guard lock(descriptionMutex);
    at = descriptions.place ? descriptions.place() : "";
  } else {
    const Peer &peer = *peers[static_cast<size_t>(rank)];
    std::lock_guard lock(peer.signMutex);
    at = peer.place;
  }
  return at.empty() ? text : text + " " + at;
}

Deadline Transport::lastProgress() const {
  Deadline last = Deadline::min();
  for (int rank = 0; rank < place.size; ++rank)
    if (rank != place.rank)
      last = std::max(last, lastProgress(rank));
  return last;
}

Deadline Transport::lastProgress(int rank) const {
  const Peer &peer = *peers[static_cast<size_t>(rank)];
  std::lock_guard lock(peer.signMutex);
  return peer.progressed;
}

} // namespace shardc::runtime
