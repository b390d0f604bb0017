//===- CacheAppend.cpp - New entries of a KV cache, on a GPU --------------===//
//
// As the host's, but a length out of range is found while it runs.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "CacheAppend";

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 3));
  const TensorView &lengths = call.inputs[2], &out = call.outputs[0];
  if (out.rank != 4 || lengths.rank != 1 || lengths.dims[0] != out.dims[0])
    return host::failure(kName,
                         "lengths of dims " + host::dimsToString(lengths) +
                             " for a cache of dims " + host::dimsToString(out));
  for (const TensorView *input : {&call.inputs[0], &call.inputs[1]}) {
    TensorView expected = out;
    expected.dims[2] = input->rank == 4 ? input->dims[2] : 0;
    SHARDC_RETURN_IF_ERROR(host::expectLike(kName, expected, *input));
  }
  return Status::ok();
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  return appendRows(call.outputs[0], call.inputs[0], call.inputs[1],
                    call.inputs[2],
                    mayFail(call, "a row holds more entries than there is room "
                                  "for, or fewer than none"),
                    streamOf(call));
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
