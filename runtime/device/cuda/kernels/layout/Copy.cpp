//===- Copy.cpp - Strided copy on a GPU -----------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Copy";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(host::expectLike(kName, out, x));
  return copyStrided(out, x, streamOf(call));
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
