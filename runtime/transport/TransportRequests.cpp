//===- TransportRequests.cpp - A request fails, and the next goes well ----===//
//
// See Settlement.h. What a round changes stands under one mutex, which is also
// held while others are told: they get it in that order.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/transport/ErrorText.h"
#include "runtime/transport/Transport.h"
#include "runtime/transport/TransportPeer.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// This process
//===----------------------------------------------------------------------===//

void Transport::openRequests(bool areOpen) {
  std::lock_guard lock(requestMutex);
  isQuiet = areOpen;
  mayGoOn = false;
  if (isQuiet && requestFailed() && !isSettled)
    settleMine();
}

bool Transport::beginRequest(uint64_t number, bool endsAlone) {
  std::lock_guard lock(requestMutex);
  if (isSettled || !settlements.empty())
    return false;
  isQuiet = false;
  mayGoOn = endsAlone;
  begun = number;
  findWhetherFailed();
  return true;
}

bool Transport::endRequest(bool isDone) {
  std::lock_guard lock(requestMutex);
  const bool hasEnded = requestFailed();
  if (isDone) {
    done = begun;
    if (!hasEnded)
      told = begun;
  }
  isQuiet = true;
  mayGoOn = false;
  if (hasEnded)
    settleMine();
  return hasEnded;
}

Status Transport::end(const Status &status) {
  {
    std::lock_guard lock(requestMutex);
    if (mayGoOn && !failed()) {
      if (requestFailed())
        return round.found.status;
      noteFailure(round, begun, status, place.rank);
      FrameHeader header{.kind = FrameKind::Failure};
      header.taken = begun;
      header.tag = static_cast<uint64_t>(status.code());
      for (auto &peer : peers)
        if (peer && peer->state == Peer::State::Alive)
          sendText(*peer, header, textOf(status));
      return round.found.status;
    }
  }
  return abort(status);
}

Status Transport::requestFailure() const {
  std::lock_guard lock(requestMutex);
  return round.found.status;
}

uint64_t Transport::lastRequest() const {
  std::lock_guard lock(requestMutex);
  return begun;
}

bool Transport::isSettling() const {
  std::lock_guard lock(requestMutex);
  return isSettled || !settlements.empty();
}

Status Transport::takeSettlement(std::chrono::milliseconds patience,
                                 Settlement &found) {
  auto isThere = [&] {
    std::lock_guard lock(requestMutex);
    if (settlements.empty())
      return false;
    found = std::move(settlements.front());
    settlements.erase(settlements.begin());
    return true;
  };
  const Status status = waitPatiently(patience, [&](Deadline deadline) {
    return wait(isThere, deadline, /*isOfRequest=*/false);
  });
  return isTimeout(status) ? abort(unsettled()) : status;
}

Status Transport::unsettled() const {
  std::vector<int> missing;
  Status why;
  {
    std::lock_guard lock(requestMutex);
    for (const auto &peer : peers)
      if (peer && peer->settlements <= rounds)
        missing.push_back(peer->rank);
    why = round.found.status;
  }
  std::string text = why.message();
  for (size_t i = 0; i < missing.size(); ++i)
    text += (i == 0 ? " (" : "; ") + rankTextWithPlace(missing[i]);
  return artifactError(text, " no longer answers; open the artifact again)")
      .at(why.place());
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// The first one says why; whoever has begun the earliest of them is at it.
void Transport::noteFailure(RequestRound &of, uint64_t number,
                            const Status &status, int rank) {
  if (!of.hasFailed) {
    of.found.status = status;
    of.found.rank = rank;
  }
  of.hasFailed = true;
  of.number = std::min(of.number, number);
  findWhetherFailed();
}

void Transport::findWhetherFailed() {
  const bool hasFailed = round.hasFailed && round.number <= begun;
  if (hasFailed == requestHasFailed.exchange(hasFailed) || !hasFailed)
    return;
  // Before anybody can go on to the next request, for which it is nothing.
  {
    std::lock_guard lock(descriptionMutex);
    if (!isQuiet && descriptions.onFailure)
      descriptions.onFailure(round.found.status);
  }
  if (isQuiet && !isSettled)
    settleMine();
  notify();
}

void Transport::count(RequestRound &of, const RequestCounts &counts,
                      bool isFirst) {
  Settlement &found = of.found;
  found.mostBegun = std::max(found.mostBegun, counts.begun);
  found.mostDone = std::max(found.mostDone, counts.done);
  found.leastDone = std::min(found.leastDone, counts.done);
  if (isFirst)
    found.told = counts.told;
}

void Transport::settleMine() {
  isSettled = true;
  const RequestCounts counts{round.number, begun, done, told, round.found.rank};
  count(round, counts, place.rank == 0);
  std::string text(sizeof counts, '\0');
  std::memcpy(text.data(), &counts, sizeof counts);
  text += textOf(round.found.status);
  FrameHeader header{.kind = FrameKind::Settled};
  header.tag = static_cast<uint64_t>(round.found.status.code());
  for (auto &peer : peers) {
    if (!peer)
      continue;
    if (peer->settlements > rounds)
      takeBack(*peer);
    if (peer->state == Peer::State::Alive)
      sendText(*peer, header, text);
  }
  finishRound();
}

/// Both are at no request any more: what is on the way between them is nothing
/// to anybody.
void Transport::takeBack(Peer &peer) {
  std::lock_guard lock(peer.streamMutex);
  ++peer.epoch;
  for (auto &[number, stream] : peer.streams)
    if (stream->isOfRequests())
      stream->drop();
}

void Transport::finishRound() {
  if (!isSettled || round.settled < place.size - 1)
    return;
  round.found.failed = round.number;
  settlements.push_back(std::move(round.found));
  round = std::exchange(nextRound, {});
  isSettled = false;
  ++rounds;
  findWhetherFailed();
  notify();
}

//===----------------------------------------------------------------------===//
// Others, in the transport's thread
//===----------------------------------------------------------------------===//

/// Whoever has settled more often than this process has taken note of is in the
/// next round already.
void Transport::takeFailure(Peer &peer) {
  std::lock_guard lock(requestMutex);
  noteFailure(peer.settlements > rounds ? nextRound : round, peer.header.taken,
              errorOf(peer.header.tag, peer.text), peer.rank);
}

void Transport::takeSettled(Peer &peer) {
  RequestCounts counts;
  std::string why;
  if (peer.text.size() >= sizeof counts) {
    std::memcpy(&counts, peer.text.data(), sizeof counts);
    why = peer.text.substr(sizeof counts);
  }
  std::lock_guard lock(requestMutex);
  if (peer.settlements > rounds + 1)
    return; // nobody is two rounds ahead
  const bool isNext = peer.settlements++ > rounds;
  RequestRound &of = isNext ? nextRound : round;
  ++of.settled;
  count(of, counts, peer.rank == 0);
  if (!isNext && isSettled)
    takeBack(peer);
  noteFailure(of, counts.failed, errorOf(peer.header.tag, why),
              static_cast<int>(counts.rank));
  if (!isNext)
    finishRound();
}

} // namespace shardc::runtime
