//===- Linear.cpp - A product with a bias, a residual, an activation ------===//
//
// All of it is cuBLASLt's epilogue, a residual that lies as the result does its
// C. What that cannot take, or has no algorithm for, is done behind the
// product, in place.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/kernels/product/Product.h"
#include "runtime/kernels/product/LinearOperands.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Linear";
using Operands = host::LinearOperands;

/// Something to sum, and rows that are dense; a bias is aligned to 16 bytes. A
/// GELU is the GPU's tanh.approx there, which is too little for f32.
bool hasEpilogue(const Operands &p, const ProductPlan &plan) {
  const int column = p.out.rank - 1;
  return (p.activation != "gelu" ||
          p.out.element != artifact::ElementType_Float32) &&
         p.a.dims[column] > 0 && !plan.c.isTransposed &&
         (p.bias.isAbsent() ||
          ((p.bias.strides[column] == 1 || p.bias.dims[column] <= 1) &&
           reinterpret_cast<uintptr_t>(p.bias.data) % 16 == 0));
}

/// Whether one view's elements are as far apart as the other's.
bool lieAlike(const TensorView &a, const TensorView &b) {
  for (int d = 0; d < a.rank; ++d)
    if (a.dims[d] > 1 && a.strides[d] != b.strides[d])
      return false;
  return true;
}

GemmEpilogue::Activation activationOf(const Operands &p) {
  return p.activation == "relu"   ? GemmEpilogue::Relu
         : p.activation == "gelu" ? GemmEpilogue::Gelu
                                  : GemmEpilogue::None;
}

Status runAtOnce(const KernelCall &call, const Operands &p,
                 const ProductPlan &plan, CudaStream &stream) {
  GemmEpilogue epilogue;
  epilogue.bias = p.bias.data;
  epilogue.activation = activationOf(p);
  if (!p.residual.isAbsent()) {
    const bool packs = plan.a.isPacked || plan.b.isPacked || plan.c.isPacked;
    if (!packs && lieAlike(p.out, p.residual))
      epilogue.addend = p.residual.data;
    else
      SHARDC_RETURN_IF_ERROR(copyStrided(p.out, p.residual, stream.stream()));
  }
  return runProduct(p.a, p.b, p.out, 1, p.residual.isAbsent() ? 0 : 1, epilogue,
                    call.scratch, stream);
}

Status run(const KernelCall &call) {
  Operands p;
  SHARDC_RETURN_IF_ERROR(p.read(call, kName));
  if (p.out.numElements() == 0)
    return Status::ok();
  CudaStream &stream = CudaStream::of(call);
  const ProductPlan plan = planProduct(p.a, p.b, p.out);
  if (hasEpilogue(p, plan)) {
    const Status status = runAtOnce(call, p, plan, stream);
    if (status.code() != StatusCode::Unsupported)
      return status;
  }
  SHARDC_RETURN_IF_ERROR(
      runProduct(p.a, p.b, p.out, 1, 0, {}, call.scratch, stream));
  return host::finishLinear(call, p.out, {p.bias, p.residual}, p.activation,
                            findCudaKernel);
}

const CudaKernelRegistration registration(kName, {run, matMulScratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
