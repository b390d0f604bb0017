//===- SharedMemoryGroup.h - Collectives between threads ------------------===//
//
// The ranks of a group are threads: they publish pointers, meet, and read each
// other's memory.
//
//   small values   each rank packs its input into a slot of the group, all meet
//                  once, then everyone reads all slots. Slots alternate between
//                  two sets, by the number of the meeting, so the next write
//                  cannot overtake a slow reader: whoever writes into a set has
//                  been at the meeting after that where it was read.
//   all_reduce     of more than 8 ranks by groups of 8 (ReduceTree.h)
//   all_reduce     of small values, where the slots of all are much to read:
//                  rank i reduces the i-th chunk of all slots into the other
//                  set, all meet once more, and everyone reads the result once
//   large values   all meet; rank i reduces the i-th chunk of all inputs into
//                  the set of slots; all meet; everyone copies the result
//                  from there. Values larger than a set: into its output, from
//                  where others copy it before all meet a third time.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_THREADS_SHAREDMEMORYGROUP_H
#define SHARDC_RUNTIME_COLLECTIVES_THREADS_SHAREDMEMORYGROUP_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/collectives/Communicator.h"
#include "runtime/collectives/threads/ReduceTree.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

/// What a member has done in all_reduces.
struct ReduceTraffic {
  int64_t meetings = 0;
  int64_t bytesRead = 0;    ///< of memory that others have written, or it
  int64_t bytesBetween = 0; ///< of them, those of other groups of ranks
  int64_t bytesWritten = 0; ///< its outputs too
};

/// What the members share; owned by the session. Every member gets one
/// communicator, which only its thread uses.
class SharedMemoryGroup {
public:
  /// Values up to this many bytes a rank take the short way.
  static constexpr int64_t kSlotBytes = 32 * 1024;

  /// What a rank may read of the others' slots to spare a meeting.
  static constexpr int64_t kOneMeetingBytes = 64 * 1024;
  /// Of memory that a member adds to a set of slots. Pages that are never
  /// written take none.
  static constexpr int64_t kShareBytes = 64 * 1024;

  SharedMemoryGroup(std::vector<int> members, RunFailure &failure);

  /// False if there is no memory for the slots.
  [[nodiscard]] bool allocate();
  std::unique_ptr<Communicator> join(int index);
  /// Of each, that of the member with the most; only while none does anything.
  ReduceTraffic mostTraffic() const;

private:
  friend class SharedMemoryCommunicator;
  /// No two members write into one cache line.
  struct alignas(64) Published {
    TensorView input;
    TensorView output;
    ReduceTraffic traffic;
  };
  /// Into which a member writes before it comes to the next meeting.
  int nextSet() const { return static_cast<int>(meeting.round() & 1); }
  std::byte *slot(int set, int index) const {
    return slots.data() + (set * meeting.size() + index) * kShareBytes;
  }

  int64_t setBytes() const { return meeting.size() * kShareBytes; }

  Rendezvous meeting;
  std::vector<Published> published;
  AlignedBuffer slots;
  std::unique_ptr<ReduceTree> tree; ///< null: its ranks are one group
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_THREADS_SHAREDMEMORYGROUP_H
