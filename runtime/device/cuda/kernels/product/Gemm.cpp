//===- Gemm.cpp - alpha A B + beta C of matrices, on a GPU ----------------===//
//
// A and B are transposed as views already, C (optional) is broadcast to the
// output's dims. A C that is one row is cuBLASLt's bias.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/kernels/product/Product.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Gemm";

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  if (a.rank != 2 || b.rank != 2 || a.dims[1] != b.dims[0])
    return host::failure(kName, "operands have dims " + host::dimsToString(a) +
                                    " and " + host::dimsToString(b));
  TensorView expected = a;
  expected.dims[1] = b.dims[1];
  SHARDC_RETURN_IF_ERROR(host::expectElement(kName, a.element, b));
  SHARDC_RETURN_IF_ERROR(host::expectLike(kName, expected, call.outputs[0]));
  if (host::hasInput(call, 2))
    SHARDC_RETURN_IF_ERROR(host::expectLike(kName, expected, call.inputs[2]));
  return Status::ok();
}

/// One element a column, for an output with dense rows; cuBLASLt wants it
/// aligned to 16 bytes, and knows no bias of doubles.
bool isBias(const TensorView &c, const TensorView &out) {
  return c.strides[0] == 0 && c.strides[1] == 1 && c.dims[1] > 1 &&
         out.dims[0] > 1 && out.strides[1] == 1 &&
         c.element != artifact::ElementType_Float64 &&
         reinterpret_cast<uintptr_t>(c.data) % 16 == 0;
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  CudaStream &stream = CudaStream::of(call);
  const double alpha = call.floatOr("alpha", 1.0);
  double beta = 0;
  GemmEpilogue epilogue;
  if (host::hasInput(call, 2)) {
    const TensorView &c = call.inputs[2];
    beta = call.floatOr("beta", 1.0);
    if (a.dims[1] == 0 && beta != 1 && out.numElements() > 0)
      return unsupportedError(kName, ": nothing to sum and a factor for C");
    if (beta == 1 && a.dims[1] > 0 && isBias(c, out)) {
      epilogue.bias = c.data;
      beta = 0;
    } else {
      SHARDC_RETURN_IF_ERROR(copyStrided(out, c, stream.stream()));
    }
  }
  return runProduct(a, b, out, alpha, beta, epilogue, call.scratch, stream);
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
