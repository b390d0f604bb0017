#include "tests/conformance/cuda/SimulatedCapture.h"

#include "tests/conformance/cuda/SimulatedDevice.h"

#include <algorithm>
#include <utility>

namespace shardc::testing {
namespace {

/// Those that this thread began.
thread_local std::vector<SimulatedCapture *> ofThread;

} // namespace

SimulatedCapture::SimulatedCapture(
    const std::shared_ptr<SimulatedStream> &stream)
    : origin(stream.get()) {
  streams.insert(stream);
  ofThread.push_back(this);
}

cudaError_t SimulatedCapture::add(const SimulatedStream &stream,
                                  SimulatedNode node) {
  if (isBroken)
    return cudaErrorStreamCaptureInvalidated;
  nodes.push_back(std::move(node));
  ++clocks[&stream][&stream];
  return cudaSuccess;
}

void SimulatedCapture::wait(const std::shared_ptr<SimulatedStream> &stream,
                            const Clock &event) {
  Clock &mine = clocks[stream.get()];
  for (const auto &[other, count] : event)
    mine[other] = std::max(mine[other], count);
  streams.insert(stream);
}

cudaError_t SimulatedCapture::breakOff(cudaError_t error) {
  isBroken = true;
  nodes.clear();
  return error;
}

cudaError_t SimulatedCapture::end(const SimulatedStream &stream,
                                  std::vector<SimulatedNode> &work) {
  if (&stream != origin)
    return breakOff(cudaErrorStreamCaptureUnmatched);
  if (thread != std::this_thread::get_id())
    return breakOff(cudaErrorStreamCaptureWrongThread);
  std::erase(ofThread, this);
  bool isJoined = true;
  for (const auto &other : streams)
    isJoined &= clocks[origin][other.get()] == clocks[other.get()][other.get()];
  work = std::move(nodes);
  // They have each other.
  for (const auto &other : std::exchange(streams, {}))
    other->capture.reset();
  if (isBroken)
    return cudaErrorStreamCaptureInvalidated;
  return isJoined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

bool breaksSimulatedCapture() {
  for (SimulatedCapture *capture : ofThread)
    capture->breakOff(cudaSuccess);
  return !ofThread.empty();
}

bool breaksSimulatedCapture(const SimulatedStream &stream) {
  if (stream.capture)
    stream.capture->breakOff(cudaSuccess);
  return breaksSimulatedCapture() || stream.capture;
}

} // namespace shardc::testing

using namespace shardc::testing;

struct CUgraph_st {
  std::vector<SimulatedNode> nodes;
};

struct CUgraphExec_st {
  int device;
  std::vector<SimulatedNode> nodes;
};

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

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
  *graph = nullptr;
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  const auto capture = stream->capture;
  if (!capture)
    return noted(cudaErrorIllegalState);
  std::vector<SimulatedNode> nodes;
  const cudaError_t error = capture->end(*stream, nodes);
  if (error == cudaSuccess)
    *graph = new CUgraph_st{std::move(nodes)};
  return noted(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (!graph || flags != 0)
    return noted(cudaErrorInvalidValue);
  *executable = new CUgraphExec_st{simulatedCurrent(), graph->nodes};
  return noted(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  if (breaksSimulatedCapture(*stream))
    return noted(cudaErrorStreamCaptureUnsupported);
  if (stream->device != executable->device)
    return noted(cudaErrorInvalidValue);
  for (const SimulatedNode &node : executable->nodes)
    node(stream);
  return noted(simulatedFailure(stream->device));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return noted(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return noted(cudaSuccess);
}

} // extern "C"
