//===- MatMulFloat8.cpp - Product of two operands of eight bits of float --===//
//
// More than a few rows are multiplied by cuBLASLt, which wants both operands
// dense along what is summed, and multiples of 16. It takes one scale of each;
// others are applied to a product of floats in scratch. Where the GPU or the
// shape does not allow it, and for a few rows, whose time is that of reading
// the weights, A becomes numbers.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"
#include "runtime/device/cuda/kernels/product/Float8Product.h"
#include "runtime/kernels/product/Float8Operands.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "MatMulFloat8";
constexpr int64_t kUnit = 16; ///< elements of A and B, and bytes

using Operands = host::Float8Operands;

/// What cuBLASLt multiplies: operands as they lie, or packed in scratch.
class Float8Product {
public:
  Float8Product(const Operands &p, std::byte *scratch)
      : p(p), a(p.a), b(p.b), c(p.c), scratch(scratch) {
    packsA = !isDenseAlong(a, p.column());
    packsB = !isDenseAlong(b, p.row());
    if (packsA)
      a = packed(a, p.column());
    if (packsB)
      b = packed(b, p.row());
    plan = planProduct(a, b, c);
    const bool areScalars = isScalar(p.scaleA) && isScalar(p.scaleB);
    scalesBehind = !areScalars || !canWrite();
    if (scalesBehind) {
      c = packedView(take(4 * c.numElements()), artifact::ElementType_Float32,
                     {c.dims, static_cast<size_t>(c.rank)});
      plan = planProduct(a, b, c);
    } else if (p.scaleA.element != artifact::ElementType_Float32) {
      scales = reinterpret_cast<float *>(take(2 * sizeof(float)));
      readsScales = true;
    }
  }

  /// Whether cuBLASLt may know such a product; what it says itself comes later.
  static bool fits(const Operands &p) {
    using namespace artifact;
    const auto isKnown = [](const TensorView &view) {
      return view.element == ElementType_Float8E4M3FN ||
             view.element == ElementType_Float8E5M2;
    };
    const int64_t k = p.b.dims[p.row()], n = p.c.dims[p.column()];
    return isKnown(p.a) && isKnown(p.b) &&
           (p.a.element == ElementType_Float8E4M3FN ||
            p.b.element == ElementType_Float8E4M3FN) &&
           p.c.element != ElementType_Float64 && k > 0 && k % kUnit == 0 &&
           n % kUnit == 0 && p.c.numElements() > kMostFewRows * n;
  }
  int64_t scratchBytes() const { return bytes; }
  /// Where views begin is known when they are there.
  bool isUsable() const {
    bool usable = !plan.a.isPacked && !plan.a.isTransposed &&
                  !plan.b.isPacked && plan.b.isTransposed;
    for (const TensorView *view : {&a, &b, &c})
      usable &= reinterpret_cast<uintptr_t>(view->data) % kUnit == 0;
    return usable;
  }
  Status run(CudaStream &stream) const;

private:
  /// Dense along a dim, with lines that begin at multiples of 16 and that no
  /// other line is in.
  static bool isDenseAlong(const TensorView &view, int dim) {
    bool isDense = view.strides[dim] == 1;
    for (int d = 0; d < view.rank; ++d)
      isDense &= d == dim || view.dims[d] <= 1 || view.strides[d] % kUnit == 0;
    const int other = dim == view.rank - 1 ? dim - 1 : view.rank - 1;
    return isDense &&
           (view.dims[other] <= 1 || view.strides[other] >= view.dims[dim]);
  }
  static bool isScalar(const TensorView &scale) {
    bool isScalar = true;
    for (int d = 0; d < scale.rank; ++d)
      isScalar &= scale.dims[d] <= 1 || scale.strides[d] == 0;
    return isScalar;
  }
  /// Whether C lies as cuBLASLt writes it: rows that begin at 16 bytes.
  bool canWrite() const {
    const int64_t size = artifact::elementBytes(c.element);
    bool fits = !plan.c.isPacked && !plan.c.isTransposed;
    for (int d = 0; d + 1 < c.rank; ++d)
      fits &= c.dims[d] <= 1 || c.strides[d] * size % kUnit == 0;
    return fits;
  }

