#include "runtime/device/cuda/kernels/product/Product.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/product/MatMulOperands.h"

namespace shardc::runtime::cuda {
namespace {

/// Whether the batches along a dim are one and the same: it stays so in packed
/// memory. A matrix of equal rows or columns is packed as any other.
bool isRepeated(const TensorView &view, int dim) {
  return dim + 2 < view.rank && view.strides[dim] == 0 && view.dims[dim] > 1;
}

/// The view on packed memory.
TensorView packedFor(const TensorView &view, std::byte *memory) {
  TensorView packed = view;
  packed.data = memory;
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (isRepeated(view, d))
      continue;
    packed.strides[d] = stride;
    stride *= view.dims[d];
  }
  return packed;
}

/// With each repeated dim once.
TensorView withoutRepeats(TensorView view, const TensorView &like) {
  for (int d = 0; d < view.rank; ++d)
    if (isRepeated(like, d))
      view.dims[d] = 1;
  return view;
}

int64_t packedBytes(const TensorView &view) {
  return alignBuffer(withoutRepeats(view, view).numElements() *
                     artifact::elementBytes(view.element));
}

/// Packs into scratch, which goes on behind it.
Status pack(TensorView &view, std::byte *&scratch, CudaStream &stream) {
  const TensorView packed = packedFor(view, scratch);
  SHARDC_RETURN_IF_ERROR(copyStrided(withoutRepeats(packed, view),
                                     withoutRepeats(view, view),
                                     stream.stream()));
  scratch += packedBytes(view);
  view = packed;
  return Status::ok();
}

} // namespace

int64_t productScratchBytes(const TensorView &a, const TensorView &b,
                            const TensorView &c) {
  const ProductPlan plan = planProduct(a, b, c);
  // Packing one may need another packed, whose rows then merge otherwise.
  const bool packs = plan.a.isPacked || plan.b.isPacked || plan.c.isPacked;
  return packs ? packedBytes(a) + packedBytes(b) + packedBytes(c) : 0;
}

int64_t matMulScratchBytes(const KernelCall &call) {
  return host::expectMatMul(call, "MatMul").isOk()
             ? productScratchBytes(call.inputs[0], call.inputs[1],
                                   call.outputs[0])
             : 0;
}

Status runProduct(const TensorView &viewA, const TensorView &viewB,
                  const TensorView &viewC, double alpha, double beta,
                  const GemmEpilogue &epilogue, std::byte *scratch,
                  CudaStream &stream) {
  TensorView a = viewA, b = viewB, c = viewC;
  if (c.numElements() == 0)
    return Status::ok();
  if (a.dims[a.rank - 1] == 0 && !epilogue.bias)
    return beta == 0 ? clearStrided(c, stream.stream()) : Status::ok();
  ProductPlan plan = planProduct(a, b, c);
  if (plan.a.isPacked || plan.b.isPacked || plan.c.isPacked) {
    SHARDC_RETURN_IF_ERROR(pack(a, scratch, stream));
    SHARDC_RETURN_IF_ERROR(pack(b, scratch, stream));
    if (beta != 0)
      SHARDC_RETURN_IF_ERROR(pack(c, scratch, stream));
    else
      c = packedFor(c, scratch);
    plan = planProduct(a, b, c);
  }
  const GemmTypes types = {c.element, c.element, c.element};
  const int64_t size = artifact::elementBytes(c.element);
  SHARDC_RETURN_IF_ERROR(
      plan.forEachProduct([&](int64_t atA, int64_t atB, int64_t atC) {
        GemmEpilogue here = epilogue;
        if (here.addend)
          here.addend += atC * size;
        return stream.gemms().multiply(plan, types, a.data + atA * size,
                                       b.data + atB * size, c.data + atC * size,
                                       alpha, beta, here, stream.stream());
      }));
  return c.data == viewC.data ? Status::ok()
                              : copyStrided(viewC, c, stream.stream());
}

} // namespace shardc::runtime::cuda
