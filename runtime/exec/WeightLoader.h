//===- WeightLoader.h - A rank's slices of the weights --------------------===//
//
// A slice that is one aligned piece of its file is used where it lies: a
// pointer into the mapping, no copy, shared by all ranks. Everything else is
// packed into memory of the rank. Example, weight [96, 384] on rank 1 of tp =
// 2:
//   split by rows    -> pointer to byte 48 * 384 * 4 of the weight
//   split by columns -> 96 * 192 elements packed at load
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_WEIGHTLOADER_H
#define SHARDC_RUNTIME_EXEC_WEIGHTLOADER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/base/AlignedBuffer.h"

#include <span>
#include <vector>

namespace shardc::runtime {

struct RankWeights {
  std::vector<const std::byte *> data; ///< by weight; never null
  std::vector<int64_t> bytes;          ///< of the local slice, by weight
  int64_t mappedBytes = 0;             ///< read where they lie
  int64_t packedBytes = 0;             ///< in memory of this rank

  // What keeps `data` alive, beside the artifact.
  std::vector<AlignedBuffer> packed;
  MappedFile copiedFile;
};

/// Loads all weights of `stage` for `rank`; `scalars` are its load scalars.
Status loadWeights(const Artifact &artifact, size_t stage, int rank,
                   std::span<const int64_t> scalars, RankWeights &weights);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_WEIGHTLOADER_H
