//===- CacheState.h - KV caches that stay with their ranks ----------------===//
//
// What a session keeps of one sequence (or one batch of them) between requests.
// Each rank has its part of each cache, with room for `capacity` positions; a
// request appends to it in place:
//
//   capacity 8, heads split over 2 ranks, prompt of 5, then two steps of 1
//   rank 0, cache 0 [batch, 2 heads, 8, 16]:  positions 0-4, then 5, then 6
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_CACHESTATE_H
#define SHARDC_RUNTIME_EXEC_CACHESTATE_H

#include "runtime/api/shardrt.hpp"
#include "runtime/artifact/Format.h"

#include <memory>
#include <span>
#include <vector>

namespace shardc::runtime {

class CacheState {
public:
  /// For programs with the caches of `program`.
  CacheState(const artifact::Program &program, int numRanks, int64_t capacity);

  const int64_t capacity;

  /// Positions that are taken, of the cache that holds most.
  int64_t length() const;
  void reset();
  Status copyTo(CacheState &other) const;

  /// The caller's tensors and, after them, past of each cache with the sizes
  /// that it has now; nobody reads its data there. Sizes that only the request
  /// knows (the batch) are those of the other inputs. Valid until the next
  /// call.
  Status addPast(const artifact::Program &program,
                 std::span<const TensorInfo> infos,
                 std::span<const InputTensor> given,
                 std::vector<InputTensor> &all);

  /// Memory of all ranks before a run: `scalars` by rank. Error if the run
  /// would need more positions than there are, or other sizes than before.
  Status reserve(const artifact::Program &program,
                 std::span<const std::vector<int64_t>> scalars);
  std::byte *memoryOf(int rank, size_t cache) const {
    return memory[static_cast<size_t>(rank)][cache].data();
  }
  /// After a run.
  void advance(const artifact::Program &program,
               std::span<const int64_t> scalars);

private:
  Status sizeOfPast(const artifact::Program &program,
                    std::span<const TensorInfo> infos,
                    std::span<const InputTensor> given, size_t cache);
  Status reserveOnRank(const artifact::Program &program,
                       const artifact::CachePair &pair, size_t rank,
                       std::span<const int64_t> scalars,
                       AlignedBuffer &buffer) const;

  struct Entry {
    std::vector<int64_t> dims; ///< of past, global; empty before the first run
    size_t dim;
  };
  std::vector<Entry> entries;
  std::vector<std::vector<AlignedBuffer>> memory; ///< by rank and cache
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_CACHESTATE_H
