//===- KernelThreads.h - How a kernel's work is shared out ----------------===//
//
// Work is split outside, by batch, head, tile or row, and serial inside: a
// kernel that is called within such a part has one thread. What a part computes
// does not depend on how many there are.
//
// Example, attention of 12 heads on 2 threads: each takes the next heads that
// nobody has, and multiplies, weighs and adds up the tiles of these by itself;
// one that others keep from working takes fewer (base/ThreadTeam.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H
#define SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H

#include "runtime/base/Status.h"
#include "runtime/base/ThreadTeam.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace shardc::runtime::host {

/// Of the calling thread, as launch/HostThreads.h has set it; one where it
/// works on a part already.
inline int64_t kernelThreads() { return teamThreads(); }

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

/// How many of units of so many elements in all are worth being taken at once.
inline int64_t unitsAtOnce(int64_t units, int64_t elements) {
  return std::max<int64_t>(
      units * (kElementsPerThread / 4) / std::max<int64_t>(elements, 1), 1);
}

/// Chunks of units that take about as long: some a thread, so that none waits
/// long for another.
inline int64_t evenChunk(int64_t units, int64_t threads) {
  return std::max<int64_t>(units / (4 * threads), 1);
}

/// Calls work(own, unit) for each unit, in chunks, on so many threads, with what
/// start(thread) gave its thread; the first error that one of them had.
template <typename Start, typename Work>
[[nodiscard]] Status shareOut(int64_t units, int64_t threads, int64_t chunk,
                              Start start, Work work) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  Status all;
  runOnTeam(threads, [&](int64_t thread) {
    int64_t unit = next.fetch_add(chunk);
    if (unit >= units) // others have done it all
      return;
    auto own = start(thread);
    for (; unit < units; unit = next.fetch_add(chunk))
      for (const int64_t end = std::min(unit + chunk, units); unit < end;) {
        Status status = work(own, unit++);
        if (status.isOk())
          continue;
        next.store(units);
        const std::lock_guard lock(mutex);
        if (all.isOk())
          all = std::move(status);
        return;
      }
  });
  return all;
}

/// Calls work(own, begin, end) for ranges of units that begin at multiples of
/// `least`, on so many threads, with what start(thread) gave its thread. Ranges
/// are large at first, and smaller the fewer units are left.
template <typename Start, typename Work>
void shareRanges(int64_t units, int64_t threads, int64_t least, Start start,
                 Work work) {
  if (units <= 0)
    return;
  if (threads <= 1) {
    auto own = start(int64_t(0));
    return work(own, int64_t(0), units);
  }
  std::atomic<int64_t> next = 0;
  const auto take = [&](int64_t &begin, int64_t &end) {
    begin = next.load();
    do {
      if (begin >= units)
        return false;
      const int64_t steps = (units - begin) / (2 * threads * least);
      end = std::min(begin + std::max<int64_t>(steps, 1) * least, units);
    } while (!next.compare_exchange_weak(begin, end));
    return true;
  };
  runOnTeam(threads, [&](int64_t thread) {
    int64_t begin = 0, end = 0;
    if (!take(begin, end))
      return;
    auto own = start(thread);
    do
      work(own, begin, end);
    while (take(begin, end));
  });
}

/// The same, where a thread has nothing of its own: work(begin, end).
template <typename Work>
void shareRanges(int64_t units, int64_t threads, int64_t least, Work work) {
  shareRanges(
      units, threads, least, [](int64_t thread) { return thread; },
      [&](int64_t, int64_t begin, int64_t end) { work(begin, end); });
}

/// Calls work(part) for each of so many parts, at the same time.
template <typename Work> void forEachPart(int64_t parts, Work work) {
  shareRanges(parts, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      work(part);
  });
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_KERNELTHREADS_H
