//===- MatMulInteger.cpp - Product of 8-bit integers, on a GPU ------------===//
//
// Exact: sums are of 32 bits and wrap around. More than a few rows are packed
// into scratch, a panel of columns of B at a time, and multiplied by cuBLASLt.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"
#include "runtime/device/cuda/kernels/product/IntegerProduct.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/product/IntegerProduct.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "MatMulInteger";
constexpr int64_t kPanelBytes = int64_t{64} << 20; ///< more for one tile of n
constexpr int64_t kTile = 128;

Status read(const KernelCall &call, IntegerProduct &p) {
  SHARDC_RETURN_IF_ERROR(host::checkMatMulInteger(call, kName));
  p.a = call.inputs[0];
  p.b = call.inputs[1];
  p.c = call.outputs[0];
  for (const TensorView *view : {&p.a, &p.b})
    if (view->element != artifact::ElementType_Int8 &&
        view->element != artifact::ElementType_UInt8)
      return host::unsupported(kName, view->element);
  p.hasZeroA = host::hasInput(call, 2);
  p.hasZeroB = host::hasInput(call, 3);
  p.zeroA = p.hasZeroA ? call.inputs[2] : p.a;
  p.zeroB = p.hasZeroB ? call.inputs[3] : p.b;
  return Status::ok();
}

bool areFew(const IntegerProduct &p) {
  return p.c.numElements() <= kMostFewRows * p.c.dims[p.column()];
}

/// Columns [begin, begin + count).
IntegerProduct columnsOf(const IntegerProduct &p, int64_t begin,
                         int64_t count) {
  IntegerProduct part = p;
  for (TensorView *view : {&part.b, &part.c, &part.zeroB})
    *view = narrowed(*view, p.column(), begin, count);
  return part;
}

/// Where all that a panel needs is, in scratch.
struct Packing {
  IntegerLines rows, columns;
  int32_t *product = nullptr;
  int64_t bytes = 0;

  /// Of `width` columns at a time.
  Packing(const IntegerProduct &p, int64_t width, std::byte *scratch) {
    const int64_t k = p.b.dims[p.row()];
    setSizes(rows, p.c.numElements() / p.c.dims[p.column()], 1, k);
    setSizes(columns, width, 4, k); // as cuBLASLt wants it
    for (IntegerLines *lines : {&rows, &columns}) {
      lines->packed = take(scratch, lines->paddedCount * lines->paddedK);
      lines->sums = takeNumbers(scratch, lines->paddedCount);
      lines->zeros = takeNumbers(scratch, lines->paddedCount);
    }
    product = takeNumbers(scratch, rows.count * columns.paddedCount);
  }

  static void setSizes(IntegerLines &lines, int64_t count, int64_t multiple,
                       int64_t k) {
    lines.count = count;
    lines.paddedCount = (count + multiple - 1) / multiple * multiple;
    lines.k = k;
    lines.paddedK = (k + 15) / 16 * 16;
  }

private:
  std::byte *take(std::byte *scratch, int64_t size) {
    std::byte *at = scratch ? scratch + bytes : nullptr;
    bytes += alignBuffer(size);
    return at;
  }
  int32_t *takeNumbers(std::byte *scratch, int64_t count) {
    return reinterpret_cast<int32_t *>(
        take(scratch, count * static_cast<int64_t>(sizeof(int32_t))));
  }
};

int64_t columnsOfPanel(const IntegerProduct &p) {
  const int64_t columns = p.c.dims[p.column()];
  const int64_t bytes = p.b.dims[p.row()] +
                        4 * (p.c.numElements() / std::max<int64_t>(columns, 1));
  const int64_t tiles = std::max<int64_t>(kPanelBytes / (bytes + 1) / kTile, 1);
  return std::min(tiles * kTile, columns);
}

