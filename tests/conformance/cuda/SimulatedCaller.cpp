#include "tests/conformance/cuda/SimulatedCaller.h"

#include "tests/conformance/backend/FakeMemory.h"
#include "tests/conformance/cuda/SimulatedCopies.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedStream.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

using shardc::test::FakeMemory;

namespace {

std::atomic<int64_t> toDevice, toHost, across;

std::byte *storedAt(const void *memory, size_t bytes) {
  return FakeMemory::instance().stored(static_cast<const std::byte *>(memory),
                                       static_cast<int64_t>(bytes));
}

} // namespace

namespace shardc::testing {

void countSimulatedCopy(cudaMemcpyKind kind, size_t bytes) {
  std::atomic<int64_t> &sum = kind == cudaMemcpyHostToDevice   ? toDevice
                              : kind == cudaMemcpyDeviceToHost ? toHost
                                                               : across;
  sum += static_cast<int64_t>(bytes);
}

} // namespace shardc::testing

using namespace shardc::testing;

extern "C" {

void *simulatedCallerAllocate(int device, size_t bytes) {
  void *memory = nullptr;
  return cudaSetDevice(device) == cudaSuccess &&
                 cudaMalloc(&memory, bytes) == cudaSuccess
             ? memory
             : nullptr;
}

void simulatedCallerFree(int device, void *memory) {
  cudaSetDevice(device);
  cudaFree(memory);
}

void simulatedCallerWrite(void *to, const void *from, size_t bytes) {
  whileNothingRuns([&] { std::memcpy(storedAt(to, bytes), from, bytes); });
}

void simulatedCallerRead(const void *from, void *to, size_t bytes) {
  whileNothingRuns([&] { std::memcpy(to, storedAt(from, bytes), bytes); });
}

void simulatedCallerSetLater(int device, void *to, const void *from,
                             size_t bytes) {
  cudaSetDevice(device);
  auto values =
      std::make_shared<std::string>(static_cast<const char *>(from), bytes);
  enqueueSimulated(cudaStreamLegacy, [=] {
    std::memcpy(storedAt(to, bytes), values->data(), bytes);
  });
}

void simulatedCallerCopies(SimulatedCopies *copies) {
  *copies = {toDevice, toHost, across};
}

} // extern "C"
