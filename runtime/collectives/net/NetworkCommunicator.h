//===- NetworkCommunicator.h - Collectives between processes --------------===//
//
// Each rank sends each other one its part, directly, in rounds of messages of
// limited size; a round is sent before the one ahead of it is received, so that
// it is on its way while that is reduced or copied. A round goes both ways
// between each pair, also where there is nothing to say: so no rank is ever more
// than four messages ahead of what it knows another to have taken, and the
// streams' four slots are enough.
//
//   all_reduce, small    everyone gets everyone's value and reduces all of it
//   all_reduce, large    the value is cut in pieces that are dealt to the
//                        ranks; each gets its piece from all, reduces, and
//                        sends the result to all
//   reduce_scatter       each gets its block from all and reduces it
//   all_gather           each sends its block to all
//   all_to_all           each sends each other what they have in common
//   shift                one way: to one rank, from another
//
// An element is reduced in the order of the group, wherever that is done: the
// bits are those of threads (SharedMemoryGroup).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_NET_NETWORKCOMMUNICATOR_H
#define SHARDC_RUNTIME_COLLECTIVES_NET_NETWORKCOMMUNICATOR_H

#include "runtime/collectives/Communicator.h"
#include "runtime/tensor/CommonWalk.h"
#include "runtime/transport/Transport.h"

#include <chrono>
#include <vector>

namespace shardc::runtime {

class NetworkCommunicator final : public Communicator {
public:
  /// `members`: the group's ranks, this process's among them, in group order.
  /// All groups of a rank share its streams: it is in one collective at a time.
  NetworkCommunicator(Transport &transport, std::vector<int> members,
                      std::chrono::milliseconds timeout);

  int index() const override { return self; }
  int size() const override { return static_cast<int>(members.size()); }
  Status allReduce(const TensorView &input, const TensorView &output,
                   ReduceKind kind, const CollectiveSite &site) override;
  Status allGather(const TensorView &input, const TensorView &output, int dim,
                   std::span<const OwnedRuns> blocks,
                   const CollectiveSite &site) override;
  Status reduceScatter(const TensorView &input, const TensorView &output,
                       int dim, std::span<const OwnedRuns> blocks,
                       ReduceKind kind, const CollectiveSite &site) override;
  Status allToAll(const TensorView &input, const TensorView &output,
                  const DimBlocks &from, const DimBlocks &to,
                  const CollectiveSite &site) override;
  Status shift(const TensorView &input, const TensorView &output, int distance,
               const CollectiveSite &site) override;
  Status dispatch(const TensorView &input, const TensorView &output,
                  std::span<const OwnedRuns> blocks,
                  const ExpertRouting &routing,
                  const CollectiveSite &site) override;
  Status combine(const TensorView &input, const TensorView &output,
                 std::span<const OwnedRuns> blocks,
                 const ExpertRouting &routing,
                 const CollectiveSite &site) override;
  Status exchange(const void *mine, size_t bytes, void *all,
                  const CollectiveSite &site) override;

private:
  Status reduceSmall(const TensorView &input, const TensorView &output,
                     ReduceKind kind, const CollectiveSite &site);
  Status reduceLarge(const TensorView &input, const TensorView &output,
                     ReduceKind kind, const CollectiveSite &site);

  /// A message of each member's block.
  struct Round {
    std::vector<std::vector<BlockPiece>> pieces; ///< by member
    std::vector<int64_t> bytes;
  };
  /// Starts a walk through each member's block.
  void startRounds(const TensorView &whole, int dim,
                   std::span<const OwnedRuns> blocks);
  /// The next pieces of each; false if there are none.
  bool nextRound(Round &round);
  /// Calls send(round) and receive(round) for each, the former one round ahead.
  template <typename Send, typename Receive>
  Status inRounds(Send send, Receive receive);
  /// Sends each other member its pieces of `whole`.
  Status sendEachItsOwn(const Round &round, const TensorView &whole,
                        const CollectiveSite &site);
  /// Sends this member's pieces of `view`, the whole or its part, to all.
  Status sendMine(const Round &round, const TensorView &view,
                  Piece BlockPiece::*place, const CollectiveSite &site);
  /// Reduces what came for this member's pieces into `view`.
  Status reduceMine(const Round &round, const TensorView &whole,
                    const TensorView &view, Piece BlockPiece::*place,
                    ReduceKind kind, const CollectiveSite &site);
  /// Puts what the others sent of theirs into `whole`.
  Status placeTheirs(const Round &round, const TensorView &whole,
                     const CollectiveSite &site);
  /// Of an all_to_all: its messages of one turn, with whom there are some.
  Status sendCommon(int64_t turn, const CollectiveSite &site);
  Status takeCommon(int64_t turn, const CollectiveSite &site);
  int64_t countOf(CommonWalk walk);

  /// Sends member `to` what `pack` writes into so many bytes.
  template <typename Pack>
  Status sendTo(size_t to, int64_t bytes, const CollectiveSite &site,
                Pack pack) {
    std::byte *memory = nullptr;
    SHARDC_RETURN_IF_ERROR(prepare(*streams[to], bytes, memory, site));
    pack(memory);
    streams[to]->commit(bytes, static_cast<uint64_t>(site.instruction));
    return Status::ok();
  }
  /// Waits for a message of each other member, of bytesOf(member) bytes, into
  /// `arrived`; until release().
  template <typename Bytes>
  Status receiveAll(const CollectiveSite &site, Bytes bytesOf) {
    SHARDC_RETURN_IF_ERROR(waitForMessages(others, site));
    for (size_t i = 0; i < streams.size(); ++i) {
      if (isSelf(i))
        continue;
      const Arrived message = streams[i]->front();
      SHARDC_RETURN_IF_ERROR(
          checkMessage(message, bytesOf(i), members[i], site));
      arrived[i] = const_cast<std::byte *>(message.bytes.data());
    }
    return Status::ok();
  }
  void release();
  /// A timeout says which of `missing` were waited for, and ends the request.
  Status explained(const Status &status, const CollectiveSite &site,
                   std::span<Stream *const> missing);
  Status checkMessage(const Arrived &message, int64_t bytes, int from,
                      const CollectiveSite &site);
  Status sumTaken(const Round &round, const TensorView &input,
                  const TensorView &output, const ExpertRouting &routing);
  /// Memory for the next message of `stream`.
  Status prepare(Stream &stream, int64_t bytes, std::byte *&memory,
                 const CollectiveSite &site);
  Status waitForMessages(std::span<Stream *const> from,
                         const CollectiveSite &site);
  int64_t messageBytes() const;
  bool isSelf(size_t member) const { return streams[member] == nullptr; }

  Transport &transport;
  const std::vector<int> members;
  const std::chrono::milliseconds timeout;
  int self = 0;
  std::vector<Stream *> streams; ///< by member; null: this one
  std::vector<Stream *> others;  ///< without the null

  // Of the operation at hand, by member; kept, so that it allocates nothing.
  std::vector<TensorView> inputs;
  std::vector<std::byte *> arrived;
  std::vector<OwnedRuns> shares; ///< of an all_reduce
  std::vector<BlockWalk> walks;
  Round rounds[3];
  // Of an all_to_all, by member: what it gets from this one, and the other way.
  std::vector<CommonWalk> gives, gets;
  std::vector<int64_t> turns;
  std::vector<CommonPiece> common;
  std::vector<Stream *> partners;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_NET_NETWORKCOMMUNICATOR_H
