#include "runtime/collectives/net/NetworkCommunicator.h"

#include "runtime/base/Message.h"
#include "runtime/collectives/Reduction.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/transport/StreamNumbers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace shardc::runtime {
namespace {

/// Values up to this many bytes are sent whole to every member: one message
/// less to wait for.
constexpr int64_t kSmallBytes = 16 * 1024;
/// All members' messages of a round together, and one of them.
constexpr int64_t kRoundBytes = 8 << 20, kLeastMessage = 64 * 1024,
                  kMostMessage = 512 * 1024;
constexpr StreamOptions kCollectives{.slots = 4};

/// Dense views are one row: they are cut evenly.
TensorView flattened(const TensorView &view) {
  const int64_t elements = view.numElements();
  return packedView(view.data, view.element, {&elements, 1});
}

} // namespace

NetworkCommunicator::NetworkCommunicator(Transport &transport,
                                         std::vector<int> ranks,
                                         std::chrono::milliseconds timeout)
    : transport(transport), members(std::move(ranks)), timeout(timeout),
      inputs(members.size()), arrived(members.size()), shares(members.size()) {
  for (Round &round : rounds) {
    round.pieces.resize(members.size());
    round.bytes.resize(members.size());
  }
  for (size_t i = 0; i < members.size(); ++i) {
    Stream *stream = nullptr;
    if (members[i] == transport.rank())
      self = static_cast<int>(i);
    else
      stream = &transport.stream(members[i], kCollectiveStream, kCollectives);
    streams.push_back(stream);
    if (stream)
      others.push_back(stream);
  }
  walks.reserve(members.size());
  turns.resize(members.size());
}

