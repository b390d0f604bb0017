//===- SimulatedStream.h - Work of simulated GPUs, put off ----------------===//
//
// What is enqueued is done when somebody waits for it, as late as a GPU may,
// by the thread that waits, and what it depends on before it: work of other
// streams, of other threads' too. So ranks that meet in a collective need no
// thread of a device, and one that waits there for another gets on as far as
// that one's host has come.
//
//   rank 0   a  b  AllReduce          waits for its stream: runs a, b, then
//   rank 1   c  AllReduce  d          rank 1's c, and both are done; d is not
//
// One thread runs work at a time, of all GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDSTREAM_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDSTREAM_H

#include <atomic>
#include <cuda_runtime_api.h>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace shardc::testing {

/// Whether it is done; called again until it is. It never blocks.
using SimulatedWork = std::function<bool()>;

class SimulatedCapture;

class SimulatedStream {
public:
  explicit SimulatedStream(int device) : device(device) {}
  const int device;

  /// That it takes part in, or null: changed by those who use the stream.
  std::shared_ptr<SimulatedCapture> capture;

  /// The work's number, from 1.
  uint64_t enqueue(SimulatedWork work);
  /// Of what was enqueued last.
  uint64_t last();
  bool isDone(uint64_t number) const { return done >= number; }

  /// One attempt to do everything up to that number; whether it is done.
  bool tryUntil(uint64_t number);
  /// Blocks until it is done.
  void waitUntil(uint64_t number);
  /// tryUntil, for work that is running.
  bool runUntil(uint64_t number);

private:
  SimulatedWork *front();

  std::mutex mutex; ///< of what follows, but for `isRunning`
  std::deque<SimulatedWork> queue;
  uint64_t enqueued = 0;
  std::atomic<uint64_t> done{0};
  bool isRunning = false;
};

/// Of the work that this thread runs; -1: none.
int simulatedRunningDevice();

/// Those who wait try again.
void simulationChanged();

/// `body` while no work runs.
void whileNothingRuns(const std::function<void()> &body);

/// With SHARDC_SIMULATED_FREES=wait frees do, as a GPU's: for all work of the
/// thread's device. Without it what is still used by work is not waited for,
/// so that the work fails.
void waitAsAFreeDoes();

/// The stream of a handle; null if it is none any more. 0 is the standard
/// stream of the thread's device.
std::shared_ptr<SimulatedStream> simulatedStream(cudaStream_t handle);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDSTREAM_H
