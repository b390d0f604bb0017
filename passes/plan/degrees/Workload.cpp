//===- Workload.cpp - A model, and the requests that it is to serve -------===//

#include "passes/plan/degrees/Workload.h"

#include <algorithm>

namespace shardc::plan {

llvm::StringMap<int64_t> RowSizes::of(int64_t batch, int64_t length,
                                      int64_t past, int64_t encoder) const {
  const int64_t ofRow = (past + length + page - 1) / page;
  const int64_t ofEncoder = (encoder + page - 1) / page;
  return {{tokens, batch * length},
          {wanted, batch},
          {rows, batch},
          {pagesOfRow, ofRow},
          {pages, batch * (ofRow + ofEncoder)},
          {copies, 0},
          {encoderPages, ofEncoder},
          {encoderKeys, 0}};
}

int64_t RowSizes::partsOf(int64_t batch, int64_t length, int64_t stages) {
  /// Of the smallest part (runtime/serve/ReplicaServer.h).
  constexpr int64_t kTokens = 16;
  const int64_t most = stages == 1 ? 1 : std::min(batch, 2 * stages);
  return std::clamp<int64_t>(batch * length / kTokens, 1,
                             std::max<int64_t>(most, 1));
}

size_t typicalKind(llvm::ArrayRef<Workload> kinds) {
  return std::max_element(kinds.begin(), kinds.end(),
                          [](const Workload &a, const Workload &b) {
                            return a.weight < b.weight;
                          }) -
         kinds.begin();
}

} // namespace shardc::plan
