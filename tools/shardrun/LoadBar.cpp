#include "tools/shardrun/LoadBar.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace shardrun {

bool LoadBar::isSeen() {
  const char *asked = std::getenv("SHARDC_PROGRESS");
  return (!asked || std::strcmp(asked, "0") != 0) && isatty(STDERR_FILENO);
}

void LoadBar::operator()(int64_t loaded, int64_t all) {
  constexpr int64_t kPatience = 500;
  const int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count();
  began = began == 0 ? now : began;
  if (loaded == all) {
    if (isShown)
      std::fputs("\r\033[K", stderr);
    return;
  }
  if (now - began < kPatience)
    return;
  isShown = true;
  constexpr int kWidth = 20;
  const double part = double(loaded) / double(all);
  const auto full = static_cast<size_t>(part * kWidth);
  const std::string bar =
      std::string(full, '#') + std::string(kWidth - full, ' ');
  const bool isLarge = all >= int64_t{1} << 30;
  const double unit = isLarge ? 1 << 30 : 1 << 20;
  std::fprintf(stderr, "\r\033[Kweights [%s] %3d %%, %.*f of %.*f %s",
               bar.c_str(), int(part * 100), isLarge ? 1 : 0,
               double(loaded) / unit, isLarge ? 1 : 0, double(all) / unit,
               isLarge ? "GiB" : "MiB");
}

} // namespace shardrun
