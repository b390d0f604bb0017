//===- PagedAttention.cpp - Attention of rows to keys in pages, on a GPU --===//
//
// As the host's (host/attention/PagedAttention.cpp, PagedAttentionParts.cpp), but
// what indices say is found wrong while it runs.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/attention/AttentionViews.h"
#include "runtime/device/cuda/kernels/attention/PagedKernels.h"
#include "runtime/kernels/attention/PagedChecks.h"

#include <cmath>

namespace shardc::runtime::cuda {
namespace {

using namespace host;

AttentionProblem attentionOf(const KernelCall &call) {
  const TensorView &q = call.inputs[kQuery], &k = call.inputs[kKeys];
  AttentionProblem problem;
  problem.q = viewOf(q);
  problem.k = viewOf(k);
  problem.v = viewOf(call.inputs[kValues]);
  problem.y = viewOf(call.outputs[0]);
  problem.heads = q.dims[1];
  problem.kvHeads = k.dims[1];
  problem.queries = q.dims[2];
  problem.keys = k.dims[2];
  problem.depth = q.dims[3];
  problem.columns = call.outputs[0].dims[3];
  setMask(call, kPagedMask, problem);
  for (int d = 0; d < 3 && hasInput(call, kPagedMask); ++d)
    if (call.inputs[kPagedMask].dims[d] == 1)
      problem.mask.strides[d] = 0;
  setSinks(call, kPagedSinks, problem);
  problem.scale = call.floatOr("scale", 1.0 / std::sqrt(double(problem.depth)));
  problem.softcap = call.floatOr("softcap", 0.0);
  problem.isCausal = call.intOr("is_causal", 0) != 0;
  problem.window = call.intOr("window", 0);
  problem.zeroRows = zeroRowsOf(call);
  return problem;
}

AttentionView scalesOf(const KernelCall &call, int input) {
  return hasInput(call, input) ? viewOf(call.inputs[input]) : AttentionView();
}

PagedProblem problemOf(const KernelCall &call, const PagePlaces &places) {
  const TensorView &pages = call.inputs[kPages];
  return {attentionOf(call),
          {places.first, places.here, places.all},
          scalesOf(call, kKeyScales),
          scalesOf(call, kValueScales),
          PagedIndices(pages),
          PagedIndices(call.inputs[kPast]),
          PagedIndices(call.inputs[kFirst]),
          pages.dims[0],
          call.inputs[kKeys].dims[0],
          pages.dims[1],
          mayFail(call, "a row has more keys than places in pages, a page that "
                        "is not there, or begins before another ends")};
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttention(call));
  const TensorView &q = call.inputs[kQuery];
  if (q.dims[1] * q.dims[2] == 0 || call.outputs[0].dims[3] == 0)
    return Status::ok();
  return attendPages(
      problemOf(call, PagePlaces::of(call, call.inputs[kKeys].dims[2])),
      q.element, call.inputs[kKeys].element, streamOf(call));
}

AttentionView partOf(AttentionView view, const TensorView &of, int dim,
                     int64_t begin) {
  if (view.data)
    view.data += artifact::elementBytes(of.element) * begin * of.strides[dim];
  return view;
}

Status runParts(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttentionParts(call));
  const TensorView &q = call.inputs[kQuery], &seen = call.outputs[0];
  const TensorView &keys = call.inputs[kKeys], &values = call.inputs[kValues];
  if (q.dims[1] * q.dims[2] == 0)
    return Status::ok();
  for (int64_t part = 0; part < seen.dims[0]; ++part) {
    const PagePlaces places =
        PagePlaces::of(call, keys.dims[2]).part(part, seen.dims[0]);
    PagedProblem problem = problemOf(call, places);
    problem.of.k = partOf(problem.of.k, keys, 2, part * places.here);
    problem.of.v = partOf(problem.of.v, values, 2, part * places.here);
    for (const auto &[scales, input] :
         {std::pair(&problem.keyScales, kKeyScales),
          std::pair(&problem.valueScales, kValueScales)})
      if (hasInput(call, input))
        *scales = partOf(*scales, call.inputs[input], 2, part * places.here);
    problem.of.y = partOf(problem.of.y, seen, 0, part);
    problem.of.keys = places.here;
    problem.of.columns = values.dims[3];
    problem.of.finishes = false;
    SHARDC_RETURN_IF_ERROR(
        attendPages(problem, q.element, keys.element, streamOf(call)));
  }
  return Status::ok();
}

Status merge(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkMergeAttention(call));
  const TensorView &seen = call.inputs[0], &y = call.outputs[0];
  MergeProblem problem{viewOf(seen), seen.dims[0], {}};
  problem.of.y = viewOf(y);
  problem.of.heads = y.dims[1];
  problem.of.queries = y.dims[2];
  problem.of.columns = y.dims[3];
  setSinks(call, 1, problem.of);
  problem.of.zeroRows = zeroRowsOf(call);
  return y.numElements() == 0 ? Status::ok()
                              : mergeParts(problem, y.element, streamOf(call));
}

const CudaKernelRegistration registration("PagedAttention", {run, nullptr});
const CudaKernelRegistration parts("PagedAttentionParts", {runParts, nullptr});
const CudaKernelRegistration merging("MergeAttention", {merge, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
