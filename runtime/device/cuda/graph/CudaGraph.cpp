#include "runtime/device/cuda/graph/CudaGraph.h"

#include "runtime/device/cuda/CudaStatus.h"

namespace shardc::runtime {

CudaGraph::~CudaGraph() {
  cudaSetDevice(device);
  if (executable)
    cudaGraphExecDestroy(executable);
  if (nodes)
    cudaGraphDestroy(nodes);
}

Status CudaGraph::instantiate() {
  return cudaStatus(cudaGraphInstantiate(&executable, nodes, 0),
                    "cudaGraphInstantiate");
}

/// Some nodes may be set where others could not.
Status CudaGraph::update(const CudaGraph &changed) {
  kept.insert(changed.kept.begin(), changed.kept.end());
  return launches.setNodes(executable, changed.launches);
}

Status CudaGraph::launch(cudaStream_t stream) {
  return cudaStatus(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
}

} // namespace shardc::runtime
