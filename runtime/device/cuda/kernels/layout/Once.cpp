//===- Once.cpp - Once and BitCast, which are copies on a GPU -------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

Status runOnce(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectAlike(call, "Once", 1));
  return call.intOr("present", 1) != 0
             ? copyStrided(call.outputs[0], call.inputs[0], streamOf(call))
             : clearStrided(call.outputs[0], streamOf(call));
}

Status runBitCast(const KernelCall &call) {
  constexpr char name[] = "BitCast";
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, name, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(host::expectDims(name, out, x));
  if (artifact::elementBytes(x.element) != artifact::elementBytes(out.element))
    return host::failure(name, "types of different sizes");
  return copyStrided(out, x, streamOf(call));
}

const CudaKernelRegistration registrations[] = {
    {"Once", {runOnce, nullptr}},
    {"BitCast", {runBitCast, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