Status multiplyPacked(const Packing &packing, CudaStream &stream) {
  const IntegerLines &rows = packing.rows, &columns = packing.columns;
  const int64_t dimsA[] = {rows.count, rows.paddedK};
  const int64_t dimsB[] = {columns.paddedCount, columns.paddedK};
  const int64_t dimsC[] = {rows.count, columns.paddedCount};
  const auto a = packedView(rows.packed, artifact::ElementType_Int8, dimsA);
  auto b = packedView(columns.packed, artifact::ElementType_Int8, dimsB);
  std::swap(b.dims[0], b.dims[1]);
  std::swap(b.strides[0], b.strides[1]);
  const auto c =
      packedView(packing.product, artifact::ElementType_Int32, dimsC);
  return stream.gemms().multiply(planProduct(a, b, c),
                                 {a.element, b.element, c.element}, a.data,
                                 b.data, c.data, 1, 0, {}, stream.stream());
}

Status multiplyMatrix(const KernelCall &call, const IntegerProduct &p) {
  CudaStream &stream = CudaStream::of(call);
  if (areFew(p))
    return multiplyFewIntegers(p, stream.stream());
  const int64_t columns = p.c.dims[p.column()], width = columnsOfPanel(p);
  Packing packing(p, width, call.scratch);
  SHARDC_RETURN_IF_ERROR(
      packIntegers(p, IntegerSide::RowsOfA, packing.rows, stream.stream()));
  for (int64_t j = 0; j < columns; j += width) {
    const int64_t count = std::min(width, columns - j);
    const IntegerProduct part = columnsOf(p, j, count);
    Packing::setSizes(packing.columns, count, 4, packing.rows.k);
    SHARDC_RETURN_IF_ERROR(packIntegers(part, IntegerSide::ColumnsOfB,
                                        packing.columns, stream.stream()));
    SHARDC_RETURN_IF_ERROR(multiplyPacked(packing, stream));
    SHARDC_RETURN_IF_ERROR(correctIntegers(part, packing.product, packing.rows,
                                           packing.columns, stream.stream()));
  }
  return Status::ok();
}

/// Whether B or its zero points differ along a batch dim.
bool hasOwnB(const IntegerProduct &p, int dim) {
  return p.c.dims[dim] > 1 &&
         (p.b.strides[dim] != 0 || (p.hasZeroB && p.zeroB.strides[dim] != 0));
}

IntegerProduct matrixOf(const IntegerProduct &p, int dim, int64_t index) {
  IntegerProduct part = p;
  for (TensorView *view : {&part.a, &part.b, &part.c, &part.zeroA, &part.zeroB})
    *view = narrowed(*view, dim, index, 1);
  return part;
}

/// Matrices of B from batch dim `dim` on, one after the other.
Status multiply(const KernelCall &call, const IntegerProduct &p, int dim) {
  if (dim == p.row())
    return multiplyMatrix(call, p);
  if (!hasOwnB(p, dim))
    return multiply(call, p, dim + 1);
  for (int64_t i = 0; i < p.c.dims[dim]; ++i)
    SHARDC_RETURN_IF_ERROR(multiply(call, matrixOf(p, dim, i), dim + 1));
  return Status::ok();
}

Status run(const KernelCall &call) {
  IntegerProduct p;
  SHARDC_RETURN_IF_ERROR(read(call, p));
  if (p.c.numElements() == 0)
    return Status::ok();
  return p.b.dims[p.row()] == 0
             ? clearStrided(p.c, CudaStream::of(call).stream())
             : multiply(call, p, 0);
}

int64_t scratchBytes(const KernelCall &call) {
  IntegerProduct p;
  if (!read(call, p).isOk() || p.c.numElements() == 0)
    return 0; // run reports what that finds
  for (int d = 0; d < p.row(); ++d)
    if (hasOwnB(p, d))
      p = matrixOf(p, d, 0);
  return areFew(p) ? 0 : Packing(p, columnsOfPanel(p), nullptr).bytes;
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
