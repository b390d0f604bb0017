//===- TransportEngine.cpp - What a message engine tells a transport ------===//
#include "runtime/transport/TransportEngine.h"

#include "runtime/base/Message.h"
#include "runtime/transport/EngineStream.h"
#include "runtime/transport/TransportPeer.h"

namespace shardc::runtime {

using Clock = std::chrono::steady_clock;

/// A process that is gone closes its connection, which says more than an engine
/// does, soon.
static constexpr std::chrono::milliseconds kConnectionSaysMore{500};

//===----------------------------------------------------------------------===//
// Called by the engine, under its lock: what ends the run is noted, and done by
// progressEngine.
//===----------------------------------------------------------------------===//

std::shared_ptr<AlignedBuffer>
Transport::EngineSink::begin(int rank, const EngineHeader &header) {
  Peer &peer = *transport.peers[static_cast<size_t>(rank)];
  Stream *stream = transport.streamOf(peer, header.frame);
  std::shared_ptr<AlignedBuffer> to =
      stream ? static_cast<EngineStream *>(stream)->begin(header) : nullptr;
  if (!to)
    note({rank, header.frame, "", {}});
  return to;
}

void Transport::EngineSink::end(int rank, const EngineHeader &header) {
  Peer &peer = *transport.peers[static_cast<size_t>(rank)];
  if (header.frame.kind == FrameKind::Goodbye) {
    peer.messagesInAll.store(header.number);
    return;
  }
  if (Stream *stream = transport.streamOf(peer, header.frame))
    static_cast<EngineStream *>(stream)->end(header);
  peer.messagesCame.fetch_add(1);
}

void Transport::EngineSink::lose(int rank, const std::string &why) {
  note({rank, {}, why, Clock::now() + kConnectionSaysMore});
}

void Transport::EngineSink::note(Problem problem) {
  std::lock_guard lock(mutex);
  problems.push_back(std::move(problem));
  hasProblems = true;
}

//===----------------------------------------------------------------------===//
// Of the transport
//===----------------------------------------------------------------------===//

/// What was sent before it left has come, too.
bool Transport::hasLeft(int rank) const {
  const Peer &peer = *peers[static_cast<size_t>(rank)];
  return peer.saidGoodbye.load() &&
         (!peer.hasEngine ||
          peer.messagesCame.load() == peer.messagesInAll.load());
}

void Transport::progressEngine() {
  if (engine->progress())
    notify();
}

/// In the transport's thread.
void Transport::takeEngineProblems(Deadline now) {
  if (!sink->hasProblems)
    return;
  std::vector<EngineSink::Problem> due;
  {
    std::lock_guard lock(sink->mutex);
    std::erase_if(sink->problems, [&](EngineSink::Problem &problem) {
      if (problem.due <= now)
        due.push_back(problem);
      return problem.due <= now;
    });
    sink->hasProblems = !sink->problems.empty();
  }
  for (const EngineSink::Problem &problem : due) {
    Peer &peer = *peers[static_cast<size_t>(problem.rank)];
    if (problem.why.empty())
      refuse(peer, problem.header);
    else if (peer.state == Peer::State::Alive)
      lose(peer, "connection lost: " + problem.why);
  }
}

void Transport::sayGoodbyeToEngine() {
  for (auto &peer : peers) {
    if (!peer || !peer->hasEngine)
      continue;
    auto goodbye = std::make_shared<EngineMessage>();
    goodbye->header.frame.kind = FrameKind::Goodbye;
    goodbye->header.number = peer->messagesSent.load();
    engine->send(peer->rank, goodbye);
  }
}

} // namespace shardc::runtime
