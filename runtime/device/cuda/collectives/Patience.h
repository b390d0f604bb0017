//===- Patience.h - How long to spin before a sleep -----------------------===//
//
// What is over in some microseconds is not slept for: Linux wakes a thread 50
// microseconds and more after it should.
//
//   asked at    0  1  2 ... 200 us   then every 20 us, as the system has it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_PATIENCE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_PATIENCE_H

#include <chrono>
#include <thread>

namespace shardc::runtime {

class Patience {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kSpin{200}, kSleep{20};

  explicit Patience(Clock::time_point now = Clock::now()) : since(now) {}
  bool spins(Clock::time_point now) const { return now - since < kSpin; }
  /// Until it is worth to ask again.
  void wait() const {
    if (spins(Clock::now()))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kSleep);
  }

private:
  const Clock::time_point since;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_PATIENCE_H
