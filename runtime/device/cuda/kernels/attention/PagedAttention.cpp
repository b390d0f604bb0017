//===- PagedAttention.cpp - Attention of rows to keys in pages, on a GPU --===//
//
// As the host's (host/attention/PagedAttention.cpp), but what indices say is
// found wrong while it runs.
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

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttention(call));
  const TensorView &q = call.inputs[kQuery], &pages = call.inputs[kPages];
  if (q.dims[1] * q.dims[2] == 0 || call.outputs[0].dims[3] == 0)
    return Status::ok();
  const PagedProblem problem{
      attentionOf(call),
      PagedIndices(pages),
      PagedIndices(call.inputs[kPast]),
      PagedIndices(call.inputs[kFirst]),
      pages.dims[0],
      call.inputs[kKeys].dims[0],
      pages.dims[1],
      mayFail(call, "a row has more keys than places in pages, a page that is "
                    "not there, or begins before another ends")};
  return attendPages(problem, q.element, streamOf(call));
}

const CudaKernelRegistration registration("PagedAttention", {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
