#include "runtime/collectives/threads/ReduceTree.h"

#include <algorithm>

namespace shardc::runtime {

ReduceTree::ReduceTree(const std::vector<int> &members, RunFailure &failure) {
  for (size_t first = 0; first < members.size(); first += kReduceFan) {
    const size_t end = std::min(first + kReduceFan, members.size());
    meetings.emplace_back(
        std::vector<int>(members.begin() + static_cast<std::ptrdiff_t>(first),
                         members.begin() + static_cast<std::ptrdiff_t>(end)),
        failure);
  }
}

bool ReduceTree::allocate() {
  return memory.allocate((2 * numGroups() + 1) * kPartBytes);
}

} // namespace shardc::runtime
