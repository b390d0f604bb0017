//===- DeviceMemory.h - Whether ranks fit on their devices ----------------===//
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
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_DEVICEMEMORY_H
#define SHARDC_RUNTIME_EXEC_DEVICEMEMORY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/exec/RankDevices.h"

#include <span>
#include <string>

namespace shardc::runtime {

/// What a rank of a stage needs of its device, over all its programs.
struct NeededBytes {
  int64_t weights = 0;       ///< what two programs share once, as it is kept
  int64_t values = 0;        ///< of the smallest request, without scratch
  int64_t cachePosition = 0; ///< a position of all its KV caches, at batch 1
  int64_t bytes() const { return weights + values; }
};

/// What a rank needs, and the device that it is on.
struct MemoryNeed {
  std::string rank;   ///< "rank 5 (pp 1, tp 1)"
  std::string device; ///< "device 0 (NVIDIA H200)"
  int number = 0;     ///< of the device: ranks on one share its memory
  NeededBytes needed;
  int64_t freeBytes = 0;
};

Status neededBytes(const Artifact &artifact, int stage, int rank,
                   NeededBytes &needed);

/// "1100 of weights, 100 of intermediate values of its smallest request"
std::string needText(const NeededBytes &needed);
/// Of a rank that fits: "room for 900 positions of its KV caches at batch 1";
/// empty if it has none.
std::string roomText(const NeededBytes &needed, int64_t freeBytes);

/// Error that names the first device without room for its ranks, what they
/// need for what, and how many ranks would fit.
Status checkMemory(std::span<const MemoryNeed> needs);

/// The same for the ranks that are here; nothing on the host, which maps its
/// weights.
Status checkMemory(const Artifact &artifact, const RankDevices &devices,
                   int only);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_DEVICEMEMORY_H
