//===- KernelThreads.h - How a kernel's work is shared out ----------------===//
//
// Work is split outside, by batch, head, tile or row, and serial inside: a
// kernel that is called within such a part has one thread. What a part computes
// does not depend on how many there are.
//
// Example, attention of 12 heads on 2 threads: each takes the next heads that
// nobody has, and multiplies, weighs and adds up the tiles of these by itself.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H
#define SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace shardc::runtime::host {

/// Of the calling thread, as launch/HostThreads.h has set it; one where it
/// works on a part already.
inline int64_t kernelThreads() {
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Elements that are written, or eight multiply-adds for each: less is not
/// worth waking a thread for, which takes some 10 us.
inline constexpr int64_t kElementsPerThread = 32768;

/// How many threads share out so many units of work, of so many elements in all.
inline int64_t threadsFor(int64_t units, int64_t elements) {
  return std::clamp<int64_t>(std::min(units, elements / kElementsPerThread), 1,
                             kernelThreads());
}

/// The same of units of a product [m, k] [k, n]: each weight is read, and eight
/// rows take as long to multiply by it.
inline int64_t threadsForProduct(int64_t units, int64_t m, int64_t n,
                                 int64_t k) {
  return threadsFor(units, (m + 4) * n * k / 8);
}

/// Chunks of units that take about as long: some a thread, so that none waits
/// long for another.
inline int64_t evenChunk(int64_t units, int64_t threads) {
  return std::max<int64_t>(units / (4 * threads), 1);
}

/// Calls work(own, unit) for each unit, in chunks, on so many threads, with what
/// start(thread) gave its thread; the first error that one of them had.
template <typename Start, typename Work>
[[nodiscard]] Status shareOut(int64_t units, int64_t threads,
                              [[maybe_unused]] int64_t chunk, Start start,
                              Work work) {
  Status all;
  if (threads <= 1) {
    auto own = start(int64_t(0));
    for (int64_t unit = 0; unit < units && all.isOk(); ++unit)
      all = work(own, unit);
    return all;
  }
#ifdef _OPENMP
#pragma omp parallel num_threads(static_cast<int>(threads))
  {
    auto own = start(int64_t(omp_get_thread_num()));
    Status first;
#pragma omp for schedule(dynamic, chunk)
    for (int64_t unit = 0; unit < units; ++unit)
      if (first.isOk())
        first = work(own, unit);
    if (!first.isOk())
#pragma omp critical(shardc_share_out)
      all = first;
  }
#endif
  return all;
}

/// Calls work(part) for each of so many parts, at the same time.
template <typename Work> void forEachPart(int64_t parts, Work work) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(static_cast<int>(parts)) if (parts > 1)
#endif
  for (int64_t part = 0; part < parts; ++part)
    work(part);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H
