//===- SimulatedCopies.h - Bytes that copies have moved -------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCOPIES_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCOPIES_H

#include <cstddef>
#include <cuda_runtime_api.h>

namespace shardc::testing {

/// For simulatedCallerCopies (SimulatedCaller.h), when the copy is done.
void countSimulatedCopy(cudaMemcpyKind kind, size_t bytes);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDCOPIES_H
