//===- NetworkExchanges.cpp - What ranks hand each other ------------------===//
#include "runtime/collectives/Reduction.h"
#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/transport/StreamNumbers.h"

#include <algorithm>
#include <array>

namespace shardc::runtime {
namespace {

/// Visits the rows of a round's pieces that `taker` takes, with their place in
/// the message; its bytes.
template <typename Visit>
int64_t forEachTaken(std::span<const BlockPiece> pieces, const TensorView &like,
                     const ExpertRouting &routing, int taker, Visit visit) {
  int64_t offset = 0;
  for (const BlockPiece &piece : pieces)
    for (int64_t row = 0; row < piece.whole.dims[0]; ++row) {
      if (!routing.takes(taker, piece.whole.start[0] + row))
        continue;
      BlockPiece one = piece;
      one.whole.start[0] += row;
      one.part.start[0] += row;
      one.whole.dims[0] = one.part.dims[0] = 1;
      one.offset = offset;
      visit(one);
      offset += pieceBytes(like, one.whole);
    }
  return offset;
}

constexpr auto kNothing = [](const BlockPiece &) {};

} // namespace

Status NetworkCommunicator::dispatch(const TensorView &input,
                                     const TensorView &output,
                                     std::span<const OwnedRuns> blocks,
                                     const ExpertRouting &routing,
                                     const CollectiveSite &site) {
  if (output.numElements() == 0)
    return Status::ok();
  const auto me = static_cast<size_t>(self);
  std::vector<std::vector<BlockPiece>> &round = rounds[0].pieces;
  startRounds(output, 0, blocks);
  while (nextRound(rounds[0])) {
    for (size_t i = 0; i < streams.size(); ++i) {
      const int taker = static_cast<int>(i);
      if (isSelf(i))
        continue;
      SHARDC_RETURN_IF_ERROR(sendTo(
          i, forEachTaken(round[me], output, routing, taker, kNothing), site,
          [&](std::byte *memory) {
            forEachTaken(
                round[me], output, routing, taker, [&](const BlockPiece &row) {
                  const TensorView from = pieceOf(input, row.part);
                  copyView(packedLike(memory + row.offset, from), from);
                });
          }));
    }
    SHARDC_RETURN_IF_ERROR(receiveAll(site, [&](size_t i) {
      return forEachTaken(round[i], output, routing, self, kNothing);
    }));
    for (size_t i = 0; i < streams.size(); ++i)
      forEachTaken(round[i], output, routing, self, [&](const BlockPiece &row) {
        const TensorView to = pieceOf(output, row.whole);
        copyView(to, isSelf(i) ? pieceOf(input, row.part)
                               : packedLike(arrived[i] + row.offset, to));
      });
    release();
  }
  return Status::ok();
}

Status NetworkCommunicator::combine(const TensorView &input,
                                    const TensorView &output,
                                    std::span<const OwnedRuns> blocks,
                                    const ExpertRouting &routing,
                                    const CollectiveSite &site) {
  if (input.numElements() == 0)
    return Status::ok();
  const auto me = static_cast<size_t>(self);
  std::vector<std::vector<BlockPiece>> &round = rounds[0].pieces;
  startRounds(input, 0, blocks);
  while (nextRound(rounds[0])) {
    for (size_t i = 0; i < streams.size(); ++i) {
      if (isSelf(i))
        continue;
      SHARDC_RETURN_IF_ERROR(sendTo(
          i, forEachTaken(round[i], input, routing, self, kNothing), site,
          [&](std::byte *memory) {
            forEachTaken(
                round[i], input, routing, self, [&](const BlockPiece &row) {
                  const TensorView from = pieceOf(input, row.whole);
                  copyView(packedLike(memory + row.offset, from), from);
                });
          }));
    }
    SHARDC_RETURN_IF_ERROR(receiveAll(site, [&](size_t i) {
      return forEachTaken(round[me], input, routing, static_cast<int>(i),
                          kNothing);
    }));
    SHARDC_RETURN_IF_ERROR(sumTaken(rounds[0], input, output, routing));
    release();
  }
  return Status::ok();
}

/// Of each row only the ranks that take it have sent their part, in order.
Status NetworkCommunicator::sumTaken(const Round &round,
                                     const TensorView &input,
                                     const TensorView &output,
                                     const ExpertRouting &routing) {
  for (const BlockPiece &piece : round.pieces[static_cast<size_t>(self)])
    for (int64_t r = 0; r < piece.whole.dims[0]; ++r) {
      BlockPiece row = piece;
      row.whole.start[0] += r;
      row.part.start[0] += r;
      row.whole.dims[0] = row.part.dims[0] = 1;
      const TensorView to = pieceOf(output, row.part);
      size_t parts = 0;
      for (size_t i = 0; i < streams.size(); ++i) {
        if (!routing.takes(static_cast<int>(i), row.whole.start[0]))
          continue;
        inputs[parts++] =
            isSelf(i) ? pieceOf(input, row.whole) : packedLike(arrived[i], to);
        if (!isSelf(i))
          arrived[i] += viewBytes(to);
      }
      if (parts == 0) // a choice that no expert has: everybody holds zeros
        inputs[parts++] = pieceOf(input, row.whole);
      SHARDC_RETURN_IF_ERROR(reduceRange(ReduceKind::Sum,
                                         std::span(inputs).first(parts), to, 0,
                                         to.numElements()));
    }
  return Status::ok();
}

/// Both ends of each pair count alike how many messages either has for the other
/// one: as many go both ways.
Status NetworkCommunicator::allToAll(const TensorView &input,
                                     const TensorView &output,
                                     const DimBlocks &from, const DimBlocks &to,
                                     const CollectiveSite &site) {
  const auto me = static_cast<size_t>(self);
  // What member `source` gives member `target`; views count only at this end.
  auto between = [&](size_t source, size_t target) {
    TensorView theirs = input, mine = output;
    theirs.dims[from.dim] = from.blocks[source].localSize;
    mine.dims[to.dim] = to.blocks[target].localSize;
    return CommonWalk(theirs, mine, from.dim, from.blocks[source], to.dim,
                      to.blocks[target], messageBytes());
  };
  gives.clear();
  gets.clear();
  int64_t most = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    gives.push_back(between(me, i));
    gets.push_back(between(i, me));
    turns[i] = isSelf(i) ? 0 : std::max(countOf(gives[i]), countOf(gets[i]));
    most = std::max(most, turns[i]);
  }
  if (most > 0)
    SHARDC_RETURN_IF_ERROR(sendCommon(0, site));
  for (CommonWalk &own = gives[me]; !own.isDone();) {
    own.next(common);
    for (const CommonPiece &piece : common)
      copyView(piece.target, piece.source);
  }
  for (int64_t turn = 0; turn < most; ++turn) {
    SHARDC_RETURN_IF_ERROR(sendCommon(turn + 1, site));
    SHARDC_RETURN_IF_ERROR(takeCommon(turn, site));
  }
  return Status::ok();
}

