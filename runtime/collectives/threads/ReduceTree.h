//===- ReduceTree.h - All_reduces of many threads, by groups --------------===//
//
// Ranks are in groups of 8, one after the other, which share a socket where ranks
// are bound to nodes (launch/HostNodes.h). Few bytes go from group to group:
//
//   1  a rank reduces its part of what the group has     a group meets before
//   2  and its part of all groups' sums                  all meet before, and
//   3  copies its part of the result into its group's    after
//   4  where all of the group read it                    a group meets before
//
// Of 32 ranks, n bytes, a rank reads from other groups 3/32 n in step 2 and at
// most 4/32 n in step 3; where each read all, 24/32 n and 24/32 n. Sums are those of
// Reduction.h, whose order knows nothing of sockets. Large values come in parts.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_THREADS_REDUCETREE_H
#define SHARDC_RUNTIME_COLLECTIVES_THREADS_REDUCETREE_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/collectives/Reduction.h"
#include "runtime/collectives/threads/Rendezvous.h"

#include <deque>

namespace shardc::runtime {

/// What the members of a group of more than kReduceFan share.
class ReduceTree {
public:
  static constexpr int kOfGroup = static_cast<int>(kReduceFan);
  /// Of a part, as accumulated.
  static constexpr int64_t kPartBytes = 1 << 20;

  ReduceTree(const std::vector<int> &members, RunFailure &failure);

  /// False if there is no memory.
  [[nodiscard]] bool allocate();

  int numGroups() const { return static_cast<int>(meetings.size()); }
  /// Where those of a group meet.
  Rendezvous &meeting(int group) {
    return meetings[static_cast<size_t>(group)];
  }

  // Memory for a part. Whoever writes there first has it near.
  std::byte *sums(int group) const { return at(group); }
  std::byte *copy(int group) const { return at(numGroups() + group); }
  std::byte *result() const { return at(2 * numGroups()); }

private:
  std::byte *at(int64_t number) const {
    return memory.data() + number * kPartBytes;
  }

  std::deque<Rendezvous> meetings;
  AlignedBuffer memory;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_THREADS_REDUCETREE_H
