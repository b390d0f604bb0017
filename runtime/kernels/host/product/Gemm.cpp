//===- Gemm.cpp - alpha A B + beta C of matrices --------------------------===//
//
// A and B are transposed as views already, C (optional) is broadcast to the
// output's dims.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/product/BatchedProduct.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Gemm";

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  if (a.rank != 2 || b.rank != 2 || a.dims[1] != b.dims[0])
    return failure(kName, "operands have dims " + dimsToString(a) + " and " +
                              dimsToString(b));
  TensorView expected = a;
  expected.dims[1] = b.dims[1];
  SHARDC_RETURN_IF_ERROR(expectElement(kName, a.element, b));
  SHARDC_RETURN_IF_ERROR(expectLike(kName, expected, call.outputs[0]));
  if (hasInput(call, 2))
    SHARDC_RETURN_IF_ERROR(expectLike(kName, expected, call.inputs[2]));
  return Status::ok();
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const bool hasC = hasInput(call, 2);
  if (hasC)
    StridedCopy(out, call.inputs[2])(out.data, call.inputs[2].data);
  return dispatch(NumericTypes(), a.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Acc = Accumulator<T>;
    const Acc alpha = Acc(Compute<T>(call.floatOr("alpha", 1.0)));
    const Acc beta = hasC ? Acc(Compute<T>(call.floatOr("beta", 1.0))) : Acc(0);
    return BatchedProduct<T>(a, b, out, call.packed[0], sumOrderOf(call))
        .run(a.as<T>(), b.as<T>(), out.as<T>(), alpha, beta, call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  // run reports what check finds
  return check(call).isOk() ? productScratchBytes(call, kName) : 0;
}

constexpr OperandPacking kPackings[] = {packingOfInput(1)};
const HostKernelRegistration registration(kName,
                                          {run, scratchBytes, kPackings});

} // namespace
} // namespace shardc::runtime::host
