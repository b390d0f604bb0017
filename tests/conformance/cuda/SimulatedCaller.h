//===- SimulatedCaller.h - Another program of simulated GPUs --------------===//
//
// What a framework beside the runtime has on the GPUs that the plugin simulates:
// tests find these functions in its library, in C++ and in Python.
//
//   float *x = simulatedCallerAllocate(1, 64);          on cuda:1
//   simulatedCallerSetLater(1, x, values, 64);          in its default stream
//   simulatedCallerRead(x, values, 64);                 as it is now
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCALLER_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCALLER_H

#include <cstddef>
#include <cstdint>

extern "C" {

/// Null: there is no such device, or no room.
void *simulatedCallerAllocate(int device, size_t bytes);
void simulatedCallerFree(int device, void *memory);

/// At once, beside all streams.
void simulatedCallerWrite(void *to, const void *from, size_t bytes);
void simulatedCallerRead(const void *from, void *to, size_t bytes);

/// Enqueued on the legacy default stream of the device: done when somebody waits
/// for that. `from` may go.
void simulatedCallerSetLater(int device, void *to, const void *from,
                             size_t bytes);

/// Bytes that copies of streams have moved so far.
struct SimulatedCopies {
  int64_t toDevice, toHost, across;
};
void simulatedCallerCopies(SimulatedCopies *copies);
}

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCALLER_H
