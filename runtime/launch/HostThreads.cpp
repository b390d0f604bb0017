#include "runtime/launch/HostThreads.h"

#include "runtime/base/ThreadTeam.h"

#include <algorithm>
#include <sched.h>

namespace shardc::runtime {

/// cpu_set_t ends at CPU 1023, and larger machines refuse it.
static constexpr size_t kMostCpus = size_t(1) << 16;
using CpuMask = std::vector<cpu_set_t>;
static CpuMask emptyMask() {
  CpuMask mask(kMostCpus / CPU_SETSIZE);
  CPU_ZERO_S(kMostCpus / 8, mask.data());
  return mask;
}

std::vector<int> allowedCpus() {
  CpuMask mask = emptyMask();
  std::vector<int> cpus;
  if (sched_getaffinity(0, kMostCpus / 8, mask.data()) == 0)
    for (size_t cpu = 0; cpu < kMostCpus; ++cpu)
      if (CPU_ISSET_S(cpu, kMostCpus / 8, mask.data()))
        cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

bool setAllowedCpus(const std::vector<int> &cpus) {
  CpuMask mask = emptyMask();
  for (int cpu : cpus)
    CPU_SET_S(static_cast<size_t>(cpu), kMostCpus / 8, mask.data());
  return sched_setaffinity(0, kMostCpus / 8, mask.data()) == 0;
}

int coresOf(size_t cpus, const ReadText &read) {
  // Threads wait for one another in every kernel: with more of them than the
  // quota has whole cores for, all stand still while one is throttled.
  const auto all = static_cast<double>(cpus);
  const double quota = readCgroupLimits(read).cores.value_or(all);
  return std::max(1, static_cast<int>(std::min(all, quota)));
}

int hostCores() { return coresOf(allowedCpus().size(), readSystemText); }

int shareOfCores(int ranks) { return std::max(1, hostCores() / ranks); }

void setHostThreads(int threads) { setTeamThreads(threads); }

} // namespace shardc::runtime
