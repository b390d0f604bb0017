//===- MatMul.cpp - Batched matrix product on a GPU -----------------------===//
//
// Batch dims are broadcast by stride 0 already. Nothing to sum writes zeros.
//
//===----------------------------------------------------------------------===//
#include "runtime/backend/cuda/CudaKernels.h"
#include "runtime/backend/cuda/kernels/Product.h"
#include "runtime/backend/host/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "MatMul";

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  if (a.rank < 2 || a.rank != b.rank)
    return host::failure(kName, "operands have dims " + host::dimsToString(a) +
                                    " and " + host::dimsToString(b));
  const int row = a.rank - 2, column = a.rank - 1;
  TensorView expectedB = b, expectedC = a;
  for (int d = 0; d < row; ++d)
    expectedB.dims[d] = a.dims[d];
  expectedB.dims[row] = a.dims[column];
  expectedC.dims[column] = b.dims[column];
  SHARDC_RETURN_IF_ERROR(host::expectDims(kName, expectedB, b));
  SHARDC_RETURN_IF_ERROR(host::expectElement(kName, a.element, b));
  return host::expectLike(kName, expectedC, call.outputs[0]);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  return runProduct(call.inputs[0], call.inputs[1], call.outputs[0], 1, 0, {},
                    call.scratch, CudaStream::of(call));
}

int64_t scratchBytes(const KernelCall &call) {
  // run reports what check finds
  return check(call).isOk()
             ? productScratchBytes(call.inputs[0], call.inputs[1],
                                   call.outputs[0])
             : 0;
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
