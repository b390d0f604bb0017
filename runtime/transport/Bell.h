//===- Bell.h - Wakes a process that waits for messages -------------------===//
//
// A word that changes with everything that may end a wait. It may lie in memory
// that other processes have: whoever has written a message there rings.
//
//   waits    seen = rings; nothing has come yet? sleepWhile(seen)
//   sends    writes the message; ring()
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_BELL_H
#define SHARDC_RUNTIME_TRANSPORT_BELL_H

#include "runtime/base/Futex.h"
#include "runtime/base/PauseCore.h"

namespace shardc::runtime {

class Bell {
public:
  uint32_t now() const { return rings.load(std::memory_order_acquire); }

  void ring() {
    rings.fetch_add(1);
    if (sleepers.load() > 0)
      syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  /// Returns once it has rung since now() was `seen`, or for no reason.
  void sleepWhile(uint32_t seen, std::chrono::nanoseconds limit) {
    timespec time = {static_cast<time_t>(limit.count() / 1'000'000'000),
                     static_cast<long>(limit.count() % 1'000'000'000)};
    sleepers.fetch_add(1);
    syscall(SYS_futex, &rings, FUTEX_WAIT, seen,
            limit == kForever ? nullptr : &time, nullptr, 0);
    sleepers.fetch_sub(1);
  }

private:
  FutexWord rings = 0;
  std::atomic<int32_t> sleepers = 0;
};

/// What is about to come is waited for awake: falling asleep and waking up take
/// longer than most messages.
class Spin {
public:
  explicit Spin(std::chrono::nanoseconds time) : time(time) {}
  /// False once the time is over. `look` is called now and then.
  template <typename Look> bool goesOn(Look look) {
    if (time.count() == 0)
      return false;
    if (count++ % 16 == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (count == 1)
        end = now + time;
      if (now >= end)
        return false;
      look();
    }
    pauseCore();
    return true;
  }

private:
  const std::chrono::nanoseconds time;
  std::chrono::steady_clock::time_point end;
  unsigned count = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_BELL_H
