//===- HostMemory.h - What a host has left for its ranks ------------------===//
//
// What is free, what the system gives back (pages of files), and swap; not more
// than the control groups of this process leave (a container's limit), nor than
// SHARDC_HOST_MEMORY says, a number of bytes or of K, M, G, T: "48G".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_HOST_HOSTMEMORY_H
#define SHARDC_RUNTIME_BACKEND_HOST_HOSTMEMORY_H

#include "runtime/base/Cgroup.h"
#include "runtime/base/Status.h"

namespace shardc::runtime {

struct HostMemory {
  int64_t bytes = 0; ///< in all
  int64_t free = 0;
};

/// According to what `read` finds; `most` as SHARDC_HOST_MEMORY has it, or null.
Status readHostMemory(const ReadText &read, const char *most,
                      HostMemory &memory);

/// Of this process.
Status hostMemory(HostMemory &memory);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BACKEND_HOST_HOSTMEMORY_H
