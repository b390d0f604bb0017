//===- HostThreads.h - How many cores a rank's kernels use ----------------===//
//
// Ranks of one process share its cores: each calls setHostThreads once from its
// own thread, with shareOfCores or what the user says: base/ThreadTeam.h keeps
// this count per thread.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_HOSTTHREADS_H
#define SHARDC_RUNTIME_LAUNCH_HOSTTHREADS_H

#include "runtime/base/Cgroup.h"

#include <vector>

namespace shardc::runtime {

/// The CPUs of the calling thread's affinity mask, ascending; of machines of
/// any size. Nothing where the system does not tell.
std::vector<int> allowedCpus();
[[nodiscard]] bool setAllowedCpus(const std::vector<int> &cpus);

/// Cores that so many CPUs are worth, at least 1: no more than the CPU quota of
/// its container, as `read` finds it, pays for.
int coresOf(size_t cpus, const ReadText &read);

/// Of the calling thread: a rank's own thread may be bound to fewer than the
/// process has.
int hostCores();

/// What one of so many ranks has of them: at least 1.
int shareOfCores(int ranks);

/// Threads for the kernels that the calling thread runs from now on.
void setHostThreads(int threads);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_HOSTTHREADS_H
