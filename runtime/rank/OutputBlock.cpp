#include "runtime/rank/OutputBlock.h"

namespace shardc::runtime {

static Status resolveBlock(const artifact::Output &output,
                           StageScalars &scalars, int rank,
                           std::vector<OwnedRuns> &dims) {
  std::span<const int64_t> of;
  SHARDC_RETURN_IF_ERROR(scalars.of(rank, of));
  return resolveLayouts(*output.layout(), of, dims);
}

Status findOutputBlock(const artifact::Output &output, StageScalars &scalars,
                       int rank, OutputBlock &block) {
  SHARDC_RETURN_IF_ERROR(resolveBlock(output, scalars, rank, block.dims));
  block.copies = true;
  std::vector<OwnedRuns> lower;
  for (int other = 0; other < rank && block.copies; ++other) {
    SHARDC_RETURN_IF_ERROR(resolveBlock(output, scalars, other, lower));
    block.copies = lower != block.dims;
  }
  return Status::ok();
}

} // namespace shardc::runtime
