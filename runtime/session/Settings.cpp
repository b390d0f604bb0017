#include "runtime/session/Settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace shardc::runtime {

static constexpr std::chrono::milliseconds kDefaultTimeout{60'000};
static constexpr int kMostThreads = 1024;

static Status checkThreads(int threads, const char *what) {
  return threads >= 0 && threads <= kMostThreads
             ? Status::ok()
             : argumentError(what, " is ", threads,
                             ", expected a number from 1 to ", kMostThreads,
                             ", or 0: a share of the cores");
}

/// Leaves `duration` where there is no such variable.
static Status readSeconds(const char *name, double least, const char *example,
                          std::chrono::milliseconds &duration) {
  const char *text = std::getenv(name);
  if (!text)
    return Status::ok();
  char *end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds >= least && seconds <= 1e6))
    return argumentError(name, " is '", text, "', expected ", example);
  duration = std::chrono::milliseconds(std::llround(seconds * 1000));
  return Status::ok();
}

Status readTimeout(std::chrono::milliseconds &timeout) {
  if (timeout.count() > 0)
    return Status::ok();
  timeout = kDefaultTimeout;
  return readSeconds("SHARDC_TIMEOUT", 0.001, "seconds above 0, such as 60",
                     timeout);
}

Status readThreads(int &threads) {
  const char *text = std::getenv("SHARDC_THREADS");
  if (!text || threads != 0)
    return checkThreads(threads, "threads");
  char *end = nullptr;
  const long count = std::strtol(text, &end, 10);
  threads = static_cast<int>(std::clamp<long>(count, -1, kMostThreads + 1));
  if (end == text || *end != '\0' || count == 0)
    return argumentError("SHARDC_THREADS is '", text,
                         "', expected a number from 1 to ", kMostThreads);
  return checkThreads(threads, "SHARDC_THREADS");
}

Status readHeartbeat(std::chrono::milliseconds &silence) {
  return readSeconds("SHARDC_HEARTBEAT", 0, "seconds, such as 4, or 0",
                     silence);
}

} // namespace shardc::runtime
