//===- PatientDeadline.h - Waiting for somebody who gets on ---------------===//
//
// A rank that waits for another one cannot know how long that takes: the last
// of four stages waits for the first three, whatever each has still to pack.
// What it can know is whether anybody moves. So a wait ends when nobody has for
// as long as it is patient:
//
//   patience 60 s    others move at 50 s and at 100 s, then no more: 160 s
//
// Looks eight times as often as it is patient, and only once it has waited that
// long: a short wait costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_PATIENTDEADLINE_H
#define SHARDC_RUNTIME_BASE_PATIENTDEADLINE_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

namespace shardc::runtime {

class PatientDeadline {
public:
  using Clock = std::chrono::steady_clock;

  /// `progress` changes as long as somebody moves; empty: nobody is asked. It
  /// lives longer.
  PatientDeadline(std::chrono::milliseconds patience,
                  const std::function<uint64_t()> &progress)
      : patience(patience), progress(progress), since(Clock::now()),
        next(since + interval()) {}

  /// Until hasPassed() has something new to say.
  std::chrono::nanoseconds untilNextLook() const {
    return std::max<std::chrono::nanoseconds>(next - Clock::now(),
                                              std::chrono::nanoseconds(1));
  }

  /// What was waited for has moved by itself.
  void restart() {
    since = Clock::now();
    next = since + interval();
    hasLooked = false;
  }

  bool hasPassed() {
    const Clock::time_point now = Clock::now();
    if (now < next)
      return false;
    const uint64_t at = progress ? progress() : 0;
    if (hasLooked && at != last)
      since = now;
    const bool mayPass = hasLooked || !progress;
    hasLooked = true;
    last = at;
    next = std::min(now + interval(), std::max(now, since + patience));
    return mayPass && now - since >= patience;
  }

private:
  std::chrono::nanoseconds interval() const {
    return std::chrono::nanoseconds(patience) / 8 + std::chrono::nanoseconds(1);
  }

  const std::chrono::milliseconds patience;
  const std::function<uint64_t()> &progress;
  Clock::time_point since; ///< nobody has moved, as far as is known
  Clock::time_point next;
  uint64_t last = 0;
  bool hasLooked = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_PATIENTDEADLINE_H
