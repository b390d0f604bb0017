//===- MatMul.cpp - Batched matrix product --------------------------------===//
//
// Batch dims are broadcast by stride 0 already. Nothing to sum writes zeros:
// what a rank without any of the reduced dim must hold of a partial sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/product/BatchedProduct.h"
#include "runtime/kernels/product/MatMulOperands.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMul";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectMatMul(call, kName));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &c = call.outputs[0];
  return dispatch(NumericTypes(), a.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Acc = Accumulator<T>;
    return BatchedProduct<T>(a, b, c, call.packed[0], sumOrderOf(call))
        .run(a.as<T>(), b.as<T>(), c.as<T>(), Acc(1), Acc(0), call.scratch);
  });
}

constexpr OperandPacking kPackings[] = {packingOfInput(1)};
const HostKernelRegistration registration(kName,
                                          {run, matMulScratchBytes, kPackings});

} // namespace
} // namespace shardc::runtime::host