int64_t NetworkCommunicator::countOf(CommonWalk walk) {
  int64_t count = 0;
  for (; !walk.isDone(); ++count)
    walk.next(common);
  return count;
}

Status NetworkCommunicator::sendCommon(int64_t turn,
                                       const CollectiveSite &site) {
  for (size_t i = 0; i < streams.size(); ++i) {
    if (turn >= turns[i])
      continue;
    const int64_t bytes = gives[i].next(common);
    SHARDC_RETURN_IF_ERROR(sendTo(i, bytes, site, [&](std::byte *memory) {
      for (const CommonPiece &piece : common) {
        copyView(packedLike(memory, piece.source), piece.source);
        memory += viewBytes(piece.source);
      }
    }));
  }
  return Status::ok();
}

Status NetworkCommunicator::takeCommon(int64_t turn,
                                       const CollectiveSite &site) {
  partners.clear();
  for (size_t i = 0; i < streams.size(); ++i)
    if (turn < turns[i])
      partners.push_back(streams[i]);
  SHARDC_RETURN_IF_ERROR(waitForMessages(partners, site));
  for (size_t i = 0; i < streams.size(); ++i) {
    if (turn >= turns[i])
      continue;
    const int64_t bytes = gets[i].next(common);
    const Arrived message = streams[i]->front();
    SHARDC_RETURN_IF_ERROR(checkMessage(message, bytes, members[i], site));
    auto *at = const_cast<std::byte *>(message.bytes.data());
    for (const CommonPiece &piece : common) {
      copyView(piece.target, packedLike(at, piece.target));
      at += viewBytes(piece.target);
    }
    streams[i]->release();
  }
  return Status::ok();
}

/// Messages go one way, so each piece is sent before one is waited for.
Status NetworkCommunicator::shift(const TensorView &input,
                                  const TensorView &output, int distance,
                                  const CollectiveSite &site) {
  if (distance == 0) {
    copyView(output, input);
    return Status::ok();
  }
  constexpr StreamOptions kOneWay{.slots = 4, .isOneWay = true};
  const int source = (self + distance) % size();
  const int target = (self + size() - distance) % size();
  Stream &in = transport.stream(members[static_cast<size_t>(source)],
                                kShiftStream, kOneWay);
  Stream &out = transport.stream(members[static_cast<size_t>(target)],
                                 kShiftStream, kOneWay);
  const Pieces gives(input, messageBytes()), gets(output, messageBytes());
  const auto tag = static_cast<uint64_t>(site.instruction);
  for (int64_t p = 0; p < std::max(gives.size(), gets.size()); ++p) {
    if (p < gives.size()) {
      const TensorView part = pieceOf(input, gives[p]);
      std::byte *memory = nullptr;
      SHARDC_RETURN_IF_ERROR(prepare(out, viewBytes(part), memory, site));
      copyView(packedLike(memory, part), part);
      out.commit(viewBytes(part), tag);
    }
    if (p >= gets.size())
      continue;
    SHARDC_RETURN_IF_ERROR(waitForMessages(std::array{&in}, site));
    const TensorView part = pieceOf(output, gets[p]);
    const Arrived message = in.front();
    SHARDC_RETURN_IF_ERROR(
        checkMessage(message, viewBytes(part), in.otherRank(), site));
    copyView(part,
             packedLike(const_cast<std::byte *>(message.bytes.data()), part));
    in.release();
  }
  return Status::ok();
}

} // namespace shardc::runtime
