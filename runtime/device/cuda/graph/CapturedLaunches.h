//===- CapturedLaunches.h - The nodes of each launch of a graph -----------===//
//
// A launch that is captured becomes nodes of a graph: one for each kernel, copy
// or memset of it. A graph that is to run with other arguments of a launch gets
// those of the same launch, captured once more:
//
//   captured  Attention (instruction 7): parts, merge
//   again     Attention (instruction 7): parts', merge'
//   setNodes  the executable runs parts' and merge' from now on
//
// A kernel may begin before the one ahead has ended (programmatic dependent
// launch), if it was launched so: that is an edge's data and an attribute of
// the kernel, which both stay as they were captured. So they have to be alike.
//
// (CUDA Driver API, Graph Management: cuGraphExecKernelNodeSetParams.)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_GRAPH_CAPTUREDLAUNCHES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_GRAPH_CAPTUREDLAUNCHES_H

#include "runtime/base/Status.h"

#include <cuda_runtime_api.h>
#include <map>
#include <vector>

namespace shardc::runtime {

class CapturedLaunches {
public:
  /// Around what a launch captures, of a stream that is captured.
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream, int instruction);

  /// Gives an executable of the graph that these are of what `changed` has. The
  /// error: there is no such launch, or it has other kinds of nodes; some may
  /// have been set.
  Status setNodes(cudaGraphExec_t executable,
                  const CapturedLaunches &changed) const;

private:
  using Nodes = std::vector<cudaGraphNode_t>;
  /// Nodes in their order, each with the edge from the one ahead.
  struct Launch {
    Nodes nodes;
    std::vector<cudaGraphEdgeData> edges;
  };
  static bool findLast(cudaStream_t stream, Nodes &last);
  static bool findBetween(const Nodes &before, const Nodes &after,
                          Launch &between);

  Nodes before; ///< what the launch at hand comes behind
  bool isKnown = false;
  std::map<int, Launch> launches; ///< by instruction, those that are known
  bool areAllKnown = true;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_GRAPH_CAPTUREDLAUNCHES_H
