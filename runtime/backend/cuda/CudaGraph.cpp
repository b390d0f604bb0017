#include "runtime/backend/cuda/CudaGraph.h"

#include "runtime/backend/cuda/CudaStatus.h"

namespace shardc::runtime {

CudaGraph::~CudaGraph() {
  cudaSetDevice(device);
  if (executable)
    cudaGraphExecDestroy(executable);
}

Status CudaGraph::instantiate(cudaGraph_t graph) {
  return cudaStatus(cudaGraphInstantiate(&executable, graph, 0),
                    "cudaGraphInstantiate");
}

Status CudaGraph::launch(cudaStream_t stream) {
  return cudaStatus(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
}

} // namespace shardc::runtime
