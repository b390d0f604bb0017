//===- SharedHosts.h - Whether processes fit on the hosts they share ------===//
//
// Processes on one host take from the same memory, and nobody but they know
// that they are there: a launcher may not say, and by hand there is none. Before
// anything is loaded each tells rank 0 what it needs and of which pools it would
// take that (HostMemory.h); rank 0 adds up what is taken of each.
//
//   ranks 0 to 3 need 60 each, the machine has 200: ranks 0 and 1 are in one
//   control group of 100, which is too little for both
//
// All processes end with the same error. What is free is what the process found
// that found least: each asks before any of them takes its part.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_MEMORY_SHAREDHOSTS_H
#define SHARDC_RUNTIME_MEMORY_SHAREDHOSTS_H

#include "runtime/collectives/net/ControlExchange.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/memory/MemoryNeeds.h"

#include <functional>

namespace shardc::runtime {

/// What a process says, as it is sent.
struct HostReport {
  /// A rank is in few groups with a limit: those nearest to it, which are the
  /// smallest.
  static constexpr int32_t kMostPools = 8;
  NeededBytes needed;
  char host[60] = {};
  int32_t numPools = 0;
  MemoryPool pools[kMostPools] = {};
};

/// What there is for a process: in the pool, its own or another rank's, that has
/// the fewest positions of KV caches; without caches, in the one of its own that
/// has least left.
struct HostRoom {
  int64_t free = 0;
  /// What all who take of that pool need beside what this process does.
  NeededBytes beside = {};
};

/// Of a process that takes `needed` of its host's memory.
HostReport reportOf(const NeededBytes &needed, const HostMemory &memory);

/// What another process has sent; false where it is no report.
bool readReport(std::span<const std::byte> said, HostReport &report);

/// The room of each rank; or the error of the pool that lacks most, with the
/// ranks that take of it.
Status shareHosts(std::span<const HostReport> reports,
                  const std::function<std::string(int)> &rankText,
                  std::vector<HostRoom> &rooms);

/// The same between processes, of which all get the error.
Status shareHosts(ControlExchange &control, const HostReport &mine,
                  const std::function<std::string(int)> &rankText,
                  HostRoom &room);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MEMORY_SHAREDHOSTS_H
