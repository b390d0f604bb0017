//===- SimulatedAccess.h - Each access of device code, looked at ----------===//
//
// Device code is compiled with the host's -fsanitize=thread, whose calls
// before each access come here instead of to its library. In a kernel
//
//   - global memory is that of one allocation, to the byte: no byte ahead of
//     it, none behind it, and none that was freed;
//   - shared memory is within what the launch asked for;
//   - threads that use the same byte of it, one of them to write, have a
//     barrier between them: of the block, or, within a warp, a call that the
//     warp's lanes come to together. (As compute-sanitizer's racecheck; who
//     runs first here says nothing about a GPU.)
//
// Else the process ends, and says why. What only host code of the simulation
// touches for a kernel (ldmatrix, copies beside a thread) is told here by hand.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDACCESS_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDACCESS_H

#include <cstddef>
#include <cstdint>

namespace shardc::testing {

/// While a kernel's thread runs in this thread of the host, until `end`.
void beginSimulatedThread(unsigned thread);
void endSimulatedThread();
/// The running launch's shared memory, from now on.
void watchShared(const std::byte *memory, size_t bytes);
/// What came before is done: for all threads, or those of one warp.
void barrierOfBlock();
void barrierOfWarp(size_t warp);

/// Atomic ones of several threads are no race.
enum class Access { Read, Write, Atomic };
/// Of the running thread.
void noteAccess(const void *memory, size_t bytes, Access access);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDACCESS_H
