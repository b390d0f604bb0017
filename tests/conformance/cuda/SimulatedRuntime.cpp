//===- SimulatedRuntime.cpp - Streams, events and copies of cudart --------===//
//
// Streams do not wait for the standard one (cudaStreamNonBlocking); others are
// refused, since nothing here uses them.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/kernels/Launch.h"
#include "tests/conformance/cuda/SimulatedCapture.h"
#include "tests/conformance/cuda/SimulatedCopies.h"
#include "tests/conformance/cuda/SimulatedMeeting.h"
#include "tests/conformance/cuda/SimulatedStream.h"

#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedCupti.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unordered_map>
#include <vector>

using namespace shardc::testing;

struct CUstream_st {
  std::shared_ptr<SimulatedStream> work;
};

/// A place in a stream's work; over, before it was recorded. Or one in a
/// capture.
struct CUevent_st {
  int device = 0;
  std::shared_ptr<SimulatedStream> stream;
  uint64_t number = 0;
  std::shared_ptr<SimulatedCapture> capture = nullptr;
  SimulatedCapture::Point point = {};
};

namespace {

/// Handles that were not destroyed yet, and the host's memory.
std::mutex mutex;
std::set<cudaStream_t> streams;
std::set<cudaEvent_t> events;
std::unordered_map<void *, size_t> pinned;

/// A copy of the event, which may be recorded anew.
bool find(cudaEvent_t event, CUevent_st &found) {
  std::lock_guard lock(mutex);
  if (!events.count(event))
    return false;
  found = *event;
  return true;
}

std::shared_ptr<SimulatedStream> standardStream(int device) {
  static std::shared_ptr<SimulatedStream> standard[kSimulatedMostDevices];
  std::lock_guard lock(mutex);
  auto &stream = standard[device];
  if (!stream)
    stream = std::make_shared<SimulatedStream>(device);
  return stream;
}

/// Of SimulatedCupti.h, where the plugin has opened that library.
struct Listener {
  decltype(&simulatedCuptiTime) time = nullptr;
  decltype(&simulatedCuptiEnqueue) enqueue = nullptr;
  decltype(&simulatedCuptiDone) done = nullptr;

  /// Sooner or later it is opened, or never.
  static Listener get() {
    static Listener found;
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    const char *path = std::getenv("SHARDC_CUPTI");
    void *library =
        path && !found.done ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    auto find = [&](auto &function, const char *name) {
      if (library)
        function = reinterpret_cast<std::decay_t<decltype(function)>>(
            dlsym(library, name));
    };
    find(found.time, "simulatedCuptiTime");
    find(found.enqueue, "simulatedCuptiEnqueue");
    find(found.done, "simulatedCuptiDone");
    return found;
  }
};

/// The work, and what is told of it.
std::function<void()> heard(std::function<void()> work, const char *kernel) {
  const Listener listener = Listener::get();
  if (!listener.done)
    return work;
  return
      [work = std::move(work), kernel, listener, number = listener.enqueue()] {
        const uint64_t begin = listener.time();
        work();
        listener.done(number, kernel, begin, listener.time());
      };
}

cudaError_t enqueue(cudaStream_t handle, cudaGraphNodeType type,
                    std::function<void()> work, const char *kernel = nullptr,
                    const SimulatedAttributes &attributes = {}) {
  work = heard(std::move(work), kernel);
  spend(HostCost::Launch);
  const std::shared_ptr<SimulatedStream> stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  SimulatedWork once = [work = std::move(work)] {
    work();
    return true;
  };
  if (stream->capture)
    return noted(stream->capture->add(
        *stream, type, [once](const auto &on) { on->enqueue(once); },
        attributes));
  stream->enqueue(std::move(once));
  return noted(simulatedFailure(stream->device));
}

/// Nothing outside of a capture can be waited for in it, nor the other way.
cudaError_t waitInCapture(const std::shared_ptr<SimulatedStream> &stream,
                          const CUevent_st &event) {
  if (!event.stream) // over
    return cudaSuccess;
  if (!event.capture)
    return stream->capture->breakOff(cudaErrorStreamCaptureIsolation);
  if (stream->capture && stream->capture != event.capture) {
    event.capture->breakOff(cudaSuccess);
    return stream->capture->breakOff(cudaErrorStreamCaptureMerge);
  }
  // The capture may be over: such an event is of no use any more.
  if (!event.stream->capture)
    return cudaErrorInvalidValue;
  stream->capture = event.capture;
  event.capture->wait(stream, event.point);
  return cudaSuccess;
}

/// What may not be asked of an event.
cudaError_t askOf(const CUevent_st &event) {
  if (event.capture) {
    event.capture->breakOff(cudaSuccess);
    return cudaErrorCapturedEvent;
  }
  return breaksSimulatedCapture() ? cudaErrorStreamCaptureUnsupported
                                  : cudaSuccess;
}

} // namespace

