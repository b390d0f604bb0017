//===- CudaGraph.h - Launches that were captured --------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_CUDA_CUDAGRAPH_H
#define SHARDC_RUNTIME_BACKEND_CUDA_CUDAGRAPH_H

#include "runtime/backend/Backend.h"
#include "runtime/backend/cuda/PendingCollectives.h"

namespace shardc::runtime {

class CudaGraph final : public DeviceGraph {
public:
  explicit CudaGraph(int device) : device(device) {}
  ~CudaGraph() override;

  /// Of what the stream's capture gave.
  Status instantiate(cudaGraph_t graph);
  Status launch(cudaStream_t stream);

  CapturedCollectives collectives;

private:
  const int device;
  cudaGraphExec_t executable = nullptr;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BACKEND_CUDA_CUDAGRAPH_H
