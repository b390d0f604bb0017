//===- Cast.cpp - Conversion between element types on a GPU ---------------===//
#include "runtime/backend/cuda/CudaKernels.h"
#include "runtime/backend/cuda/kernels/StridedKernels.h"
#include "runtime/backend/host/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Cast";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(host::expectDims(kName, out, x));
  return castStrided(out, x, streamOf(call));
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
