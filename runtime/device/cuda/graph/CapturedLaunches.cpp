#include "runtime/device/cuda/graph/CapturedLaunches.h"

#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/DriverFunction.h"

#include <algorithm>
#include <cuda.h>

namespace shardc::runtime {
namespace {

using Nodes = std::vector<cudaGraphNode_t>;
using Edges = std::vector<cudaGraphEdgeData>;

bool arePlain(const cudaGraphEdgeData *edges, size_t count) {
  return !edges || std::all_of(edges, edges + count, [](const auto &edge) {
    return edge.type == cudaGraphDependencyTypeDefault;
  });
}

bool areAlike(const cudaGraphEdgeData &a, const cudaGraphEdgeData &b) {
  return a.type == b.type && a.from_port == b.from_port &&
         a.to_port == b.to_port;
}

/// In the order of their addresses; of several only plain edges are known.
bool findDependencies(cudaGraphNode_t node, Nodes &dependencies,
                      cudaGraphEdgeData &edge) {
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
  edge = count == 1 ? edges.front() : cudaGraphEdgeData{};
  return count == 1 || arePlain(edges.data(), count);
}

Status notAlike(const char *what) {
  return artifactError("a launch of the graph has changed its ", what);
}

Status findAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                     cudaLaunchAttributeValue &value) {
  value = {};
  return cudaStatus(cudaGraphKernelNodeGetAttribute(node, id, &value),
                    "cudaGraphKernelNodeGetAttribute");
}

/// No cluster is one of a block. Those of more than a line are not changed:
/// zeros came out of them where others did (ml-explore/mlx #2748).
template <typename Cluster>
bool areAlikeClusters(const Cluster &was, const Cluster &is) {
  auto atLeast1 = [](unsigned count) { return std::max(count, 1u); };
  return atLeast1(was.x) == atLeast1(is.x) && atLeast1(was.y) == 1 &&
         atLeast1(is.y) == 1 && atLeast1(was.z) == 1 && atLeast1(is.z) == 1;
}

/// What is no parameter of a kernel's node stays as it was captured.
Status checkAttributes(cudaGraphNode_t node, cudaGraphNode_t by) {
  cudaLaunchAttributeValue was, is;
  auto find = [&](cudaLaunchAttributeID id) {
    const Status status = findAttribute(node, id, was);
    return status.isOk() ? findAttribute(by, id, is) : status;
  };
  SHARDC_RETURN_IF_ERROR(find(cudaLaunchAttributeCooperative));
  if (was.cooperative != is.cooperative)
    return notAlike("kind of launch");
  SHARDC_RETURN_IF_ERROR(find(cudaLaunchAttributeClusterDimension));
  if (!areAlikeClusters(was.clusterDim, is.clusterDim))
    return notAlike("cluster");
  // GPUs without such clusters may not know the attribute.
  if (find(cudaLaunchAttributePreferredClusterDimension).isOk() &&
      !areAlikeClusters(was.preferredClusterDim, is.preferredClusterDim))
    return notAlike("preferred cluster");
  SHARDC_RETURN_IF_ERROR(
      find(cudaLaunchAttributeProgrammaticStreamSerialization));
  if (was.programmaticStreamSerializationAllowed !=
      is.programmaticStreamSerializationAllowed)
    return notAlike("programmatic launch");
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
                                   Launch &between) {
  Nodes at = after;
  while (at != before) {
    if (at.size() != 1)
      return false;
    const cudaGraphNode_t node = at.front();
    between.nodes.push_back(node);
    between.edges.emplace_back();
    if (!findDependencies(node, at, between.edges.back()))
      return false;
  }
  std::reverse(between.nodes.begin(), between.nodes.end());
  std::reverse(between.edges.begin(), between.edges.end());
  return true;
}

void CapturedLaunches::begin(cudaStream_t stream) {
  isKnown = findLast(stream, before);
}

void CapturedLaunches::end(cudaStream_t stream, int instruction) {
  Nodes after;
  Launch between;
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
    if (mine == launches.end() || mine->second.nodes.size() != by.nodes.size())
      return notAlike("number of kernels");
    // What comes ahead of the first one is another launch's, and may differ
    // where only some are captured again.
    for (size_t i = 0; i < by.nodes.size(); ++i) {
      if (i > 0 && !areAlike(mine->second.edges[i], by.edges[i]))
        return notAlike("programmatic edges");
      SHARDC_RETURN_IF_ERROR(
          setNode(executable, mine->second.nodes[i], by.nodes[i]));
    }
  }
  return Status::ok();
}

} // namespace shardc::runtime
