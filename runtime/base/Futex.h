//===- Futex.h - Sleeping until a word changes ----------------------------===//
//
// Linux's futex: the cheapest way for many threads to sleep and wake together.
// A condition variable makes each of them take its mutex again when it wakes,
// one after the other; with eight ranks on two cores that doubles a barrier's
// time.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FUTEX_H
#define SHARDC_RUNTIME_BASE_FUTEX_H

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shardc::runtime {

using FutexWord = std::atomic<uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(uint32_t));

inline constexpr std::chrono::nanoseconds kForever =
    std::chrono::nanoseconds::max();

/// Sleeps while `word` holds `expected`. May return early for no reason; false
/// only if `limit` passed.
inline bool futexWait(FutexWord &word, uint32_t expected,
                      std::chrono::nanoseconds limit = kForever) {
  timespec time = {static_cast<time_t>(limit.count() / 1'000'000'000),
                   static_cast<long>(limit.count() % 1'000'000'000)};
  long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected,
                        limit == kForever ? nullptr : &time, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

inline void futexWakeAll(FutexWord &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_FUTEX_H
