//===- SimulatedGraph.cpp - Graphs of captured work, of cudart ------------===//
//
// Parameters of a node name the node that they were asked of and nothing else:
// who passes them on gives its work to another node.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulatedCapture.h"
#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedDriver.h"

#include <algorithm>
#include <mutex>

using namespace shardc::testing;

struct CUgraph_st {
  SimulatedNodes nodes;
};

struct CUgraphExec_st {
  struct Entry {
    cudaGraphNode_t node; ///< of the graph that it was made of
    cudaGraphNodeType type;
    CUgraphNode_st::Work work;
  };
  int device;
  std::vector<Entry> entries;
};

namespace {

/// Graphs that were not destroyed yet.
std::mutex mutex;
std::set<cudaGraph_t> graphs;
std::set<cudaGraphExec_t> executables;

bool isThere(cudaGraphExec_t executable) {
  std::lock_guard lock(mutex);
  return executables.count(executable) > 0;
}

/// Null if its graph is gone.
std::shared_ptr<CUgraphNode_st> nodeAt(const void *address) {
  std::lock_guard lock(mutex);
  for (cudaGraph_t graph : graphs)
    for (const auto &node : graph->nodes)
      if (node.get() == address)
        return node;
  return nullptr;
}

/// The work of `by` in the place of the node's.
cudaError_t setWork(cudaGraphExec_t executable, cudaGraphNode_t node,
                    const void *by, cudaGraphNodeType type) {
  if (!isThere(executable))
    return noted(cudaErrorInvalidValue);
  const auto from = nodeAt(by);
  const auto to = std::find_if(
      executable->entries.begin(), executable->entries.end(),
      [&](const CUgraphExec_st::Entry &entry) { return entry.node == node; });
  if (!from || from->type != type || to == executable->entries.end() ||
      to->type != type || !nodeAt(node))
    return noted(cudaErrorInvalidValue);
  // Attributes are no parameters; the runtime sets copies of one row alone.
  if (from->attributes != nodeAt(node)->attributes || from->attributes.isOfRows)
    return noted(cudaErrorInvalidValue);
  to->work = from->work;
  spend(HostCost::NodeUpdate);
  return noted(cudaSuccess);
}

bool isOfType(cudaGraphNode_t handle, cudaGraphNodeType type) {
  const auto node = nodeAt(handle);
  return node && node->type == type;
}

// The driver's alone: of kernels of other libraries the runtime refuses to
// speak.

CUresult getKernelParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params) {
  *params = {};
  params->func = reinterpret_cast<CUfunction>(node);
  return isOfType(node, cudaGraphNodeTypeKernel) ? CUDA_SUCCESS
                                                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult setKernelParams(CUgraphExec executable, CUgraphNode node,
                         const CUDA_KERNEL_NODE_PARAMS *params) {
  return setWork(executable, node, params->func, cudaGraphNodeTypeKernel) ==
                 cudaSuccess
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

const SimulatedDriver driver = {
    driverEntry<decltype(cuGraphKernelNodeGetParams)>(
        "cuGraphKernelNodeGetParams", getKernelParams),
    driverEntry<decltype(cuGraphExecKernelNodeSetParams)>(
        "cuGraphExecKernelNodeSetParams", setKernelParams),
};

} // namespace

extern "C" {

/// Of other threads' work nothing is refused, and of this one's nothing is let
/// pass: other modes are not used.
cudaError_t cudaStreamBeginCapture(cudaStream_t handle,
                                   cudaStreamCaptureMode mode) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  if (!handle || mode != cudaStreamCaptureModeThreadLocal)
    return noted(cudaErrorStreamCaptureUnsupported);
  if (stream->capture)
    return noted(cudaErrorIllegalState);
  stream->capture = std::make_shared<SimulatedCapture>(stream);
  return noted(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle,
                                  cudaStreamCaptureStatus *status) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  *status = stream->capture ? cudaStreamCaptureStatusActive
                            : cudaStreamCaptureStatusNone;
  return noted(cudaSuccess);
}

/// All edges are plain, which a null says.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle,
                                     cudaStreamCaptureStatus *status,
                                     unsigned long long *, cudaGraph_t *,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges,
                                     size_t *count) {
  const cudaError_t error = cudaStreamIsCapturing(handle, status);
  if (error != cudaSuccess || *status != cudaStreamCaptureStatusActive)
    return error;
  const auto stream = simulatedStream(handle);
  const auto &last = stream->capture->pointOf(*stream).last;
  *dependencies = last.data();
  *count = last.size();
  *edges = nullptr;
  return noted(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
  *graph = nullptr;
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  const auto capture = stream->capture;
  if (!capture)
    return noted(cudaErrorIllegalState);
  SimulatedNodes nodes;
  const cudaError_t error = capture->end(*stream, nodes);
  if (error != cudaSuccess)
    return noted(error);
  *graph = new CUgraph_st{std::move(nodes)};
  std::lock_guard lock(mutex);
  graphs.insert(*graph);
  return noted(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (!graph || flags != 0)
    return noted(cudaErrorInvalidValue);
  *executable = new CUgraphExec_st{simulatedCurrent(), {}};
  for (const auto &node : graph->nodes)
    (*executable)->entries.push_back({node.get(), node->type, node->work});
  spend(HostCost::Instantiate, static_cast<unsigned>(graph->nodes.size()));
  std::lock_guard lock(mutex);
  executables.insert(*executable);
  return noted(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  if (breaksSimulatedCapture(*stream))
    return noted(cudaErrorStreamCaptureUnsupported);
  if (!isThere(executable) || stream->device != executable->device)
    return noted(cudaErrorInvalidValue);
  spend(HostCost::GraphLaunch);
  for (const CUgraphExec_st::Entry &entry : executable->entries)
    entry.work(stream);
  return noted(simulatedFailure(stream->device));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  std::lock_guard lock(mutex);
  if (!graphs.erase(graph))
    return noted(cudaErrorInvalidValue);
  delete graph;
  return noted(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  std::lock_guard lock(mutex);
  if (!executables.erase(executable))
    return noted(cudaErrorInvalidValue);
  delete executable;
  return noted(cudaSuccess);
}

//===--- Nodes ------------------------------------------------------------===//

/// While it is captured, too, or of a graph. Who does not ask for the edges'
/// data is told if there are some.
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                         cudaGraphNode_t *dependencies,
                                         cudaGraphEdgeData *edges,
                                         size_t *count) {
  if (dependencies) {
    if (*count < node->dependencies.size())
      return noted(cudaErrorInvalidValue);
    std::copy(node->dependencies.begin(), node->dependencies.end(),
              dependencies);
    for (size_t i = 0; i < node->dependencies.size(); ++i) {
      const bool isPlain = !node->isProgrammaticBehind(*dependencies[i]);
      if (!isPlain && !edges)
        return noted(cudaErrorLossyQuery);
      if (edges)
        edges[i] = {};
      if (!isPlain) {
        edges[i].from_port = cudaGraphKernelNodePortProgrammatic;
        edges[i].type = cudaGraphDependencyTypeProgrammatic;
      }
    }
  }
  *count = node->dependencies.size();
  return noted(cudaSuccess);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle,
                                 cudaGraphNodeType *type) {
  const auto node = nodeAt(handle);
  if (!node)
    return noted(cudaErrorInvalidValue);
  *type = node->type;
  return noted(cudaSuccess);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node,
                                            cudaLaunchAttributeID id,
                                            cudaLaunchAttributeValue *value) {
  const auto found = nodeAt(node);
  if (!found || found->type != cudaGraphNodeTypeKernel)
    return noted(cudaErrorInvalidValue);
  const SimulatedAttributes &attributes = found->attributes;
  auto set = [](auto &to, const SimulatedAttributes::Cluster &from) {
    to.x = from.x, to.y = from.y, to.z = from.z;
  };
  *value = {};
  switch (id) {
  case cudaLaunchAttributeCooperative:
    break; // nothing is launched so
  case cudaLaunchAttributeClusterDimension:
    set(value->clusterDim, attributes.cluster);
    break;
  case cudaLaunchAttributePreferredClusterDimension:
    set(value->preferredClusterDim, attributes.preferredCluster);
    break;
  case cudaLaunchAttributeProgrammaticStreamSerialization:
    value->programmaticStreamSerializationAllowed = attributes.isProgrammatic;
    break;
  default:
    return noted(cudaErrorInvalidValue); // add what is asked for
  }
  return noted(cudaSuccess);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                         cudaMemcpy3DParms *params) {
  *params = {};
  params->srcPtr.ptr = node;
  return noted(isOfType(node, cudaGraphNodeTypeMemcpy) ? cudaSuccess
                                                       : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable,
                                             cudaGraphNode_t node,
                                             const cudaMemcpy3DParms *params) {
  return setWork(executable, node, params->srcPtr.ptr, cudaGraphNodeTypeMemcpy);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                         cudaMemsetParams *params) {
  *params = {};
  params->dst = node;
  return noted(isOfType(node, cudaGraphNodeTypeMemset) ? cudaSuccess
                                                       : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable,
                                             cudaGraphNode_t node,
                                             const cudaMemsetParams *params) {
  return setWork(executable, node, params->dst, cudaGraphNodeTypeMemset);
}

} // extern "C"
