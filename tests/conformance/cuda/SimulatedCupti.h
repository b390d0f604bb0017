//===- SimulatedCupti.h - What the simulated CUDA tells of its work -------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCUPTI_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCUPTI_H

#include <cstdint>

extern "C" {

/// Of CUPTI's clock, in nanoseconds.
uint64_t simulatedCuptiTime();
/// A thread enqueues something: its number.
uint32_t simulatedCuptiEnqueue();
/// And it is done; null for a copy.
void simulatedCuptiDone(uint32_t correlation, const char *kernel,
                        uint64_t begin, uint64_t end);
}

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCUPTI_H
