//===- TransportThread.cpp - Reading, and who is gone ---------------------===//
#include "runtime/base/Message.h"
#include "runtime/transport/ErrorText.h"
#include "runtime/transport/TransportEngine.h"
#include "runtime/transport/TransportPeer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The longest text that is believed.
constexpr uint32_t kMaxSlots = 4096;
/// Of all streams that a peer has made.
constexpr uint64_t kMaxSlotsMade = 1 << 20;
/// How long a process that ends waits for the others to end too.
constexpr milliseconds kLinger{1000};
/// Messages up to so many bytes are read by those that wait for them.
constexpr uint64_t kMostRead = 1024 * 1024;
/// How long the transport's thread leaves connections to those that wait.
constexpr milliseconds kRest{1};
/// Reads of one connection before the others have their turn.
constexpr int kReads = 64;

milliseconds signInterval(const TransportOptions &options) {
  return options.silence.count() == 0
             ? milliseconds(500)
             : std::clamp(options.silence / 4, milliseconds(1),
                          milliseconds(500));
}

/// Of a stream, over a connection.
bool isOfMessages(FrameKind kind) {
  return kind == FrameKind::Data || kind == FrameKind::Credit;
}

/// Whether a byte of a message may be read as a bool.
bool isBool(const void *byte) {
  return *static_cast<const uint8_t *>(byte) <= 1;
}

} // namespace

/// Nothing throws by design; running out of memory may.
void Transport::run() {
  try {
    loop();
  } catch (const std::exception &error) {
    fail(artifactError(rankText(place.rank), ": out of memory: ", error.what()),
         -1);
  }
  linger();
}

void Transport::loop() {
  std::vector<pollfd> polled;
  while (!closing.load()) {
    polled.assign(1, {wakeDescriptor, POLLIN, 0});
    rests.store(true);
    const bool othersRead = areOthersReading(Clock::now());
    rests.store(othersRead);
    for (auto &peer : peers) {
      short events = 0;
      if (peer && peer->state != Peer::State::Lost) {
        std::lock_guard lock(peer->outMutex);
        if (peer->memory || peer->hasEngine || !othersRead)
          events |= POLLIN;
        if (!peer->out.empty())
          events |= POLLOUT;
      }
      polled.push_back({events ? peer->socket.descriptor() : -1, events, 0});
    }
    milliseconds limit = othersRead ? kRest : signInterval(options);
    if (engine && !othersRead) {
      progressEngine();
      polled.push_back({engine->descriptor(), POLLIN, 0});
      if (!engine->arm())
        limit = milliseconds(0); // more has come
    }
    poll(polled.data(), polled.size(), static_cast<int>(limit.count()));
    forgiveIfStopped(Clock::now());
    handle(polled);
    const Deadline now = Clock::now();
    if (engine)
      takeEngineProblems(now);
    findSilent(now);
    sendSigns(now);
  }
}

/// Whoever waits for messages does, while it is awake, and soon again: this
/// thread would only be in their way. What is large it reads, beside them.
bool Transport::areOthersReading(Deadline now) const {
  return hasDistant && now >= largeUntil && now - lastAwake.load() < kRest;
}

void Transport::handle(std::span<const pollfd> polled) {
  if (polled[0].revents) {
    uint64_t count = 0;
    (void)!::read(wakeDescriptor, &count, sizeof count);
  }
  bool isAny = false;
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    if (!peers[rank])
      continue;
    const short events = polled[rank + 1].revents;
    if (events & POLLOUT) {
      std::lock_guard lock(peers[rank]->outMutex);
      flush(*peers[rank]);
    }
    const bool reads = (events & ~POLLOUT) || peers[rank]->isLeftToThread;
    if (reads)
      readAll(*peers[rank]);
    isAny |= reads || events;
  }
  if (isAny)
    notify();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// In the transport's thread, whatever it is.
void Transport::readAll(Peer &peer) {
  std::lock_guard lock(readMutex);
  if (peer.isLeftToThread.exchange(false))
    takeStaged(peer, true);
  if (peer.inFrame && peer.header.bytes > kMostRead)
    largeUntil = Clock::now() + kRest;
  read(peer, true);
}

/// Whoever waits for a message reads, too, as long as it is awake: it need not
/// wait until the transport's thread has woken up and then woken it. All but
/// small messages is left to that thread.
void Transport::readAwake() {
  std::unique_lock lock(readMutex, std::try_to_lock);
  if (!lock)
    return;
  bool isAny = false;
  for (auto &peer : peers)
    if (peer && !peer->memory && !peer->hasEngine && !peer->isLeftToThread) {
      isAny |= read(*peer, false);
      writeAwake(*peer);
    }
  if (isAny)
    notify();
}

/// The rest of what the system did not take at once.
void Transport::writeAwake(Peer &peer) {
  std::unique_lock lock(peer.outMutex, std::try_to_lock);
  if (lock && !peer.out.empty())
    flush(peer);
}

void Transport::leaveToThread(Peer &peer) {
  peer.isLeftToThread = true;
  wakeThread();
}

