//===- MatMul.cpp - Batched matrix product --------------------------------===//
//
// Batch dims are broadcast by stride 0 already. Nothing to sum writes zeros:
// what a rank without any of the reduced dim must hold of a partial sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/BatchedProduct.h"
#include "runtime/backend/host/kernels/Dispatch.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMul";

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &c = call.outputs[0];
  if (a.rank < 2 || a.rank != b.rank)
    return failure(kName, "operands have dims " + dimsToString(a) + " and " +
                              dimsToString(b));
  const int row = a.rank - 2, column = a.rank - 1;
  TensorView expectedB = b, expectedC = a;
  for (int d = 0; d < row; ++d)
    expectedB.dims[d] = a.dims[d];
  expectedB.dims[row] = a.dims[column];
  expectedC.dims[column] = b.dims[column];
  SHARDC_RETURN_IF_ERROR(expectDims(kName, expectedB, b));
  SHARDC_RETURN_IF_ERROR(expectElement(kName, a.element, b));
  return expectLike(kName, expectedC, c);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &c = call.outputs[0];
  return dispatch(NumericTypes(), a.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Acc = Accumulator<T>;
    return BatchedProduct<T>(a, b, c, call.packed)
        .run(a.as<T>(), b.as<T>(), c.as<T>(), Acc(1), Acc(0), call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  // run reports what check finds
  return check(call).isOk() ? productScratchBytes(call, kName) : 0;
}

constexpr OperandPacking kPacking = packingOfInput(1);
const HostKernelRegistration registration(kName,
                                          {run, scratchBytes, &kPacking});

} // namespace
} // namespace shardc::runtime::host