int64_t NetworkCommunicator::messageBytes() const {
  return std::clamp(kRoundBytes / size(), kLeastMessage, kMostMessage);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Status NetworkCommunicator::prepare(Stream &stream, int64_t bytes,
                                    std::byte *&memory,
                                    const CollectiveSite &site) {
  return explained(transport.waitPatiently(timeout,
                                           [&](Deadline deadline) {
                                             return stream.prepare(
                                                 bytes, memory, deadline);
                                           }),
                   site, std::array{&stream});
}

Status NetworkCommunicator::waitForMessages(std::span<Stream *const> from,
                                            const CollectiveSite &site) {
  return explained(transport.waitPatiently(timeout,
                                           [&](Deadline deadline) {
                                             return transport.waitForMessages(
                                                 from, deadline);
                                           }),
                   site, from);
}

Status NetworkCommunicator::explained(const Status &status,
                                      const CollectiveSite &site,
                                      std::span<Stream *const> waitedFor) {
  if (status.isOk() || !Transport::isTimeout(status))
    return status;
  std::string missing;
  int first = -1;
  for (Stream *stream : waitedFor)
    if (!stream->hasArrived()) {
      first = first < 0 ? stream->otherRank() : first;
      missing += (missing.empty() ? "" : "; ") +
                 transport.rankTextWithPlace(stream->otherRank());
    }
  return transport.end(artifactError(siteText(site), ": ",
                                     transport.rankText(transport.rank()), " ",
                                     waitText(timeout, "; missing: " + missing))
                           .at(placeOf(site, first)));
}

/// Both ends are at the same instruction and agree on the size.
Status NetworkCommunicator::checkMessage(const Arrived &message, int64_t bytes,
                                         int from, const CollectiveSite &site) {
  if (message.tag == static_cast<uint64_t>(site.instruction) &&
      static_cast<int64_t>(message.bytes.size()) == bytes)
    return Status::ok();
  return transport.abort(
      artifactError(site.kind, " at node '", site.node, "' is instruction ",
                    site.instruction, " and expects ", bytes, " bytes, but ",
                    transport.rankText(from), " sent ", message.bytes.size(),
                    " bytes of instruction ", message.tag)
          .at(placeOf(site, from)));
}

void NetworkCommunicator::release() {
  for (Stream *stream : others)
    stream->release();
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

void NetworkCommunicator::startRounds(const TensorView &whole, int dim,
                                      std::span<const OwnedRuns> blocks) {
  walks.clear();
  for (const OwnedRuns &block : blocks)
    walks.emplace_back(whole, dim, block, messageBytes());
}

bool NetworkCommunicator::nextRound(Round &round) {
  bool isLast = true;
  for (size_t i = 0; i < walks.size(); ++i) {
    isLast &= walks[i].isDone();
    round.bytes[i] = walks[i].next(round.pieces[i]);
  }
  return !isLast;
}

template <typename Send, typename Receive>
Status NetworkCommunicator::inRounds(Send send, Receive receive) {
  bool goesOn = nextRound(rounds[0]);
  if (goesOn)
    SHARDC_RETURN_IF_ERROR(send(rounds[0]));
  for (size_t r = 0; goesOn; ++r) {
    Round &next = rounds[(r + 1) % 3];
    goesOn = nextRound(next);
    if (goesOn)
      SHARDC_RETURN_IF_ERROR(send(next));
    SHARDC_RETURN_IF_ERROR(receive(rounds[r % 3]));
  }
  return Status::ok();
}

/// Writes pieces of `view` behind each other.
static void pack(const TensorView &view, std::span<const BlockPiece> pieces,
                 Piece BlockPiece::*place, std::byte *memory) {
  for (const BlockPiece &piece : pieces) {
    const TensorView from = pieceOf(view, piece.*place);
    copyView(packedLike(memory + piece.offset, from), from);
  }
}

Status NetworkCommunicator::sendEachItsOwn(const Round &round,
                                           const TensorView &whole,
                                           const CollectiveSite &site) {
  for (size_t i = 0; i < streams.size(); ++i)
    if (!isSelf(i))
      SHARDC_RETURN_IF_ERROR(
          sendTo(i, round.bytes[i], site, [&](std::byte *memory) {
            pack(whole, round.pieces[i], &BlockPiece::whole, memory);
          }));
  return Status::ok();
}

Status NetworkCommunicator::sendMine(const Round &round, const TensorView &view,
                                     Piece BlockPiece::*place,
                                     const CollectiveSite &site) {
  const auto me = static_cast<size_t>(self);
  for (size_t i = 0; i < streams.size(); ++i)
    if (!isSelf(i))
      SHARDC_RETURN_IF_ERROR(
          sendTo(i, round.bytes[me], site, [&](std::byte *memory) {
            pack(view, round.pieces[me], place, memory);
          }));
  return Status::ok();
}

Status NetworkCommunicator::reduceMine(
    const Round &round, const TensorView &whole, const TensorView &view,
    Piece BlockPiece::*place, ReduceKind kind, const CollectiveSite &site) {
  const auto me = static_cast<size_t>(self);
  SHARDC_RETURN_IF_ERROR(
      receiveAll(site, [&](size_t) { return round.bytes[me]; }));
  for (const BlockPiece &piece : round.pieces[me]) {
    const TensorView to = pieceOf(view, piece.*place);
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = isSelf(i) ? pieceOf(whole, piece.whole)
                            : packedLike(arrived[i] + piece.offset, to);
    SHARDC_RETURN_IF_ERROR(reduceRange(kind, inputs, to, 0, to.numElements()));
  }
  release();
  return Status::ok();
}

Status NetworkCommunicator::placeTheirs(const Round &round,
                                        const TensorView &whole,
                                        const CollectiveSite &site) {
  SHARDC_RETURN_IF_ERROR(
      receiveAll(site, [&](size_t i) { return round.bytes[i]; }));
  for (size_t i = 0; i < streams.size(); ++i)
    for (const BlockPiece &piece : round.pieces[i]) {
      if (isSelf(i))
        continue;
      const TensorView to = pieceOf(whole, piece.whole);
      copyView(to, packedLike(arrived[i] + piece.offset, to));
    }
  release();
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Status NetworkCommunicator::allReduce(const TensorView &input,
                                      const TensorView &output, ReduceKind kind,
                                      const CollectiveSite &site) {
  if (input.numElements() == 0)
    return Status::ok(); // on every rank alike
  if (size() == 1) {
    copyView(output, input);
    return Status::ok();
  }
  if (viewBytes(input) <= kSmallBytes)
    return reduceSmall(input, output, kind, site);
  if (input.isContiguous() && output.isContiguous())
    return reduceLarge(flattened(input), flattened(output), kind, site);
  return reduceLarge(input, output, kind, site);
}

Status NetworkCommunicator::reduceSmall(const TensorView &input,
                                        const TensorView &output,
                                        ReduceKind kind,
                                        const CollectiveSite &site) {
  const int64_t bytes = viewBytes(input);
  for (size_t i = 0; i < streams.size(); ++i)
    if (!isSelf(i))
      SHARDC_RETURN_IF_ERROR(sendTo(i, bytes, site, [&](std::byte *memory) {
        copyView(packedLike(memory, input), input);
      }));
  SHARDC_RETURN_IF_ERROR(receiveAll(site, [&](size_t) { return bytes; }));
  for (size_t i = 0; i < streams.size(); ++i)
    inputs[i] = isSelf(i) ? input : packedLike(arrived[i], input);
  SHARDC_RETURN_IF_ERROR(
      reduceRange(kind, inputs, output, 0, input.numElements()));
  release();
  return Status::ok();
}

Status NetworkCommunicator::reduceLarge(const TensorView &input,
                                        const TensorView &output,
                                        ReduceKind kind,
                                        const CollectiveSite &site) {
  // Each member reduces its share of the first dim that can be shared.
  int dim = 0;
  while (dim + 1 < input.rank && input.dims[dim] == 1)
    ++dim;
  const int64_t length = input.dims[dim];
  for (int64_t i = 0; i < size(); ++i) {
    const int64_t begin = wayBegin(length, size(), i),
                  end = wayBegin(length, size(), i + 1);
    OwnedRuns &share = shares[static_cast<size_t>(i)];
    share.runs.clear();
    if (begin < end)
      share.runs.push_back({begin, end - begin});
  }
  startRounds(input, dim, shares);
  // The others' sums of a round come after what they sent of the next one.
  const Round *before = nullptr;
  SHARDC_RETURN_IF_ERROR(
      inRounds([&](Round &round) { return sendEachItsOwn(round, input, site); },
               [&](Round &round) {
                 SHARDC_RETURN_IF_ERROR(reduceMine(
                     round, input, output, &BlockPiece::whole, kind, site));
                 SHARDC_RETURN_IF_ERROR(
                     sendMine(round, output, &BlockPiece::whole, site));
                 if (before)
                   SHARDC_RETURN_IF_ERROR(placeTheirs(*before, output, site));
                 before = &round;
                 return Status::ok();
               }));
  return placeTheirs(*before, output, site); // there are elements
}

Status NetworkCommunicator::allGather(const TensorView &input,
                                      const TensorView &output, int dim,
                                      std::span<const OwnedRuns> blocks,
                                      const CollectiveSite &site) {
  if (output.numElements() == 0)
    return Status::ok();
  startRounds(output, dim, blocks);
  return inRounds(
      [&](Round &round) {
        return sendMine(round, input, &BlockPiece::part, site);
      },
      [&](Round &round) {
        for (const BlockPiece &piece : round.pieces[static_cast<size_t>(self)])
          copyView(pieceOf(output, piece.whole), pieceOf(input, piece.part));
        return placeTheirs(round, output, site);
      });
}

Status NetworkCommunicator::reduceScatter(const TensorView &input,
                                          const TensorView &output, int dim,
                                          std::span<const OwnedRuns> blocks,
                                          ReduceKind kind,
                                          const CollectiveSite &site) {
  if (input.numElements() == 0)
    return Status::ok();
  startRounds(input, dim, blocks);
  return inRounds(
      [&](Round &round) { return sendEachItsOwn(round, input, site); },
      [&](Round &round) {
        return reduceMine(round, input, output, &BlockPiece::part, kind, site);
      });
}

Status NetworkCommunicator::exchange(const void *mine, size_t bytes, void *all,
                                     const CollectiveSite &site) {
  const auto count = static_cast<int64_t>(bytes);
  for (size_t i = 0; i < streams.size(); ++i)
    if (!isSelf(i))
      SHARDC_RETURN_IF_ERROR(sendTo(i, count, site, [&](std::byte *memory) {
        std::memcpy(memory, mine, bytes);
      }));
  SHARDC_RETURN_IF_ERROR(receiveAll(site, [&](size_t) { return count; }));
  for (size_t i = 0; i < streams.size(); ++i)
    std::memcpy(static_cast<char *>(all) + i * bytes,
                isSelf(i) ? mine : arrived[i], bytes);
  release();
  return Status::ok();
}

} // namespace shardc::runtime
