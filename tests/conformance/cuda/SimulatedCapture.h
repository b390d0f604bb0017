//===- SimulatedCapture.h - Work that is kept instead of enqueued ---------===//
//
// What streams get while they are captured becomes a graph, which runs as one
// stretch of work of the stream that it is launched in, in the order in which
// it was captured: an order that its events allow. Another stream takes part
// from when it waits for an event of the capture, and has to be waited for at
// the end:
//
//   begin(a)   a: x   record e in a   b waits for e   b: y   record f in b
//              a waits for f   end(a)                     graph: x, y
//
// As with CUDA, a thread that captures may not wait, ask whether something is
// done, or allocate: that breaks what it captures.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCAPTURE_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCAPTURE_H

#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedStream.h"

#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

/// A node of a graph, for as long as that is there.
struct CUgraphNode_st {
  /// Enqueues its work, each time that the graph is launched.
  using Work = std::function<void(
      const std::shared_ptr<shardc::testing::SimulatedStream> &)>;

  cudaGraphNodeType type;
  Work work;
  std::vector<cudaGraphNode_t> dependencies; ///< that come first
  shardc::testing::SimulatedAttributes attributes = {};

  /// Whether it may begin before that one has ended.
  bool isProgrammaticBehind(const CUgraphNode_st &before) const {
    return attributes.isProgrammatic && dependencies.size() == 1 &&
           before.type == cudaGraphNodeTypeKernel;
  }
};

namespace shardc::testing {

using SimulatedNodes = std::vector<std::shared_ptr<CUgraphNode_st>>;

class SimulatedCapture {
public:
  /// How much of each stream's work is known to be done.
  using Clock = std::map<const SimulatedStream *, size_t>;
  /// A stream's place in it.
  struct Point {
    Clock clock;
    std::vector<cudaGraphNode_t> last; ///< nodes that the next one comes behind
  };

  explicit SimulatedCapture(const std::shared_ptr<SimulatedStream> &origin);

  /// Work of a stream that takes part.
  cudaError_t add(const SimulatedStream &stream, cudaGraphNodeType type,
                  CUgraphNode_st::Work work,
                  const SimulatedAttributes &attributes = {});
  /// Where the stream is; what later waits for it knows that, too.
  const Point &pointOf(const SimulatedStream &stream) {
    return points[&stream];
  }
  /// The stream takes part from now on, if it has not before.
  void wait(const std::shared_ptr<SimulatedStream> &stream, const Point &event);
  cudaError_t breakOff(cudaError_t error);

  /// `stream` began it; it is over in any case.
  cudaError_t end(const SimulatedStream &stream, SimulatedNodes &nodes);

private:
  const SimulatedStream *const origin;
  const std::thread::id thread = std::this_thread::get_id();
  bool isBroken = false;
  SimulatedNodes nodes;
  std::set<std::shared_ptr<SimulatedStream>> streams;
  std::map<const SimulatedStream *, Point> points;
};

bool isSimulatedCapturing();
/// Whether this thread captures; what it does is then broken off.
bool breaksSimulatedCapture();
/// The same for what a stream takes part in.
bool breaksSimulatedCapture(const SimulatedStream &stream);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCAPTURE_H
