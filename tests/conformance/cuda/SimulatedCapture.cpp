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
                                  cudaGraphNodeType type,
                                  CUgraphNode_st::Work work,
                                  const SimulatedAttributes &attributes) {
  if (isBroken)
    return cudaErrorStreamCaptureInvalidated;
  Point &mine = points[&stream];
  nodes.push_back(std::make_shared<CUgraphNode_st>(
      CUgraphNode_st{type, std::move(work), mine.last, attributes}));
  mine.last = {nodes.back().get()};
  ++mine.clock[&stream];
  return cudaSuccess;
}

void SimulatedCapture::wait(const std::shared_ptr<SimulatedStream> &stream,
                            const Point &event) {
  Point &mine = points[stream.get()];
  for (const auto &[other, count] : event.clock)
    mine.clock[other] = std::max(mine.clock[other], count);
  for (cudaGraphNode_t node : event.last)
    if (std::find(mine.last.begin(), mine.last.end(), node) == mine.last.end())
      mine.last.push_back(node);
  streams.insert(stream);
}

cudaError_t SimulatedCapture::breakOff(cudaError_t error) {
  isBroken = true;
  nodes.clear();
  return error;
}

cudaError_t SimulatedCapture::end(const SimulatedStream &stream,
                                  SimulatedNodes &work) {
  if (&stream != origin)
    return breakOff(cudaErrorStreamCaptureUnmatched);
  if (thread != std::this_thread::get_id())
    return breakOff(cudaErrorStreamCaptureWrongThread);
  std::erase(ofThread, this);
  bool isJoined = true;
  for (const auto &other : streams)
    isJoined &= points[origin].clock[other.get()] ==
                points[other.get()].clock[other.get()];
  work = std::move(nodes);
  // They have each other.
  for (const auto &other : std::exchange(streams, {}))
    other->capture.reset();
  if (isBroken)
    return cudaErrorStreamCaptureInvalidated;
  return isJoined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

bool isSimulatedCapturing() { return !ofThread.empty(); }

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
