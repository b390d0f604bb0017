#include "runtime/backend/host/HostThreads.h"

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
  int count = CPU_COUNT(&cores);
  return count < 1 ? 1 : count;
}

void setHostThreads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

} // namespace shardc::runtime