  std::byte *take(int64_t size) {
    std::byte *at = scratch ? scratch + bytes : nullptr;
    bytes += alignBuffer(size);
    return at;
  }
  /// A view on scratch that is dense along `dim`; batches that only repeat are
  /// there once.
  TensorView packed(TensorView view, int dim) {
    int64_t stride = view.dims[dim];
    view.strides[dim] = 1;
    for (int d = view.rank - 1; d >= 0; --d) {
      const bool repeats = d + 2 < view.rank && view.strides[d] == 0;
      if (d == dim || repeats)
        continue;
      view.strides[d] = stride;
      stride *= view.dims[d];
    }
    view.data = take(stride);
    return view;
  }
  static Status pack(TensorView to, TensorView from, cudaStream_t stream) {
    for (int d = 0; d + 2 < to.rank; ++d)
      if (to.strides[d] == 0)
        to.dims[d] = from.dims[d] = 1;
    return copyStrided(to, from, stream);
  }

  const Operands &p;
  TensorView a, b, c;
  ProductPlan plan;
  std::byte *scratch;
  int64_t bytes = 0;
  bool packsA = false, packsB = false, scalesBehind = false,
       readsScales = false;
  float *scales = nullptr; ///< of A and B
};

Status Float8Product::run(CudaStream &stream) const {
  if (packsA)
    SHARDC_RETURN_IF_ERROR(pack(a, p.a, stream.stream()));
  if (packsB)
    SHARDC_RETURN_IF_ERROR(pack(b, p.b, stream.stream()));
  GemmEpilogue epilogue;
  if (readsScales) {
    SHARDC_RETURN_IF_ERROR(
        readScales(p.scaleA, p.scaleB, scales, stream.stream()));
    epilogue.scaleA = scales;
    epilogue.scaleB = scales + 1;
  } else if (!scalesBehind) {
    epilogue.scaleA = p.scaleA.as<float>();
    epilogue.scaleB = p.scaleB.as<float>();
  }
  const GemmTypes types = {a.element, b.element, c.element};
  const int64_t size = artifact::elementBytes(c.element);
  SHARDC_RETURN_IF_ERROR(
      plan.forEachProduct([&](int64_t atA, int64_t atB, int64_t atC) {
        return stream.gemms().multiply(plan, types, a.data + atA, b.data + atB,
                                       c.data + atC * size, 1, 0, epilogue,
                                       stream.stream());
      }));
  if (!scalesBehind)
    return Status::ok();
  // Of C's dims, as neither has a dim that is summed.
  TensorView scaleA = p.scaleA, scaleB = p.scaleB;
  scaleA.strides[p.column()] = scaleB.strides[p.row()] = 0;
  return scaleProduct(p.c, c.as<float>(), scaleA, scaleB, stream.stream());
}

Status run(const KernelCall &call) {
  Operands p;
  SHARDC_RETURN_IF_ERROR(p.read(call, kName));
  if (p.c.numElements() == 0)
    return Status::ok();
  CudaStream &stream = CudaStream::of(call);
  if (stream.gemms().multipliesFloat8s() && Float8Product::fits(p)) {
    const Float8Product product(p, call.scratch);
    if (product.isUsable()) {
      const Status status = product.run(stream);
      if (status.code() != StatusCode::Unsupported)
        return status;
    }
  }
  return host::multiplyNumbers(call, p, findCudaKernel);
}

/// For either way: which one it is, the GPU says.
int64_t scratchBytes(const KernelCall &call) {
  Operands p;
  if (!p.read(call, kName).isOk() || p.c.numElements() == 0)
    return 0; // run reports what that finds
  const int64_t bytes = host::numbersScratchBytes(call, p, findCudaKernel);
  return Float8Product::fits(p)
             ? std::max(bytes, Float8Product(p, nullptr).scratchBytes())
             : bytes;
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
