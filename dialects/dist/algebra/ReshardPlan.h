//===- ReshardPlan.h - Collectives that change a sharding -----------------===//
//
//   [{}, {}] partial {"tp"=2: sum}  to  [{}, {}]        all_reduce over tp
//   [{}, {}] partial {"tp"=2: sum}  to  [{"tp"=2}, {}]  reduce_scatter, dim 0
//   [{}, {"tp"=2}]                  to  [{}, {}]        all_gather of dim 1
//   [{}, {}]                        to  [{}, {"tp"=2}]  slice: nothing is sent
//   [{"tp"=2}, {}]                  to  [{}, {"tp"=2}]  all_to_all, 0 to 1
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_RESHARDPLAN_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_RESHARDPLAN_H

#include "dialects/dist/algebra/Collectives.h"

#include <optional>
#include <vector>

namespace shardc::dist {

enum class StepKind : uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Slice,
  Once
};

struct ReshardStep {
  StepKind kind;
  size_t dim = 0;                     ///< ReduceScatter, AllGather, AllToAll
  llvm::SmallVector<AxisRef, 2> axes; ///< all but Slice
  ReduceKind reduceKind = ReduceKind::Sum;
  Sharding after;
  size_t toDim = 0; ///< AllToAll
};

/// Steps from one sharding of a value to another; none if no steps lead there:
/// nothing makes parts of a maximum of what is whole. Without `moves` axes do
/// not go from dim to dim, but are gathered and cut.
std::optional<std::vector<ReshardStep>>
planReshard(const Sharding &from, const Sharding &to, bool moves = true);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_RESHARDPLAN_H
