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
//   large values   all meet; rank i reduces the i-th chunk of all inputs into
//                  its output; all meet; everyone copies the other chunks; all
//                  meet, since outputs were read by others.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_THREADS_SHAREDMEMORYGROUP_H
#define SHARDC_RUNTIME_COLLECTIVES_THREADS_SHAREDMEMORYGROUP_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/collectives/Communicator.h"
#include "runtime/collectives/threads/Rendezvous.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

/// What the members share; owned by the session. Every member gets one
/// communicator, which only its thread uses.
class SharedMemoryGroup {
public:
  /// Values up to this many bytes a rank take the short way.
  static constexpr int64_t kSlotBytes = 32 * 1024;

  SharedMemoryGroup(std::vector<int> members, RunFailure &failure);

  /// False if there is no memory for the slots.
  [[nodiscard]] bool allocate();
  std::unique_ptr<Communicator> join(int index);

private:
  friend class SharedMemoryCommunicator;
  struct Published {
    TensorView input;
    TensorView output;
  };
  /// Into which a member writes before it comes to the next meeting.
  int nextSet() const { return static_cast<int>(meeting.round() & 1); }
  std::byte *slot(int set, int index) const {
    return slots.data() + (set * meeting.size() + index) * kSlotBytes;
  }

  Rendezvous meeting;
  std::vector<Published> published;
  AlignedBuffer slots;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_THREADS_SHAREDMEMORYGROUP_H
