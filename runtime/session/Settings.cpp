#include "runtime/session/Settings.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace shardc::runtime {

static constexpr std::chrono::milliseconds kDefaultTimeout{60'000};
static constexpr int kMostThreads = 1024;

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
    return threads >= 0 && threads <= kMostThreads
               ? Status::ok()
               : argumentError("threads is ", threads, ", expected 1 to ",
                               kMostThreads, ", or 0: a share of the cores");
  const char *end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, threads);
  return read == end && error == std::errc() && threads >= 1 &&
                 threads <= kMostThreads
             ? Status::ok()
             : argumentError("SHARDC_THREADS is '", text,
                             "', expected a number from 1 to ", kMostThreads);
}

Status readHeartbeat(std::chrono::milliseconds &silence) {
  return readSeconds("SHARDC_HEARTBEAT", 0, "seconds, such as 4, or 0",
                     silence);
}

Status readSharedMemory(bool &isShared) {
  const char *text = std::getenv("SHARDC_SHARED_MEMORY");
  if (!text)
    return Status::ok();
  isShared = std::strcmp(text, "1") == 0;
  return isShared || std::strcmp(text, "0") == 0
             ? Status::ok()
             : argumentError("SHARDC_SHARED_MEMORY is '", text,
                             "', expected 0 or 1");
}

Status readNetwork(NetworkKind &network) {
  const char *text = std::getenv("SHARDC_NETWORK");
  if (!text)
    return Status::ok();
  const bool isUcx = std::strcmp(text, "ucx") == 0;
  network = isUcx ? NetworkKind::Ucx : NetworkKind::Tcp;
  return isUcx || std::strcmp(text, "tcp") == 0
             ? Status::ok()
             : argumentError("SHARDC_NETWORK is '", text,
                             "', expected tcp or ucx");
}

} // namespace shardc::runtime
