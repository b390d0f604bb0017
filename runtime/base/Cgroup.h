//===- Cgroup.h - What a container may use of its machine -----------------===//
//
// The limits of the control groups, version 1 or 2, that this process is in: of
// its own group and of all above it that it can see, the smallest. In a
// container of 4 CPUs and 16 GB on a machine of 128 cores,
//
//   cgroupLimits()    {memoryBytes = 16 << 30, cores = 4}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_CGROUP_H
#define SHARDC_RUNTIME_BASE_CGROUP_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A group with a limit on memory. Whoever is in it, or in one below it, takes
/// from the same room.
struct MemoryGroup {
  std::string folder; ///< "/sys/fs/cgroup/job"
  int64_t room = 0;   ///< as memoryRoom
};

/// Nothing where there is no limit, or none that can be read.
struct CgroupLimits {
  std::optional<int64_t> memoryBytes;
  /// What may still be taken of it: pages of files count as free, which the
  /// system gives back, and swap that the group may use.
  std::optional<int64_t> memoryRoom;
  std::optional<double> cores;           ///< CPU time a second; more than 0
  std::vector<MemoryGroup> memoryGroups; ///< from the process's own upwards
};

/// The text of the file at a path; nothing if it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string &)>;

/// The limits according to what `read` finds, /proc/self/cgroup and
/// /proc/self/mountinfo first.
CgroupLimits readCgroupLimits(const ReadText &read);

/// An entry of /proc/meminfo, in bytes.
std::optional<int64_t> readMemoryInfo(const ReadText &read,
                                      const std::string &name);

/// Of this machine, as it is now.
std::optional<std::string> readSystemText(const std::string &path);

/// The limits of this process as they are now.
CgroupLimits cgroupLimits();

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_CGROUP_H
