//===- MatMul.cpp - Batched matrix product on a GPU -----------------------===//
//
// Batch dims are broadcast by stride 0 already. Nothing to sum writes zeros.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/product/Product.h"
#include "runtime/kernels/product/MatMulOperands.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "MatMul";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectMatMul(call, kName));
  return runProduct(call.inputs[0], call.inputs[1], call.outputs[0], 1, 0, {},
                    call.scratch, CudaStream::of(call));
}

const CudaKernelRegistration registration(kName, {run, matMulScratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
