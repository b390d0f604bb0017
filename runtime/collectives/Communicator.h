//===- Communicator.h - One rank's end of a replica group -----------------===//
//
// What a program's collectives run on. Behind it may be shared memory (threads
// of one process), MPI or NCCL. Every rank of the group calls the same
// operations in the same order; a call returns when this rank's output is
// complete and its input may be overwritten.
//
// Example, all_gather of dim 1 over two ranks that own columns [0, 3) and [3,
// 5):
//   rank 0: input [2, 3]   rank 1: input [2, 2]   output on both: [2, 5]
//   blocks = {{5, 3, {{0, 3}}}, {5, 2, {{3, 2}}}}
//
// Over a device's stream, an operation whose site has a flight is only started:
// what the stream gets next runs beside it, up to a wait for that flight. It
// may not touch the output nor write to the input. A rank's operations are done
// in the order in which they were called, whatever their communicators.
//
//   allReduce(a, x, Sum, {"all_reduce", "up", 4, /*flight=*/0})
//   stream.launch(...)                    beside it
//   wait(0, site)
//   stream.launch(...)                    may read x
//
// Results are the same bits on every rank: an element is reduced in the order
// of the group, in f32 for 16-bit floats, and rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_COMMUNICATOR_H
#define SHARDC_RUNTIME_COLLECTIVES_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/collectives/ExpertRouting.h"
#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/TensorView.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace shardc::runtime {

enum class ReduceKind { Sum, Max, Min };

/// Where a collective stands in its program: what its errors name.
struct CollectiveSite {
  std::string_view kind;
  std::string_view node;
  int instruction = 0;
  int flight = -1; ///< not negative: it is only started, see below
};

/// A dim, and which part of it each rank of the group has.
struct DimBlocks {
  int dim = 0;
  std::vector<OwnedRuns> blocks; ///< by index in the group

  bool operator==(const DimBlocks &) const = default;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int index() const = 0; ///< of this rank in the group
  virtual int size() const = 0;

  /// Its operations are work of a device's stream and nothing else, so that
  /// they can be captured with it: by all ranks, or by none, and a graph runs
  /// on all of them or on none.
  virtual bool isCapturable() const { return false; }

  /// Input and output have the same dims on every rank; they may be the same
  /// view, but not overlap otherwise.
  virtual Status allReduce(const TensorView &input, const TensorView &output,
                           ReduceKind kind, const CollectiveSite &site) = 0;

  /// blocks[i] is the part of the output's dim `dim` that rank i's input holds.
  /// Input and output do not overlap.
  virtual Status allGather(const TensorView &input, const TensorView &output,
                           int dim, std::span<const OwnedRuns> blocks,
                           const CollectiveSite &site) = 0;

  /// blocks[i] is the part of the input's dim `dim` that rank i's output holds.
  /// Input and output do not overlap.
  virtual Status reduceScatter(const TensorView &input,
                               const TensorView &output, int dim,
                               std::span<const OwnedRuns> blocks,
                               ReduceKind kind, const CollectiveSite &site) = 0;

  /// What an all_gather of dim `from` and a slice of dim `to` give:
  /// fromBlocks[i] is the part of the output's dim `from` that rank i's input
  /// holds, toBlocks[i] the part of the input's dim `to` that rank i's output
  /// holds. Where both are the same dim, input and output have only their parts
  /// of it. Input and output do not overlap. Example, rows to columns:
  ///   rank 0: input [1, 4]   rank 1: input [2, 4]   outputs: [3, 2]
  ///   from 0, fromBlocks = {{3, 1, {{0, 1}}}, {3, 2, {{1, 2}}}}
  ///   to 1, toBlocks = {{4, 2, {{0, 2}}}, {4, 2, {{2, 2}}}}
  virtual Status allToAll(const TensorView &input, const TensorView &output,
                          const DimBlocks &from, const DimBlocks &to,
                          const CollectiveSite &site) = 0;

  /// Rank i's output becomes the input of rank (i + distance) % size, whose
  /// dims it has; the ranks' may differ. Input and output do not overlap.
  virtual Status shift(const TensorView &input, const TensorView &output,
                       int distance, const CollectiveSite &site) = 0;

  /// Tokens to the ranks that take them: allGather of dim 0, but of a rank's
  /// output only the rows of tokens that it takes are written. Nobody may read
  /// the others.
  virtual Status dispatch(const TensorView &input, const TensorView &output,
                          std::span<const OwnedRuns> blocks,
                          const ExpertRouting &routing,
                          const CollectiveSite &site) = 0;

  /// And back: reduceScatter of dim 0 by sums, where ranks have zeros in the
  /// rows of tokens that they do not take.
  virtual Status combine(const TensorView &input, const TensorView &output,
                         std::span<const OwnedRuns> blocks,
                         const ExpertRouting &routing,
                         const CollectiveSite &site) = 0;

  /// What this rank's stream gets from now on comes after the operation of that
  /// flight. Nothing to do where operations are done when they return.
  virtual Status wait(int flight, const CollectiveSite &site) {
    (void)flight, (void)site;
    return Status::ok();
  }

  /// Whether the operation of that flight, which was started and not awaited
  /// yet, is done.
  virtual bool hasLanded(int flight) {
    (void)flight;
    return true;
  }

  /// Most operands lie in this memory of the device from now on: on its way to
  /// others it may be used as it lies. Null before that memory goes, when no
  /// operation is under way. Cheap where it is the same as before.
  virtual Status useMemory(std::byte *memory, int64_t bytes) {
    (void)memory, (void)bytes;
    return Status::ok();
  }

  /// Small control data, at most kMaxExchange bytes: `all` gets every rank's.
  static constexpr size_t kMaxExchange = 64;
  virtual Status exchange(const void *mine, size_t bytes, void *all,
                          const CollectiveSite &site) = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_COMMUNICATOR_H
