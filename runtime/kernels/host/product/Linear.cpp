//===- Linear.cpp - A product with bias, residual and activation ----------===//
//
// Artifacts for GPUs have it, whose libraries do all of it at once. Here the
// product is MatMul's, and the rest is done where it lies.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/product/BatchedProduct.h"
#include "runtime/kernels/layout/StridedCopy.h"
#include "runtime/kernels/product/LinearOperands.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Linear";

Status run(const KernelCall &call) {
  LinearOperands p;
  SHARDC_RETURN_IF_ERROR(p.read(call, kName));
  TensorView &first = p.residual.isAbsent() ? p.bias : p.residual;
  const bool adds = !first.isAbsent();
  if (adds)
    StridedCopy(p.out, first)(p.out.data, first.data);
  first = kAbsentView;
  SHARDC_RETURN_IF_ERROR(
      dispatch(FloatTypes(), p.a.element, kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Acc = Accumulator<T>;
        return BatchedProduct<T>(p.a, p.b, p.out, call.packed[0])
            .run(p.a.as<T>(), p.b.as<T>(), p.out.as<T>(), Acc(1), Acc(adds),
                 call.scratch);
      }));
  return finishLinear(call, p.out, {p.bias, p.residual}, p.activation,
                      findHostKernel);
}

constexpr OperandPacking kPackings[] = {packingOfInput(1)};
const HostKernelRegistration registration(kName,
                                          {run, matMulScratchBytes, kPackings});

} // namespace
} // namespace shardc::runtime::host
