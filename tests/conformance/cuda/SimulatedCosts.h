//===- SimulatedCosts.h - What calls cost the host ------------------------===//
//
// There is no clock here: calls are counted, and the file that
// SHARDC_SIMULATED_COSTS names gets, when the process ends, how many there were
// and what they would take on a host of today in microseconds:
//
//   {"launch": 96, "node_update": 12, ..., "microseconds": 480}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCOSTS_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCOSTS_H

namespace shardc::testing {

enum class HostCost {
  Launch,      ///< of a kernel, a copy or a memset, captured or not
  NodeUpdate,  ///< of a node of an executable graph
  Instantiate, ///< a node of a graph that becomes executable
  GraphLaunch,
  NcclCall, ///< that makes a thread, and is waited for
  Heuristics,
  Allocation,    ///< and its end
  AttentionPlan, ///< of a shape of cuDNN's, which is compiled
  Count
};

void spend(HostCost cost, unsigned times = 1);

/// How often it was spent.
long spentSoFar(HostCost cost);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCOSTS_H
