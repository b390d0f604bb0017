//===- HostMemory.h - What a host has left for its ranks ------------------===//
//
// What is free, what the system gives back (pages of files), and swap; not more
// than the control groups of this process leave (a container's limit), nor than
// SHARDC_HOST_MEMORY says, a number of bytes or of K, M, G, T: "48G".
//
// Each of these is a pool that several processes may take from, and has a name
// by which they find out:
//
//   the machine's memory    the kernel's boot id: the same in all containers
//   a control group's limit the inode of its folder, which is the same however
//                           far up a container sees; of the nearest groups
//   SHARDC_HOST_MEMORY      boot id and host name: containers that have a name
//                           of their own have a host of their own
//
// Virtual machines that were restored from one snapshot have one boot id: to
// their processes they look like one machine.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_HOST_HOSTMEMORY_H
#define SHARDC_RUNTIME_DEVICE_HOST_HOSTMEMORY_H

#include "runtime/base/Cgroup.h"
#include "runtime/base/Status.h"

namespace shardc::runtime {

enum class MemoryPoolKind : int32_t { Machine, Group, Setting };

struct MemoryPool {
  uint64_t id = 0; ///< the same for all who share it; 0: nobody is known to
  int64_t free = 0;
  MemoryPoolKind kind = MemoryPoolKind::Machine;
  int32_t unused = 0;
};

struct HostMemory {
  int64_t bytes = 0; ///< in all
  int64_t free = 0;  ///< of the pool that has least
  std::vector<MemoryPool> pools;
  std::string name; ///< of the host
};

/// Of a file or folder; 0: it cannot be found.
using InodeOf = std::function<uint64_t(const std::string &)>;

/// According to what `read` finds; `most` as SHARDC_HOST_MEMORY has it, or null.
Status readHostMemory(const ReadText &read, const InodeOf &inodeOf,
                      const char *most, HostMemory &memory);

/// Of this process.
Status hostMemory(HostMemory &memory);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_HOST_HOSTMEMORY_H
