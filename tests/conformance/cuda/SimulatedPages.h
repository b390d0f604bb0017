//===- SimulatedPages.h - Pages of simulated GPUs -------------------------===//
//
//   SHARDC_SIMULATED_PAGE   bytes by which memory can be mapped (default 2 MiB,
//                           as GPUs have it; 0: it cannot)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDPAGES_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDPAGES_H

#include <cstddef>

namespace shardc::testing {

/// Memory of the device: false, it has no more; and back to it.
bool takeSimulated(int device, size_t bytes);
void giveBackSimulated(int device, size_t bytes);

/// Whether what is mapped at that address, if anything is, was opened to the
/// device.
bool isOpenTo(int device, const void *memory);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDPAGES_H
