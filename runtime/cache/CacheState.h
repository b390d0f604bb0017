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
// A cache that keeps the last positions alone is as large before as after a run,
// which reads it in one place and writes it in another: what was written takes the
// place of the first when the next run begins, so that one that fails changes nothing.
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
#include "runtime/program/StageScalars.h"
#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/Tensor.h"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace shardc::runtime {

class CacheState {
public:
  /// For programs with the caches of `program`; `devices`, by rank, are where
  /// the parts are that this process keeps, null for the others.
  CacheState(const artifact::Program &program, std::vector<Device *> devices,
             int64_t capacity);

  const int64_t capacity;

  /// Positions that are taken, of the cache that has grown most; those that came,
  /// of caches that keep the last of them.
  int64_t length() const;
  /// Of a rank of the stage that is here.
  StateMemory memoryTaken(int rank) const;
  void reset();
  /// Copies what is held to a state that holds nothing yet.
  Status copyTo(CacheState &other);

  // A run: addPast, then the program is chosen, sizePast, prepare; each rank,
  // on its own thread, reserve and finish; then advance, if all went well.

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
  /// Error if the run would need more positions than there are; the state is
  /// then as before. What the program sets is not held any more, until the run
  /// is over. Of what does not differ between ranks `scalars` are any rank's.
  Status prepare(const artifact::Program &program, StageScalars &scalars);
  /// Memory of a rank that is here. Error if what is held does not fit the
  /// program, or the device has no memory left; memory that has come stays.
  Status reserve(const artifact::Program &program, int rank,
                 std::span<const int64_t> scalars, DeviceStream &stream);
  /// No program reads more of past than its cache has: for sizes that the rank
  /// has not run with.
  static Status checkPast(const artifact::Program &program, int rank,
                          std::span<const int64_t> scalars);
  std::byte *memoryOf(int rank, size_t cache) const {
    return parts[static_cast<size_t>(rank)][cache].memory->data();
  }
  /// Where a run writes present: mostly the same.
  std::byte *presentOf(int rank, size_t cache) const {
    const Part &part = parts[static_cast<size_t>(rank)][cache];
    return (part.next ? part.next : part.memory)->data();
  }
  /// Another one as soon as some rank's memory may be elsewhere: the same for
  /// no two states of a process, and it changes on all processes alike. Memory
  /// that grows stays where it is.
  uint64_t placement() const { return placed; }
  /// The rank has what comes after the run, once advance says that it counts.
  Status finish(const artifact::Program &program, int rank,
                std::span<const int64_t> scalars);
  void advance(const artifact::Program &program,
               std::span<const int64_t> scalars);
  /// Takes back the last advance, for a run that others could not end, and that
  /// no other one has followed. What a program had set is held no more.
  void undo();
  /// Whether a program sets what it holds, and has begun to: what was there
  /// before is gone.
  bool isOverwritten() const { return overwrittenBy == runs + 1; }

private:
  struct Entry {
    size_t input;              ///< past
    int64_t dim;               ///< that grows, or -1
    std::vector<int64_t> dims; ///< of what is held, global; empty: nothing
    std::vector<int64_t> past; ///< sizes for the run at hand
    std::vector<int64_t> before = {}; ///< of what was held before the last run
    /// That came in all, of a cache that keeps the last ones.
    int64_t positions = 0, positionsBefore = 0;
  };
  struct Held {
    std::vector<OwnedRuns> dims;
    int64_t bytes = 0; ///< from the front of the part, with what is held
  };
  /// One cache in one program.
  struct Use {
    const artifact::Program &program;
    const artifact::CachePair &pair;
    size_t cache;
    const char *name() const {
      return program.inputs()->Get(pair.input())->name()->c_str();
    }
    /// It has the last positions alone.
    bool isReplaced() const {
      return pair.kind() == artifact::CacheKind_Write && pair.dim() < 0;
    }
  };
  /// What one rank has of a cache.
  struct Part {
    std::unique_ptr<GrowingMemory> memory;
    std::unique_ptr<GrowingMemory> next; ///< of one that is replaced: present
    int64_t bytes = -1; ///< of the capacity; also where it is elsewhere
    Held held;
    Held coming;             ///< with the run at hand
    uint64_t comingWith = 0; ///< counts once that many runs did; 0: nothing
    /// Of a pool of pages: whose it is, and stays as it is.
    const artifact::Program *poolOf = nullptr;
    bool isPoolOf(const Use &use) const {
      return use.pair.kind() == artifact::CacheKind_Write &&
             !use.isReplaced() && poolOf == &use.program && !held.dims.empty();
    }
    int64_t roomBytes() const { return memory ? memory->size() : 0; }
  };
  Status sizeOfPast(const Use &use, std::span<const TensorInfo> infos,
                    std::span<const InputTensor> given);
  Status checkRoom(const Use &use, std::span<const int64_t> scalars) const;
  Status sizeParts(const artifact::Program &program, StageScalars &scalars);
  Status settle(Part &part, size_t rank, DeviceStream *stream) const;
  Status reserveNext(const Use &use, size_t rank);
  Status checkPart(const Use &use, size_t rank,
                   std::span<const int64_t> scalars) const;
  Status growPart(const Use &use, size_t rank,
                  std::span<const int64_t> scalars);
  Status copyPart(const Part &from, size_t rank, DeviceStream &stream,
                  Part &to) const;

  static uint64_t nextPlacement();

  uint64_t placed = nextPlacement();
  uint64_t runs = 0;          ///< that advance counted
  uint64_t overwrittenBy = 0; ///< the run that will be so many
  std::vector<Entry> entries;
  const std::vector<Device *> devices;  ///< by rank; null: not here
  std::vector<std::vector<Part>> parts; ///< by rank and cache
  std::map<const artifact::Program *, CacheViews> views; ///< of those that ran
  /// For these sizes of caches these programs have the parts' bytes.
  std::vector<int64_t> cacheSizes;
  std::set<const artifact::Program *> sizedFor;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CACHE_CACHESTATE_H
