#include "runtime/backend/cuda/CapturedLaunches.h"

#include "runtime/backend/cuda/CudaStatus.h"
#include "runtime/backend/cuda/DriverFunction.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cuda.h>

namespace shardc::runtime {
namespace {

using Nodes = std::vector<cudaGraphNode_t>;
using Edges = std::vector<cudaGraphEdgeData>;

/// Edges of another kind let a kernel start before the one ahead has ended,
/// which not every kernel that may take its place can.
bool arePlain(const cudaGraphEdgeData *edges, size_t count) {
  return !edges || std::all_of(edges, edges + count, [](const auto &edge) {
    return edge.type == cudaGraphDependencyTypeDefault;
  });
}

/// In the order of their addresses.
bool findDependencies(cudaGraphNode_t node, Nodes &dependencies) {
  size_t count = 0;
  if (cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count) !=
      cudaSuccess)
    return false;
  dependencies.resize(count);
  Edges edges(count);
  if (count > 0 &&
      cudaGraphNodeGetDependencies(node, dependencies.data(), edges.data(),
                                   &count) != cudaSuccess)
    return false;
  std::sort(dependencies.begin(), dependencies.end());
  return arePlain(edges.data(), count);
}

Status notAlike(const char *what) {
  return artifactError("a launch of the graph has changed its ", what);
}

/// What is no parameter of a kernel's node stays as it was captured.
Status checkAttributes(cudaGraphNode_t node, cudaGraphNode_t by) {
  for (cudaLaunchAttributeID id :
       {cudaLaunchAttributeClusterDimension, cudaLaunchAttributeCooperative}) {
    cudaLaunchAttributeValue was = {}, is = {};
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaGraphKernelNodeGetAttribute(node, id, &was),
                   "cudaGraphKernelNodeGetAttribute"));
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaGraphKernelNodeGetAttribute(by, id, &is),
                   "cudaGraphKernelNodeGetAttribute"));
    // No cluster is one of a block.
    auto differ = [](unsigned a, unsigned b) {
      return std::max(a, 1u) != std::max(b, 1u);
    };
    if (id == cudaLaunchAttributeCooperative
            ? was.cooperative != is.cooperative
            : differ(was.clusterDim.x, is.clusterDim.x) ||
                  differ(was.clusterDim.y, is.clusterDim.y) ||
                  differ(was.clusterDim.z, is.clusterDim.z))
      return notAlike("cluster");
  }
  return Status::ok();
}

/// By the driver: the runtime does not know kernels of a library that has a
/// runtime of its own, as cuBLASLt and cuDNN do, and refuses their parameters
/// (cudaErrorInvalidDeviceFunction).
Status setKernel(cudaGraphExec_t executable, cudaGraphNode_t node,
                 cudaGraphNode_t by) {
  decltype(&cuGraphKernelNodeGetParams) get = nullptr;
  decltype(&cuGraphExecKernelNodeSetParams) set = nullptr;
  if (!findDriverFunction("cuGraphKernelNodeGetParams", get) ||
      !findDriverFunction("cuGraphExecKernelNodeSetParams", set))
    return artifactError("the driver does not change graphs");
  CUDA_KERNEL_NODE_PARAMS params = {};
  if (const CUresult result = get(by, &params); result != CUDA_SUCCESS)
    return artifactError("cuGraphKernelNodeGetParams: error ", result);
  if (const CUresult result = set(executable, node, &params);
      result != CUDA_SUCCESS)
    return artifactError("cuGraphExecKernelNodeSetParams: error ", result);
  return Status::ok();
}

/// Gives the executable's node the parameters of another one of its kind.
template <typename Params>
Status setParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                 cudaGraphNode_t by,
                 cudaError_t (*get)(cudaGraphNode_t, Params *),
                 cudaError_t (*set)(cudaGraphExec_t, cudaGraphNode_t,
                                    const Params *)) {
  Params params = {};
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(get(by, &params), "parameters of a graph's node"));
  return cudaStatus(set(executable, node, &params),
                    "parameters of an executable graph's node");
}

Status setNode(cudaGraphExec_t executable, cudaGraphNode_t node,
               cudaGraphNode_t by) {
  cudaGraphNodeType was = {}, is = {};
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaGraphNodeGetType(node, &was), "cudaGraphNodeGetType"));
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaGraphNodeGetType(by, &is), "cudaGraphNodeGetType"));
  if (was != is)
    return notAlike("kind");
  switch (is) {
  case cudaGraphNodeTypeKernel:
    SHARDC_RETURN_IF_ERROR(checkAttributes(node, by));
    return setKernel(executable, node, by);
  case cudaGraphNodeTypeMemcpy:
    return setParams(executable, node, by, cudaGraphMemcpyNodeGetParams,
                     cudaGraphExecMemcpyNodeSetParams);
  case cudaGraphNodeTypeMemset:
    return setParams(executable, node, by, cudaGraphMemsetNodeGetParams,
                     cudaGraphExecMemsetNodeSetParams);
  default:
    return notAlike("kind"); // nothing else is launched
  }
}

} // namespace

/// What the stream's next work comes behind, in the order of addresses.
bool CapturedLaunches::findLast(cudaStream_t stream, Nodes &last) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t *nodes = nullptr;
  const cudaGraphEdgeData *edges = nullptr;
  size_t count = 0;
  if (cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes,
                               &edges, &count) != cudaSuccess ||
      status != cudaStreamCaptureStatusActive)
    return false;
  last.assign(nodes, nodes + count);
  std::sort(last.begin(), last.end());
  return arePlain(edges, count);
}

/// What was captured since, if one came behind the other.
bool CapturedLaunches::findBetween(const Nodes &before, const Nodes &after,
                                   Nodes &between) {
  Nodes at = after;
  while (at != before) {
    if (at.size() != 1)
      return false;
    const cudaGraphNode_t node = at.front();
    between.push_back(node);
    if (!findDependencies(node, at))
      return false;
  }
  std::reverse(between.begin(), between.end());
  return true;
}

void CapturedLaunches::begin(cudaStream_t stream) {
  isKnown = findLast(stream, before);
}

void CapturedLaunches::end(cudaStream_t stream, int instruction) {
  Nodes after, between;
  if (isKnown && findLast(stream, after) && findBetween(before, after, between))
    launches[instruction] = std::move(between);
  else
    areAllKnown = false;
}

Status CapturedLaunches::setNodes(cudaGraphExec_t executable,
                                  const CapturedLaunches &changed) const {
  if (!changed.areAllKnown)
    return notAlike("order");
  for (const auto &[instruction, by] : changed.launches) {
    const auto mine = launches.find(instruction);
    if (mine == launches.end() || mine->second.size() != by.size())
      return notAlike("number of kernels");
    for (size_t i = 0; i < by.size(); ++i)
      SHARDC_RETURN_IF_ERROR(setNode(executable, mine->second[i], by[i]));
  }
  return Status::ok();
}

} // namespace shardc::runtime
