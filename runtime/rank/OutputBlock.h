//===- OutputBlock.h - A rank's part of an output -------------------------===//
#ifndef SHARDC_RUNTIME_RANK_OUTPUTBLOCK_H
#define SHARDC_RUNTIME_RANK_OUTPUTBLOCK_H

#include "runtime/program/StageScalars.h"
#include "runtime/tensor/Ownership.h"

#include <vector>

namespace shardc::runtime {

struct OutputBlock {
  std::vector<OwnedRuns> dims;
  bool copies = true; ///< false: a lower rank holds the same block

  int64_t numElements() const {
    int64_t elements = 1;
    for (const OwnedRuns &dim : dims)
      elements *= dim.localSize;
    return elements;
  }
};

/// What `rank` has of an output, with scalars in which its sizes are known.
Status findOutputBlock(const artifact::Output &output, StageScalars &scalars,
                       int rank, OutputBlock &block);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_OUTPUTBLOCK_H
