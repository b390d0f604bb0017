//===- PageWrite.cpp - New entries at their places in pages, on a GPU -----===//
//
// As the host's (host/attention/PageWrite.cpp), but what indices say is found
// wrong while it runs.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/attention/PagedKernels.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/attention/PagedChecks.h"

namespace shardc::runtime::cuda {
namespace {

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(host::checkPageWrite(call, axis));
  const TensorView &pool = call.inputs[0], &out = call.outputs[0];
  cudaStream_t stream = streamOf(call);
  const Fault fault = mayFail(
      call,
      "a page or a slot is outside of the pool, or the model counts other "
      "positions than the sequence has");
  SHARDC_RETURN_IF_ERROR(copyStrided(out, pool, stream));
  SHARDC_RETURN_IF_ERROR(copyPages(out, call.inputs[3], fault, stream));
  const host::PagePlaces places = host::PagePlaces::of(call, out.dims[axis]);
  return writeSlots(out, call.inputs[1], call.inputs[2], axis,
                    {places.first, places.here, places.all}, fault, stream);
}

const CudaKernelRegistration registration("PageWrite", {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
