#include "runtime/exec/ShapePlan.h"

#include "runtime/base/Message.h"
#include "runtime/exec/ScalarEvaluator.h"

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

Status ShapePlan::assignOutputs(const artifact::Program &program) {
  const SegmentPlan &end = ranks[0].segments.back();
  const std::vector<int64_t> &sizes =
      end.scalars.empty() ? scalars[0] : end.scalars[0];
  outputDims.resize(program.outputs()->size());
  for (uint32_t o = 0; o < program.outputs()->size(); ++o) {
    const artifact::Output *output = program.outputs()->Get(o);
    std::vector<int64_t> &dims = outputDims[o];
    dims.clear();
    int64_t elements = 1, held = 0;
    for (uint32_t dim : *output->dims()) {
      dims.push_back(sizes[dim]);
      elements *= dims.back();
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      OutputBlock &block = ranks[rank].last().outputs[o];
      block.copies = true;
      for (size_t lower = 0; lower < rank && block.copies; ++lower)
        block.copies = ranks[lower].last().outputs[o].dims != block.dims;
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
