#include "runtime/rank/ShapePlan.h"

#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"

#include <algorithm>

namespace shardc::runtime {

Status ShapePlan::evaluate(const artifact::Program &program,
                           std::span<const int64_t> values) {
  symbols.assign(values.begin(), values.end());
  for (size_t rank = 0; rank < scalars.size(); ++rank)
    SHARDC_RETURN_IF_ERROR(evaluateScalars(
        program, symbols, coordinatesOf(program, static_cast<int>(rank)),
        scalars[rank]));
  return Status::ok();
}

/// Which part of an output a rank has.
static Status blockOf(const artifact::Output &output,
                      std::span<const int64_t> scalars, OutputBlock &block) {
  block.dims.resize(output.layout()->size());
  for (uint32_t d = 0; d < output.layout()->size(); ++d)
    SHARDC_RETURN_IF_ERROR(
        resolveLayout(*output.layout()->Get(d), scalars, block.dims[d]));
  return Status::ok();
}

Status
ShapePlan::assignOutputs(const artifact::Program &program,
                         std::span<const std::vector<int64_t>> finalScalars) {
  outputDims.resize(program.outputs()->size());
  outputBlocks.resize(outputDims.size());
  for (uint32_t o = 0; o < outputDims.size(); ++o) {
    const artifact::Output *output = program.outputs()->Get(o);
    outputDims[o].clear();
    int64_t elements = 1, held = 0;
    for (uint32_t dim : *output->dims()) {
      outputDims[o].push_back(finalScalars[0][dim]);
      elements *= outputDims[o].back();
    }
    std::vector<OutputBlock> &blocks = outputBlocks[o];
    blocks.resize(finalScalars.size());
    for (size_t rank = 0; rank < blocks.size(); ++rank) {
      OutputBlock &block = blocks[rank];
      SHARDC_RETURN_IF_ERROR(blockOf(*output, finalScalars[rank], block));
      block.copies = std::none_of(
          blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(rank),
          [&](const OutputBlock &lower) { return lower.dims == block.dims; });
      int64_t part = 1;
      for (const OwnedRuns &dim : block.dims)
        part *= dim.localSize;
      held += block.copies ? part : 0;
    }
    if (held != elements)
      return artifactError("output '", output->name()->c_str(),
                           "': the ranks hold ", held, " of its ", elements,
                           " elements");
  }
  return Status::ok();
}

} // namespace shardc::runtime
