//===- ReplicaCheck.h - Replicated values are equal on all ranks ----------===//
//
// Debug mode (SHARDC_CHECK_REPLICAS=1, shardrun --check-replicas): whatever the
// program calls replicated must hold the same bits everywhere, or ranks decide
// differently sooner or later. Hashes are compared after each instruction.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RUNNER_REPLICACHECK_H
#define SHARDC_RUNTIME_RUNNER_REPLICACHECK_H

#include "runtime/collectives/Communicator.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// Hash of a tensor's dims and its elements in row-major order, whatever its
/// strides are.
void hashTensor(const TensorView &view, uint64_t hash[2]);

/// Compares `view` over all ranks of `world`; `scratch` is reused between
/// calls.
Status checkReplicated(const TensorView &view, int output, Communicator &world,
                       const CollectiveSite &site,
                       std::vector<uint64_t> &scratch);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RUNNER_REPLICACHECK_H
