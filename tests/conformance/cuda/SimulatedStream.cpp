#include "tests/conformance/cuda/SimulatedStream.h"

#include "tests/conformance/cuda/SimulatedDevice.h"

#include <condition_variable>
#include <utility>

namespace shardc::testing {
namespace {

std::mutex running; ///< held by the thread that does work
bool gotOn = false; ///< of it: something was done
thread_local int runningDevice = -1;
std::mutex changing;
std::condition_variable changed;
uint64_t changes = 0;

uint64_t changesSoFar() {
  std::lock_guard lock(changing);
  return changes;
}

} // namespace

int simulatedRunningDevice() { return runningDevice; }

void simulationChanged() {
  std::lock_guard lock(changing);
  ++changes;
  changed.notify_all();
}

void whileNothingRuns(const std::function<void()> &body) {
  std::lock_guard lock(running);
  body();
}

uint64_t SimulatedStream::enqueue(SimulatedWork work) {
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    number = ++enqueued;
  }
  simulationChanged();
  return number;
}

uint64_t SimulatedStream::last() {
  std::lock_guard lock(mutex);
  return enqueued;
}

SimulatedWork *SimulatedStream::front() {
  std::lock_guard lock(mutex);
  return queue.empty() ? nullptr : &queue.front();
}

bool SimulatedStream::runUntil(uint64_t number) {
  // Asked for by what it waits for itself: that has to come from elsewhere.
  if (isRunning)
    return isDone(number);
  isRunning = true;
  while (!isDone(number)) {
    SimulatedWork *work = front();
    const int before = std::exchange(runningDevice, device);
    // Of a device that has failed nothing is done any more.
    const bool isBroken = !work || (simulatedFailure(device) == cudaSuccess &&
                                    !std::invoke(*work));
    runningDevice = before; // it may have run another one's
    if (isBroken)
      break;
    std::lock_guard lock(mutex);
    queue.pop_front();
    ++done;
    gotOn = true;
  }
  isRunning = false;
  return isDone(number);
}

bool SimulatedStream::tryUntil(uint64_t number) {
  if (isDone(number))
    return true;
  bool isOver = false, others = false;
  whileNothingRuns([&] {
    isOver = runUntil(number);
    others = std::exchange(gotOn, false);
  });
  if (others) // may have waited for that
    simulationChanged();
  return isOver;
}

void SimulatedStream::waitUntil(uint64_t number) {
  for (uint64_t before = changesSoFar(); !tryUntil(number);) {
    std::unique_lock lock(changing);
    changed.wait(lock, [&] { return changes != before; });
    before = changes;
  }
}

} // namespace shardc::testing