namespace shardc::testing {

std::shared_ptr<SimulatedStream> simulatedStream(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy)
    return standardStream(simulatedCurrent());
  std::lock_guard lock(mutex);
  return streams.count(handle) ? handle->work : nullptr;
}

void waitAsAFreeDoes() {
  const char *said = std::getenv("SHARDC_SIMULATED_FREES");
  if (!said || std::string_view(said) != "wait")
    return;
  const int device = simulatedCurrent();
  std::vector<std::shared_ptr<SimulatedStream>> all{standardStream(device)};
  {
    std::lock_guard lock(mutex);
    for (cudaStream_t stream : streams)
      if (stream->work->device == device)
        all.push_back(stream->work);
  }
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const auto &stream : all)
    while (!stream->tryUntil(stream->last())) {
      if (std::chrono::steady_clock::now() > deadline) {
        std::fputs("simulated GPU: memory is freed while work waits for "
                   "another rank: a GPU hangs here\n",
                   stderr);
        std::abort();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

cudaError_t enqueueSimulated(cudaStream_t stream, std::function<void()> work,
                             const SimulatedAttributes &attributes) {
  const auto found = simulatedStream(stream);
  if (!found || found->device != simulatedCurrent())
    return noted(cudaErrorInvalidResourceHandle);
  if (!mayLoadOn(*found))
    return noted(cudaErrorLaunchFailure);
  return enqueue(stream, cudaGraphNodeTypeKernel, std::move(work),
                 "_Z9simulatedv", attributes);
}

} // namespace shardc::testing

extern "C" {

//===--- Streams ----------------------------------------------------------===//

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking)
    return noted(cudaErrorInvalidValue);
  *stream =
      new CUstream_st{std::make_shared<SimulatedStream>(simulatedCurrent())};
  std::lock_guard lock(mutex);
  streams.insert(*stream);
  return noted(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5; // as GPUs have it
  return noted(cudaSuccess);
}

/// Order is what is simulated, speed is not.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int priority) {
  return priority < -5 || priority > 0
             ? noted(cudaErrorInvalidValue)
             : cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::lock_guard lock(mutex);
  if (!streams.erase(stream))
    return noted(cudaErrorInvalidResourceHandle);
  delete stream; // events keep its work
  return noted(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  if (breaksSimulatedCapture(*stream))
    return noted(cudaErrorStreamCaptureUnsupported);
  stream->waitUntil(stream->last());
  return noted(simulatedFailure(stream->device));
}

/// What was not done when it is called is never said to be done: that is for
/// the next call.
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  if (breaksSimulatedCapture(*stream))
    return noted(cudaErrorStreamCaptureUnsupported);
  const cudaError_t failure = simulatedFailure(stream->device);
  const uint64_t number = stream->last();
  if (failure != cudaSuccess || stream->isDone(number))
    return noted(failure);
  stream->tryUntil(number);
  return noted(cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t handleOfEvent,
                                unsigned) {
  const auto stream = simulatedStream(handle);
  CUevent_st event;
  if (!stream || !find(handleOfEvent, event))
    return noted(cudaErrorInvalidResourceHandle);
  if (event.capture || stream->capture)
    return noted(waitInCapture(stream, event));
  if (event.stream && event.stream != stream)
    stream->enqueue([other = event.stream, number = event.number] {
      return other->runUntil(number);
    });
  return noted(cudaSuccess);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                               void *data) {
  return enqueue(stream, cudaGraphNodeTypeHost, [=] { function(data); });
}

//===--- Events -----------------------------------------------------------===//

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = new CUevent_st{simulatedCurrent(), nullptr, 0};
  std::lock_guard lock(mutex);
  events.insert(*event);
  return noted(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  std::lock_guard lock(mutex);
  if (!events.erase(event))
    return noted(cudaErrorInvalidResourceHandle);
  delete event;
  return noted(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const auto stream = simulatedStream(handle);
  std::lock_guard lock(mutex);
  if (!stream || !events.count(event) || event->device != stream->device)
    return noted(cudaErrorInvalidResourceHandle);
  event->stream = stream;
  event->number = stream->last();
  event->capture = stream->capture;
  if (event->capture)
    event->point = event->capture->pointOf(*stream);
  return noted(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  CUevent_st event;
  if (!find(handle, event))
    return noted(cudaErrorInvalidResourceHandle);
  if (const cudaError_t refusal = askOf(event); refusal != cudaSuccess)
    return noted(refusal);
  const cudaError_t failure = simulatedFailure(event.device);
  if (failure != cudaSuccess || !event.stream ||
      event.stream->isDone(event.number))
    return noted(failure);
  event.stream->tryUntil(event.number);
  return noted(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  CUevent_st event;
  if (!find(handle, event))
    return noted(cudaErrorInvalidResourceHandle);
  if (const cudaError_t refusal = askOf(event); refusal != cudaSuccess)
    return noted(refusal);
  if (event.stream)
    event.stream->waitUntil(event.number);
  return noted(simulatedFailure(event.device));
}

//===--- The host's memory ------------------------------------------------===//

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
  if (breaksSimulatedCapture())
    return noted(cudaErrorStreamCaptureUnsupported);
  constexpr size_t kPage = 4096, kMost = size_t{64} << 30;
  const size_t room = (bytes / kPage + 1) * kPage;
  *memory = bytes > kMost ? MAP_FAILED
                          : mmap(nullptr, room, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  spend(HostCost::Allocation);
  if (*memory == MAP_FAILED) {
    *memory = nullptr;
    return noted(cudaErrorMemoryAllocation);
  }
  std::lock_guard lock(mutex);
  pinned[*memory] = room;
  return noted(cudaSuccess);
}

cudaError_t cudaFreeHost(void *memory) {
  if (!memory)
    return noted(cudaSuccess);
  if (breaksSimulatedCapture())
    return noted(cudaErrorStreamCaptureUnsupported);
  waitAsAFreeDoes();
  std::lock_guard lock(mutex);
  const auto found = pinned.find(memory);
  if (found == pinned.end())
    return noted(cudaErrorInvalidValue);
  munmap(memory, found->second); // who still reads it dies
  pinned.erase(found);
  return noted(cudaSuccess);
}

//===--- Copies -----------------------------------------------------------===//

cudaError_t cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from,
                              size_t fromPitch, size_t width, size_t rows,
                              cudaMemcpyKind kind, cudaStream_t handle) {
  if (width == 0 || rows == 0)
    return noted(cudaSuccess);
  const bool toGpu = kind == cudaMemcpyHostToDevice ||
                     kind == cudaMemcpyDeviceToDevice,
             fromGpu = kind == cudaMemcpyDeviceToHost ||
                       kind == cudaMemcpyDeviceToDevice;
  const size_t toBytes = toPitch * (rows - 1) + width,
               fromBytes = fromPitch * (rows - 1) + width;
  if ((!toGpu && !fromGpu) || toPitch < width || fromPitch < width || !to ||
      !from || isOnSimulatedGpu(to, toGpu ? toBytes : 0) != toGpu ||
      isOnSimulatedGpu(from, fromGpu ? fromBytes : 0) != fromGpu)
    return noted(cudaErrorInvalidValue);
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  auto copy = [=, device = stream->device] {
    auto *target = static_cast<std::byte *>(to);
    const auto *source = static_cast<const std::byte *>(from);
    if (toGpu)
      target = storedOnGpu(device, to, toBytes);
    if (fromGpu)
      source = storedOnGpu(device, from, fromBytes);
    countSimulatedCopy(kind, width * rows);
    for (size_t row = 0; target && source && row < rows; ++row)
      std::memcpy(target + row * toPitch, source + row * fromPitch, width);
  };
  return enqueue(handle, cudaGraphNodeTypeMemcpy, copy, nullptr,
                 {.isOfRows = rows > 1});
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                            cudaStream_t handle) {
  const auto stream = simulatedStream(handle);
  if (!stream)
    return noted(cudaErrorInvalidResourceHandle);
  if (!isOnSimulatedGpu(to, bytes))
    return noted(cudaErrorInvalidValue);
  return enqueue(handle, cudaGraphNodeTypeMemset, [=, device = stream->device] {
    if (std::byte *target = storedOnGpu(device, to, bytes))
      std::memset(target, value, bytes);
  });
}

/// In the standard stream: not done when it returns.
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

} // extern "C"
