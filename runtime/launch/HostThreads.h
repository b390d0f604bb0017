//===- HostThreads.h - How many cores a rank's kernels use ----------------===//
//
// Ranks of one process share its cores: each calls setHostThreads once from its
// own thread, with shareOfCores or what the user says. OpenMP keeps this count
// per thread, so oneDNN inside of this rank's kernels follows it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_HOSTTHREADS_H
#define SHARDC_RUNTIME_LAUNCH_HOSTTHREADS_H

namespace shardc::runtime {

/// Cores that this process may use, at least 1: those of its affinity mask, and
/// no more than the CPU quota of its container pays for.
int hostCores();

/// What one of so many ranks has of them: at least 1.
int shareOfCores(int ranks);

/// Threads for the kernels that the calling thread runs from now on.
void setHostThreads(int threads);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_HOSTTHREADS_H
