//===- MemoryNeeds.h - Whether ranks fit on their devices -----------------===//
//
// Known before anything is loaded: what a rank holds of the weights and of what
// is computed of them, and the intermediate values of the smallest request,
// with 1 for all sizes. Without that nothing runs. KV caches come with states,
// whose capacity the user chooses: what they take a position says how many fit.
//
//   rank 0 (tp 0) needs 1200 bytes on device 0 (NVIDIA H200), which has 1000
//   free: 1100 of weights, 100 of intermediate values of its smallest request;
//   ...; its KV caches take 64 bytes a position on top
//
// A host is refused like any device, for what it cannot leave in files.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_MEMORY_MEMORYNEEDS_H
#define SHARDC_RUNTIME_MEMORY_MEMORYNEEDS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/RankDevices.h"

#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// What a rank of a stage needs of its device, over all its programs.
struct NeededBytes {
  int64_t weights = 0;       ///< what two programs share once, as it is kept
  int64_t values = 0;        ///< of the smallest request, without scratch
  int64_t cachePosition = 0; ///< a position of all its KV caches, at batch 1
  int64_t caches = 0;        ///< of the positions that were asked for
  int64_t bytes() const { return weights + values + caches; }
  NeededBytes &operator+=(const NeededBytes &other);
  NeededBytes &operator-=(const NeededBytes &other);
};

/// What a rank needs, and the device that it is on.
struct MemoryNeed {
  std::string rank;   ///< "rank 5 (pp 1, tp 1)"
  std::string device; ///< "device 0 (NVIDIA H200)"
  int number = 0;     ///< of the device: ranks on one share its memory
  NeededBytes needed;
  int64_t freeBytes = 0;
  bool isHost = false; ///< weights are copies, see HostNeeds.h
  /// What other processes need of the same memory (SharedHosts.h).
  NeededBytes beside = {};
  std::string described = {}; ///< "device 0 (NVIDIA H200, sm_90)"
};

Status neededBytes(const Artifact &artifact, int stage, int rank,
                   NeededBytes &needed);

/// The needs of the ranks that are here, with KV caches for `positions`.
Status collectNeeds(const Artifact &artifact, const RankDevices &devices,
                    int only, int64_t positions,
                    std::vector<MemoryNeed> &needs);

/// "1100 of weights, 100 of intermediate values of its smallest request"
std::string needText(const MemoryNeed &need);
/// What to do about a device that lacks memory for its ranks, of which `fit`
/// would have enough; the first one needs that much.
std::string remedyFor(const MemoryNeed &first, int64_t needed, int fit);
/// "; there would be room for 900 positions ...", of the ranks on a device that
/// `all` adds up.
std::string cacheText(std::span<const MemoryNeed> needs, const MemoryNeed &all);
/// Of a device whose ranks fit: "room for 900 positions of its KV caches at
/// batch 1"; empty if they have none.
std::string roomText(std::span<const MemoryNeed> needs, int number);

/// Error that names the first device without room for its ranks, what they
/// need for what, and how many ranks would fit.
Status checkMemory(std::span<const MemoryNeed> needs);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MEMORY_MEMORYNEEDS_H
