//===- CollectiveBinding.h - A collective with everything it needs --------===//
//
// Bound once per input shape. Where the peers' blocks lie follows from the same
// layout evaluated with the peers' scalars, so no rank has to ask another; that
// all ranks agree on the shapes is checked here, before any rank waits.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_COLLECTIVEBINDING_H
#define SHARDC_RUNTIME_PLAN_COLLECTIVEBINDING_H

#include "runtime/artifact/Instructions.h"
#include "runtime/collectives/Communicator.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/program/StageScalars.h"

#include <span>
#include <vector>

namespace shardc::runtime {

struct BoundCollective {
  const CollectiveForm *form = nullptr;
  Communicator *communicator = nullptr;
  ReduceKind reduce = ReduceKind::Sum;
  DimBlocks split;              ///< where its form has a split dim
  DimBlocks to;                 ///< and a second one
  int distance = 0;             ///< of shift, below the number of ranks
  std::vector<int64_t> experts; ///< where it is routed (ExpertRouting.h)
  int64_t bytes = 0;            ///< of the group's global value
  /// Sent by all ranks of one group together: all_gather and reduce_scatter
  /// (k - 1) N, all_reduce 2 (k - 1) N, all_to_all (k - 1) N / k, shift N;
  /// dispatch and combine at most what all_gather and reduce_scatter do.
  int64_t wireBytes = 0;

  bool operator==(const BoundCollective &) const = default;
};

/// `members`: the ranks of the group in order; `scalars`: one of theirs.
Status bindCollective(const artifact::Program &program,
                      const artifact::Instruction &instruction,
                      std::span<const int> members, StageScalars &scalars,
                      Communicator &communicator, BoundCollective &bound);

Status runCollective(const BoundCollective &bound, const KernelCall &call,
                     const CollectiveSite &site);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_COLLECTIVEBINDING_H
