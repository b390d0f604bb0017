//===- WeightLoader.h - A rank's slices of the weights --------------------===//
//
// Finds them, mostly without reading them. A slice that is one aligned piece of
// its file is used where it lies: a pointer into the mapping, no copy, shared
// by all ranks; and so is, on a host, one that is a block of it, where its readers
// take rows as they lie (ConstantReads.h). Everything else is packed later, into memory
// of the rank (DeviceWeights.h), but for slices that begin or end within a byte: those
// are packed here. Example, weight [96, 384] on rank 1 of tp = 2:
//   split by rows    -> pointer to byte 48 * 384 * 4 of the weight
//   split by columns -> pointer to byte 192 * 4, rows of 384; or 96 * 192 elements
//                       to copy
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_WEIGHTLOADER_H
#define SHARDC_RUNTIME_WEIGHTS_WEIGHTLOADER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/weights/ConstantReads.h"
#include "runtime/weights/WeightSlice.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

class TransientBytes;

/// What one rank holds of the weights, whichever of its programs need it: a
/// prompt's and a step's slices that are alike are there once.
struct WeightSlices {
  int64_t mappedBytes = 0; ///< read where they lie, or to be packed from there
  int64_t packedBytes = 0; ///< in memory of this rank

  /// By file, place, element and what is owned of each dim.
  std::map<std::string, WeightSlice> known;
  // What keeps them alive, beside the artifact.
  std::vector<AlignedBuffer> packed;
  MappedFile copiedFile;
  CopiedWeights copied; ///< with --weights copy, once a program was loaded

  /// Once a device has them; what was counted stays. No slice may be asked for
  /// any more.
  void freePacked() {
    known.clear();
    packed.clear();
  }
};

/// The slices of one program's weights.
struct RankWeights {
  // By weight and, behind all weights, by join.
  /// While they are known; null where nobody reads it.
  std::vector<const WeightSlice *> slices;
  /// Where it lies, or will lie: null until it has a place (DeviceWeights.h).
  std::vector<const std::byte *> data;
  std::vector<int64_t> bytes; ///< of the local slice
  /// How it lies there; null: dense.
  std::vector<const BlockLayout *> blocks;
  /// What there is in place of its bytes; null: these. Once it has a place.
  std::vector<const TransientBytes *> transients;
};

/// Which slice a buffer of weights holds, by the order of RankWeights.
inline size_t sliceOf(const artifact::Program &program,
                      const artifact::Buffer &buffer) {
  return buffer.source() + (buffer.kind() == artifact::BufferKind_Joined
                                ? program.weights()->size()
                                : 0);
}

/// All weights of the artifact's program `number` for `rank`; `scalars` are its
/// load scalars. `reads`: of that program, on a host; null: what is no one piece of
/// its file is packed.
Status loadWeights(const Artifact &artifact, size_t number, int rank,
                   std::span<const int64_t> scalars, const ConstantReads *reads,
                   WeightSlices &slices, RankWeights &weights);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_WEIGHTLOADER_H
