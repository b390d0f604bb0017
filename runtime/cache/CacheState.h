//===- CacheState.h - KV caches that stay with their ranks ----------------===//
//
// What a session keeps of one sequence (or one batch of them) between requests.
// Each rank has its part of each cache; a request appends to it in place:
//
//   capacity 8, heads split over 2 ranks, prompt of 5, then two steps of 1
//   rank 0, cache 0 [batch, 2 heads, 8, 16]:  positions 0-4, then 5, then 6
//
// Addresses are there for the whole capacity as soon as a cache is used, and
// stay as they are; memory comes page by page as a run reaches further
// (CacheViews.h), and stays for the next sequence when the state is reset.
//
// A program may also set a cache, whatever it held, or keep it as it is. Caches
// that no program appends to (the keys of an encoder) have no room to grow, and
// are as large as they were set. See CachePair in Program.fbs.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_CACHE_CACHESTATE_H
#define SHARDC_RUNTIME_CACHE_CACHESTATE_H

#include "runtime/artifact/Format.h"
#include "runtime/cache/StateMemory.h"
#include "runtime/device/Backend.h"
#include "runtime/program/CacheViews.h"
#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/Tensor.h"

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace shardc::runtime {

/// The scalars of all ranks, by rank.
using RankScalars = std::span<const std::vector<int64_t>>;

class CacheState {
public:
  /// For programs with the caches of `program`; `devices`, by rank, are where
  /// the parts are that this process keeps, null for the others.
  CacheState(const artifact::Program &program, std::vector<Device *> devices,
             int64_t capacity);

  const int64_t capacity;

  /// Positions that are taken, of the cache that has grown most.
  int64_t length() const;
  /// Of a rank of the stage that is here.
  StateMemory memoryTaken(int rank) const;
  void reset();
  /// Copies what is held to a state that holds nothing yet.
  Status copyTo(CacheState &other) const;

  // A run: addPast, then the program is chosen, sizePast, reserve, advance.

  /// The caller's tensors and, after them, past of each cache: without data,
  /// and empty until sizePast. Valid until the next call.
  Status addPast(std::span<const TensorInfo> infos,
                 std::span<const InputTensor> given,
                 std::vector<InputTensor> &all);
  /// Gives past the sizes that it has for this program. Sizes that only the
  /// request knows (the batch) are those of the other inputs.
  Status sizePast(const artifact::Program &program,
                  std::span<const TensorInfo> infos,
                  std::span<const InputTensor> given);
  /// Memory of all ranks before a run. Error if the run would need more
  /// positions than there are, what is held does not fit the program, or a
  /// device has no memory left; the state is then as before, but memory that
  /// has come stays. What the program sets is not held any more, until the run
  /// is over.
  Status reserve(const artifact::Program &program, RankScalars scalars);
  std::byte *memoryOf(int rank, size_t cache) const {
    return parts[static_cast<size_t>(rank)][cache].memory->data();
  }
  /// Another one as soon as some rank's memory may be elsewhere: the same for
  /// no two states of a process, and it changes on all processes alike. Memory
  /// that grows stays where it is.
  uint64_t placement() const { return placed; }
  /// After a run.
  Status advance(const artifact::Program &program, RankScalars scalars);

private:
  struct Entry {
    size_t input;              ///< past
    int64_t dim;               ///< that grows, or -1
    std::vector<int64_t> dims; ///< of what is held, global; empty: nothing
    std::vector<int64_t> past; ///< sizes for the run at hand
  };
  /// What one rank has of a cache.
  struct Part {
    std::unique_ptr<GrowingMemory> memory;
    int64_t bytes = -1; ///< of the capacity; also where it is elsewhere
    std::vector<OwnedRuns> dims; ///< of what is held
    int64_t heldBytes = 0;       ///< from the front, with what is held
    int64_t roomBytes() const { return memory ? memory->size() : 0; }
  };
  /// One cache in one program.
  struct Use {
    const artifact::Program &program;
    const artifact::CachePair &pair;
    size_t cache;
    const char *name() const {
      return program.inputs()->Get(pair.input())->name()->c_str();
    }
  };
  Status sizeOfPast(const Use &use, std::span<const TensorInfo> infos,
                    std::span<const InputTensor> given);
  Status checkRoom(const Use &use, std::span<const int64_t> scalars) const;
  static Status checkInputs(const artifact::Program &program, size_t rank,
                            std::span<const int64_t> scalars);
  Status checkPart(const Use &use, size_t rank,
                   std::span<const int64_t> scalars) const;
  Status growPart(const Use &use, size_t rank, std::span<const int64_t> scalars,
                  const CacheViews &views);
  Status copyPart(const Part &from, size_t rank, DeviceStream &stream,
                  Part &to) const;
  const CacheViews &viewsOf(const artifact::Program &program);

  static uint64_t nextPlacement();

  uint64_t placed = nextPlacement();
  std::vector<Entry> entries;
  const std::vector<Device *> devices;  ///< by rank; null: not here
  std::vector<std::vector<Part>> parts; ///< by rank and cache
  std::map<const artifact::Program *, CacheViews> views;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CACHE_CACHESTATE_H
