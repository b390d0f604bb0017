//===- DeviceMemory.h - Whether ranks fit on their devices ----------------===//
//
// Known before anything is loaded: what a rank holds of the weights and of what
// is computed of them. Intermediate values come with the first request.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_DEVICEMEMORY_H
#define SHARDC_RUNTIME_EXEC_DEVICEMEMORY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/exec/RankDevices.h"

#include <span>
#include <string>

namespace shardc::runtime {

/// What a rank needs, and the device that it is on.
struct MemoryNeed {
  std::string rank;   ///< "rank 5 (pp 1, tp 1)"
  std::string device; ///< "device 0 (NVIDIA H200)"
  int number = 0;     ///< of the device: ranks on one share its memory
  int64_t bytes = 0;
  int64_t freeBytes = 0;
};

/// Bytes that a rank of a stage keeps on its device, over all its programs.
/// What two programs share is counted once, as it is kept.
Status neededBytes(const Artifact &artifact, int stage, int rank,
                   int64_t &bytes);

/// Error that names the first device without room for its ranks, what they
/// need, and how many ranks would fit.
Status checkMemory(std::span<const MemoryNeed> needs);

/// The same for the ranks that are here; nothing on the host, which maps its
/// weights.
Status checkMemory(const Artifact &artifact, const RankDevices &devices,
                   int only);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_DEVICEMEMORY_H
