//===- DequantizeLinear.cu - (x - zero point) * scale ---------------------===//
//
// A thread has one element; or eight that lie beside each other in bytes or
// halves of them, which are one load and 16-byte stores.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/quant/Dequantize.h"
#include "runtime/device/cuda/kernels/quant/PackedIntegers.h"
#include "runtime/device/cuda/kernels/quant/QuantizedDevice.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "DequantizeLinear";

template <typename T, typename Reader>
__global__ void dequantizeKernel(T *out, Reader x, const T *scale,
                                 ZeroPoints<T, Reader> zeros,
                                 QuantizedBlocks blocks, Nest<5> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[5];
    nest.offsets(i, at);
    const int64_t block = blocks.blockOf(at[4]);
    out[at[0]] = T(zeros.subtract(x[at[1]], at[3] + block * blocks.zeroStride) *
                   host::Compute<T>(scale[at[2] + block * blocks.scaleStride]));
  }
}

/// Eight neighbours.
__device__ void readRun(const Integers &x, int64_t at,
                        int (&values)[kPackedRun]) {
  const bool isSigned = x.element == artifact::ElementType_Int4 ||
                        x.element == artifact::ElementType_Int8;
  if (x.element == artifact::ElementType_Int8 ||
      x.element == artifact::ElementType_UInt8)
    unpackBytes(x.data + at, isSigned, values);
  else
    unpackHalves(x.data + at / 2, isSigned, values);
}
__device__ void readRun(const Float8s &x, int64_t at,
                        float (&values)[kPackedRun]) {
  const auto run = *reinterpret_cast<const PackedRun<uint8_t> *>(x.data + at);
#pragma unroll
  for (int i = 0; i < kPackedRun; ++i)
    values[i] = x.decode(run.values[i]);
}

/// Of neighbours that are of one block.
template <typename T, typename Reader>
__global__ void dequantizeRunsKernel(T *out, Reader x, const T *scale,
                                     ZeroPoints<T, Reader> zeros,
                                     QuantizedBlocks blocks, int64_t scaleStep,
                                     int64_t zeroStep, Nest<5> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[5];
    nest.offsets(i, at);
    const int64_t block = blocks.blockOf(at[4]);
    const int64_t scaleAt = at[2] + block * blocks.scaleStride;
    const int64_t zeroAt = at[3] + block * blocks.zeroStride;
    std::conditional_t<std::is_same_v<Reader, Float8s>, float, int>
        values[kPackedRun];
    readRun(x, at[1], values);
    PackedRun<T> numbers;
#pragma unroll
    for (int j = 0; j < kPackedRun; ++j)
      numbers.values[j] = T(zeros.subtract(values[j], zeroAt + j * zeroStep) *
                            host::Compute<T>(scale[scaleAt + j * scaleStep]));
    *reinterpret_cast<PackedRun<T> *>(out + at[0]) = numbers;
  }
}

/// Whether all runs of a view that begin at index 0 of a dim lie at multiples
/// of their size.
bool isAligned(const TensorView &view, int inner, int64_t runBytes) {
  bool aligned = reinterpret_cast<uintptr_t>(view.data) %
                     static_cast<uintptr_t>(runBytes) ==
                 0;
  for (int d = 0; d < view.rank; ++d)
    aligned &=
        d == inner || view.dims[d] == 1 || view.strides[d] % kPackedRun == 0;
  return aligned && view.skipped == 0;
}

bool hasRuns(const host::QuantizedViews &views, const QuantizedBlocks &blocks,
             int inner) {
  const int64_t bits = artifact::elementBits(views.data.element);
  if (inner < 0 || bits < 4 || bits > 8 || views.data.strides[inner] != 1 ||
      views.data.dims[inner] % kPackedRun != 0)
    return false;
  if (views.hasBlocks && inner == views.axis && !blocks.keepsRuns(kPackedRun))
    return false;
  const int64_t bytes = artifact::elementBytes(views.result.element);
  return isAligned(views.data, inner, kPackedRun * bits / 8) &&
         isAligned(views.result, inner,
                   std::min<int64_t>(kPackedRun * bytes, 16));
}

template <typename T, typename Reader>
Status launchDequantize(const host::QuantizedViews &views,
                        const QuantizedBlocks &blocks, cudaStream_t stream) {
  const int inner = denseDim(views.result);
  T *out = views.result.as<T>();
  const T *scale = views.scale.as<T>();
  const Reader x(views.data);
  const ZeroPoints<T, Reader> zeros(views);
  if (!hasRuns(views, blocks, inner)) {
    const Nest<5> nest = nestOfQuantized(views, inner);
    return launch(dequantizeKernel<T, Reader>, nest.grid(), stream, out, x,
                  scale, zeros, blocks, nest);
  }
  const bool isBlocked = views.hasBlocks && inner == views.axis;
  const Nest<5> nest = nestOfQuantized(views, inner, kPackedRun);
  return launch(dequantizeRunsKernel<T, Reader>, nest.grid(), stream, out, x,
                scale, zeros, blocks,
                isBlocked ? 0 : views.scale.strides[inner],
                isBlocked ? 0 : views.zeroPoint.strides[inner], nest);
}

Status run(const KernelCall &call) {
  host::QuantizedViews views;
  SHARDC_RETURN_IF_ERROR(host::readQuantized(call, kName, views));
  SHARDC_RETURN_IF_ERROR(checkDequantize(kName, views));
  return dequantize(call, kName, views, streamOf(call));
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace

Status checkDequantize(std::string_view kernel,
                       const host::QuantizedViews &views) {
  const auto element = views.result.element;
  SHARDC_RETURN_IF_ERROR(host::expectElement(kernel, element, views.scale));
  if (views.hasZeroPoint && views.zeroPoint.element != element)
    SHARDC_RETURN_IF_ERROR(
        host::expectElement(kernel, views.data.element, views.zeroPoint));
  if (!areIntegers(views.data.element) &&
      !host::isScaledFloat8(views.data.element))
    return host::unsupported(kernel, views.data.element);
  return host::dispatch(host::FloatTypes(), element, kernel, [](auto) {});
}

Status dequantize(const KernelCall &call, std::string_view kernel,
                  const host::QuantizedViews &views, cudaStream_t stream) {
  if (views.result.numElements() == 0)
    return Status::ok();
  QuantizedBlocks blocks;
  SHARDC_RETURN_IF_ERROR(blocks.read(call, kernel, views));
  return host::dispatch(
      host::FloatTypes(), views.result.element, kernel, [&](auto to) {
        return withReader(views.data.element, [&](auto from) {
          return launchDequantize<typename decltype(to)::Type,
                                  typename decltype(from)::Type>(views, blocks,
                                                                 stream);
        });
      });
}

} // namespace shardc::runtime::cuda