/// Whether anything was there. `all`: else only what is of messages.
bool Transport::read(Peer &peer, bool all) {
  for (int i = 0; i < kReads && peer.state != Peer::State::Lost; ++i) {
    if (!all && (peer.isLeftToThread ||
                 (peer.inFrame && !isOfMessages(peer.header.kind))))
      return i > 0;
    const bool goesStraight = peer.inFrame && peer.left >= Peer::kStaging;
    if (!all && goesStraight && peer.header.bytes > kMostRead) {
      leaveToThread(peer);
      return i > 0;
    }
    std::byte *into =
        goesStraight ? peer.into : peer.staging.data() + peer.stagedEnd;
    const size_t room =
        goesStraight ? peer.left : Peer::kStaging - peer.stagedEnd;
    const ssize_t got =
        recv(peer.socket.descriptor(), into, room, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return i > 0;
    if (got <= 0 && all)
      lose(peer, got == 0
                     ? "its process ended"
                     : std::string("connection lost: ") + std::strerror(errno));
    if (got <= 0)
      return i > 0; // which the thread finds, too
    peer.heard = Clock::now();
    if (!goesStraight) {
      peer.stagedEnd += static_cast<size_t>(got);
      takeStaged(peer, all);
      continue;
    }
    peer.into += got;
    peer.left -= static_cast<size_t>(got);
    if (peer.left == 0)
      endFrame(peer);
  }
  return true;
}

/// All of what was read that is there; a header in parts stays.
void Transport::takeStaged(Peer &peer, bool all) {
  while (peer.state != Peer::State::Lost) {
    const size_t there = peer.stagedEnd - peer.stagedBegin;
    const std::byte *at = peer.staging.data() + peer.stagedBegin;
    if (!peer.inFrame) {
      if (there < sizeof peer.header)
        break;
      FrameHeader next;
      std::memcpy(&next, at, sizeof next);
      if (!all && !isOfMessages(next.kind)) {
        leaveToThread(peer);
        break;
      }
      peer.header = next;
      peer.stagedBegin += sizeof peer.header;
      if (!beginFrame(peer))
        return;
    } else {
      const size_t taken = std::min<uint64_t>(there, peer.left);
      if (taken > 0)
        std::memcpy(peer.into, at, taken);
      peer.into += taken;
      peer.stagedBegin += taken;
      peer.left -= taken;
      if (peer.left > 0)
        break;
      endFrame(peer);
    }
  }
  std::memmove(peer.staging.data(), peer.staging.data() + peer.stagedBegin,
               peer.stagedEnd - peer.stagedBegin);
  peer.stagedEnd -= peer.stagedBegin;
  peer.stagedBegin = 0;
}

/// That the frame at hand belongs to; null if there is no such stream, and may
/// be none: a peer makes some before this process does, but not any number.
Stream *Transport::streamOf(Peer &peer, const FrameHeader &header) {
  const uint32_t slots = header.options.slots;
  if (slots == 0 || slots > kMaxSlots || !isBool(&header.options.isOneWay))
    return nullptr;
  {
    std::lock_guard lock(peer.streamMutex);
    auto known = peer.streams.find(header.stream);
    if (known != peer.streams.end())
      return known->second.get();
  }
  return peer.slotsMade.fetch_add(slots) + slots > kMaxSlotsMade
             ? nullptr
             : &stream(peer.rank, header.stream, header.options);
}

bool Transport::beginFrame(Peer &peer) {
  const FrameHeader &header = peer.header;
  peer.inFrame = true;
  peer.left = header.bytes;
  peer.stream = nullptr;
  if (header.kind == FrameKind::Data || header.kind == FrameKind::Credit ||
      header.kind == FrameKind::Ring)
    peer.stream = streamOf(peer, header);
  if (header.kind > FrameKind::Ring)
    peer.into = nullptr;
  else if (header.kind == FrameKind::Data)
    peer.into = peer.stream ? peer.stream->arriving(header) : nullptr;
  else if (header.bytes <= kMaxText) {
    peer.text.resize(header.bytes);
    peer.into = reinterpret_cast<std::byte *>(peer.text.data());
  } else
    peer.into = nullptr;
  if (!peer.into)
    refuse(peer, header);
  return peer.into != nullptr;
}

void Transport::refuse(Peer &peer, const FrameHeader &header) {
  fail(artifactError(
           rankText(peer.rank), " sends ", header.bytes, " bytes that rank ",
           place.rank, " does not expect, or has no memory for (stream ",
           header.stream, "); are all processes of one version of shardrun?"),
       peer.rank);
}

void Transport::endFrame(Peer &peer) {
  peer.inFrame = false;
  const FrameHeader &header = peer.header;
  if (peer.stream && !peer.stream->take(header))
    return refuse(peer, header);
  switch (header.kind) {
  case FrameKind::Data:
  case FrameKind::Credit:
  case FrameKind::Ring:
    break;
  case FrameKind::Sign: {
    std::lock_guard lock(peer.signMutex);
    peer.place = peer.text;
    if (header.tag != peer.progress)
      peer.progressed = Clock::now();
    peer.progress = header.tag;
    break;
  }
  case FrameKind::Abort: {
    const bool isRank = header.taken <= static_cast<uint64_t>(place.size);
    fail(errorOf(header.tag, peer.text),
         isRank ? static_cast<int>(header.taken) - 1 : -1);
    break;
  }
  case FrameKind::Goodbye:
    peer.saidGoodbye = true;
    peer.state = Peer::State::Left;
    break;
  case FrameKind::Failure:
    takeFailure(peer);
    break;
  case FrameKind::Settled:
    takeSettled(peer);
    break;
  }
}

//===----------------------------------------------------------------------===//
// Who is gone
//===----------------------------------------------------------------------===//

/// The connection is closed; after a goodbye that is as it should be.
void Transport::lose(Peer &peer, const std::string &how) {
  const bool isExpected = peer.state == Peer::State::Left;
  peer.state = Peer::State::Lost;
  if (isExpected || failed())
    return;
  fail(artifactError(rankTextWithPlace(peer.rank), " has died (", how, "); ",
                     rankTextWithPlace(place.rank), " found it; see what ",
                     place.launcher.empty() ? "the launcher" : place.launcher,
                     " says of rank ", peer.rank)
           .at({.rank = peer.rank}),
       peer.rank);
}

void Transport::sendSigns(Deadline now) {
  if (now - lastSigns < signInterval(options))
    return;
  lastSigns = now;
  std::string at;
  uint64_t progress = 0;
  {
    std::lock_guard lock(descriptionMutex);
    at = descriptions.place ? descriptions.place() : "";
    progress = descriptions.progress ? descriptions.progress() : 0;
  }
  at.resize(std::min<size_t>(at.size(), 1024));
  for (auto &peer : peers) {
    if (!peer || peer->state != Peer::State::Alive)
      continue;
    {
      std::lock_guard lock(peer->outMutex);
      if (!peer->out.empty())
        continue; // what waits there is a sign too
    }
    FrameHeader header{.kind = FrameKind::Sign};
    header.tag = progress;
    sendText(*peer, header, at);
  }
}

/// A process that was stopped itself has not heard anybody.
void Transport::forgiveIfStopped(Deadline now) {
  if (now - std::exchange(lastLook, now) <= options.silence / 2)
    return;
  for (auto &peer : peers)
    if (peer)
      peer->heard = now;
}

/// Whether `peer` has missed several signs. That alone does not end a run, but
/// ranks of a host that is cut off fall silent up to one sign apart: once one
/// of them has, the others count as lost with it.
bool Transport::missesSigns(const Peer &peer, Deadline now) const {
  return options.silence.count() > 0 &&
         now - peer.heard.load() > options.silence / 2;
}

void Transport::findSilent(Deadline now) {
  if (options.silence.count() == 0 || failed())
    return;
  auto isSilent = [&](const auto &peer) {
    return peer && peer->state == Peer::State::Alive &&
           now - peer->heard.load() > options.silence;
  };
  if (std::none_of(peers.begin(), peers.end(), isSilent))
    return;
  std::string silent;
  int lost = -1;
  for (auto &peer : peers) {
    if (!peer || peer->state != Peer::State::Alive || !missesSigns(*peer, now))
      continue;
    peer->state = Peer::State::Lost;
    lost = peer->rank;
    const auto since =
        std::chrono::duration_cast<milliseconds>(now - peer->heard.load());
    silent +=
        message(silent.empty() ? "" : "; ", rankTextWithPlace(lost), " for ",
                static_cast<double>(since.count() / 100) / 10, " s");
  }
  fail(artifactError("no sign of life from ", silent,
                     ": stopped, or on a machine that cannot be reached; ",
                     rankTextWithPlace(place.rank),
                     " found it; where processes may be that slow, raise "
                     "SHARDC_HEARTBEAT")
           .at({.rank = lost}),
       lost);
}

/// Delivers what was sent. After a failure the process also waits for the
/// others: a launcher kills them when the first one ends, before the one that
/// speaks for all has spoken.
void Transport::linger() {
  const Deadline deadline = Clock::now() + kLinger;
  for (bool isDone = false; !isDone && Clock::now() < deadline;) {
    isDone = true;
    for (auto &peer : peers) {
      if (!peer || peer->state == Peer::State::Lost)
        continue;
      std::lock_guard lock(peer->outMutex);
      if (!peer->out.empty() && !flush(*peer)) {
        isDone = false;
        peer->socket.wait(POLLOUT, Clock::now() + milliseconds(20));
      } else if (!failed() && peer->state == Peer::State::Alive &&
                 !peer->socket.hasDelivered()) {
        isDone = false;
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
  }
  if (engine)
    engine->close(failed() ? Clock::now() : deadline);
  for (auto &peer : peers)
    if (peer)
      shutdown(peer->socket.descriptor(), SHUT_WR);
  if (!failed())
    return;
  for (auto &peer : peers)
    while (peer && peer->state != Peer::State::Lost &&
           peer->socket.wait(POLLIN, deadline))
      readAll(*peer);
}

} // namespace shardc::runtime
