//===- Halves.cu - Moving elements of a part of a byte, on a GPU ----------===//
#include "runtime/device/cuda/kernels/elementwise/Halves.h"

#include "runtime/base/Message.h"
#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/tensor/SubByte.h"

namespace shardc::runtime::cuda {
namespace {

/// Calls bitsOf(i) for the elements of each byte that are `to`'s; those beside
/// them stay. Negative bits: this one, too.
template <typename BitsOf>
__device__ void writeFields(std::byte *to, int64_t skipped, int64_t count,
                            int bits, BitsOf bitsOf) {
  const int ofByte = 8 / bits, mask = (1 << bits) - 1;
  const int64_t bytes = (skipped + count + ofByte - 1) / ofByte;
  for (int64_t b = firstElement(); b < bytes; b += allThreads()) {
    auto byte = static_cast<int>(to[b]);
    for (int part = 0; part < ofByte; ++part) {
      const int64_t i = ofByte * b + part - skipped;
      const int field = i >= 0 && i < count ? bitsOf(i) : -1;
      if (field >= 0)
        byte = (byte & ~(mask << (part * bits))) | (field << (part * bits));
    }
    to[b] = static_cast<std::byte>(byte);
  }
}

__global__ void copyKernel(std::byte *to, int64_t skipped,
                           const std::byte *from, int64_t first, int bits,
                           Nest<1> nest) {
  writeFields(to, skipped, nest.count, bits, [&](int64_t i) {
    int64_t at[1];
    nest.offsets(i, at);
    return static_cast<int>(readField(from, first + at[0], bits));
  });
}

/// Strides: data (0 along indices), indices (0 along data).
__global__ void gatherKernel(std::byte *to, int64_t skipped,
                             const std::byte *data, int64_t first, int bits,
                             host::IndexReader indices, Nest<2> nest,
                             int64_t rowStride, GatherRows rows) {
  writeFields(to, skipped, nest.count, bits, [&](int64_t i) {
    int64_t at[2];
    nest.offsets(i, at);
    const int64_t row = indices.wrapped(at[1], rows.global);
    if (row >= 0 && row < rows.global)
      return static_cast<int>(
          readField(data, first + at[0] + row * rowStride, bits));
    report(rows.fault);
    return -1;
  });
}

Status expectDense(const TensorView &view) {
  return view.isContiguous()
             ? Status::ok()
             : unsupportedError("the GPU writes parts of bytes one after the "
                                "other only");
}

int bitsOf(const TensorView &view) {
  return static_cast<int>(artifact::elementBits(view.element));
}

Grid gridFor(const TensorView &to, int64_t count) {
  const int64_t ofByte = 8 / bitsOf(to);
  return {dim3(blocksFor((to.skipped + count + ofByte - 1) / ofByte))};
}

} // namespace

Status copyHalves(const TensorView &to, const TensorView &from,
                  cudaStream_t stream) {
  SHARDC_RETURN_IF_ERROR(expectDense(to));
  const auto nest = nestOf(from);
  return nest.count == 0
             ? Status::ok()
             : launch(copyKernel, gridFor(to, nest.count), stream, to.data,
                      to.skipped, from.data, from.skipped, bitsOf(to), nest);
}

Status gatherHalves(const TensorView &out, const TensorView &data,
                    const TensorView &indices, const GatherRows &rows,
                    cudaStream_t stream) {
  SHARDC_RETURN_IF_ERROR(expectDense(out));
  SHARDC_RETURN_IF_ERROR(host::expectIndices("Gather", indices));
  if (rows.base != 0 || rows.global != data.dims[rows.axis])
    return host::failure("Gather",
                         "no part of a table may hold parts of bytes");
  Nest<2> nest;
  const int end = rows.axis + indices.rank;
  for (int d = 0; d < out.rank; ++d) {
    const bool picks = d >= rows.axis && d < end;
    const int ofData = d < rows.axis ? d : d - indices.rank + 1;
    nest.append(out.dims[d], {picks ? 0 : data.strides[ofData],
                              picks ? indices.strides[d - rows.axis] : 0});
  }
  return nest.count == 0
             ? Status::ok()
             : launch(gatherKernel, gridFor(out, nest.count), stream, out.data,
                      out.skipped, data.data, data.skipped, bitsOf(data),
                      host::IndexReader(indices), nest, data.strides[rows.axis],
                      rows);
}

} // namespace shardc::runtime::cuda
