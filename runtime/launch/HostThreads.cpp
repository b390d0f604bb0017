#include "runtime/launch/HostThreads.h"

#include "runtime/base/Cgroup.h"

#include <algorithm>
#include <sched.h>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace shardc::runtime {

int hostCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    return 1;
  // Threads wait for one another in every kernel: with more of them than the
  // quota has whole cores for, all stand still while one is throttled.
  const double quota = cgroupLimits().cores.value_or(CPU_COUNT(&cores));
  return std::max(1,
                  static_cast<int>(std::min<double>(CPU_COUNT(&cores), quota)));
}

int shareOfCores(int ranks) { return std::max(1, hostCores() / ranks); }

void setHostThreads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

} // namespace shardc::runtime
