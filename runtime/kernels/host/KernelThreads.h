//===- KernelThreads.h - How many threads a kernel has --------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H
#define SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace shardc::runtime::host {

/// Of the calling thread, as launch/HostThreads.h has set it.
inline int64_t kernelThreads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H
