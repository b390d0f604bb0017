//===- CudaGraph.h - Launches that were captured --------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_GRAPH_CUDAGRAPH_H
#define SHARDC_RUNTIME_DEVICE_CUDA_GRAPH_CUDAGRAPH_H

#include "runtime/device/Backend.h"
#include "runtime/device/cuda/collectives/PendingCollectives.h"
#include "runtime/device/cuda/graph/CapturedLaunches.h"

#include <memory>
#include <set>

namespace shardc::runtime {

class CudaGraph final : public DeviceGraph {
public:
  explicit CudaGraph(int device) : device(device) {}
  CudaGraph(const CudaGraph &) = delete;
  ~CudaGraph() override;

  /// Takes what the stream's capture gave, null if that failed: the nodes that
  /// the launches know.
  void own(cudaGraph_t captured) { nodes = captured; }
  Status instantiate();
  /// Sets the launches that `changed` has; it was captured, not instantiated.
  Status update(const CudaGraph &changed);
  /// What its kernels need stays as long as it: also what an update has
  /// replaced, since the last launch may still run that.
  void keep(std::shared_ptr<const void> used) { kept.insert(std::move(used)); }
  Status launch(cudaStream_t stream);

  CapturedLaunches launches;
  CapturedCollectives collectives;

private:
  const int device;
  cudaGraph_t nodes = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::set<std::shared_ptr<const void>> kept; // goes after them
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_GRAPH_CUDAGRAPH_H
