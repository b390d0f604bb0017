#include "runtime/device/cuda/kernels/layout/StridedKernels.h"

#include "runtime/base/Message.h"
#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/elementwise/Halves.h"
#include "runtime/device/cuda/kernels/layout/WideNest.h"
#include "runtime/device/cuda/kernels/layout/Words.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

using namespace artifact;

template <typename T>
__global__ void copyKernel(T *to, const T *from, Nest<2> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[2];
    nest.offsets(i, at);
    to[at[0]] = from[at[1]];
  }
}

template <typename T> __global__ void clearKernel(T *to, Nest<1> nest) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[1];
    nest.offsets(i, at);
    to[at[0]] = T{};
  }
}

template <typename T> struct Tag {
  using Type = T;
};

//===----------------------------------------------------------------------===//
// Gather, CacheAppend
//===----------------------------------------------------------------------===//

/// Strides: out, data (0 along indices), indices (0 along data).
template <typename T, typename Index>
__global__ void gatherKernel(T *out, const T *data, const Index *indices,
                             Nest<3> nest, int64_t rowStride, int64_t local,
                             GatherRows rows) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    int64_t row = indices[at[2]];
    if (row < -rows.global || row >= rows.global) {
      report(rows.fault);
      continue;
    }
    row += (row < 0 ? rows.global : 0) - rows.base;
    out[at[0]] = row < 0 || row >= local ? T{} : data[at[1] + row * rowStride];
  }
}

struct Append {
  int64_t past, added;             ///< sizes of dim 2
  int64_t pastStride, addedStride; ///< along it
  int64_t outSize;
  bool inPlace; ///< past and out are one cache
  Fault fault;
};

/// Dims of out; strides: out, past, added (both 0 along dim 2), lengths, and a
/// counter along dim 2.
template <typename T, typename Index>
__global__ void appendKernel(T *out, const T *past, const T *added,
                             const Index *lengths, Nest<5> nest,
                             Append append) {
  const int64_t most = append.past < append.outSize - append.added
                           ? append.past
                           : append.outSize - append.added;
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[5];
    nest.offsets(i, at);
    const int64_t length = lengths[at[3]], position = at[4];
    if (length < 0 || length > most) {
      report(append.fault);
      continue;
    }
    if (position < length) {
      if (!append.inPlace)
        out[at[0]] = past[at[1] + position * append.pastStride];
    } else if (position < length + append.added) {
      out[at[0]] = added[at[2] + (position - length) * append.addedStride];
    } else {
      out[at[0]] = T{};
    }
  }
}

template <typename Body> Status withIndex(ElementType element, Body body) {
  if (element == ElementType_Int32)
    return body(Tag<int32_t>());
  if (element == ElementType_Int64)
    return body(Tag<int64_t>());
  return unsupportedError("the GPU takes indices of int32 or int64, found ",
                          EnumNameElementType(element));
}

} // namespace

Status copyStrided(const TensorView &to, const TensorView &from,
                   cudaStream_t stream) {
  if (isSubByte(to.element))
    return copyHalves(to, from, stream);
  const auto nest = nestOf(to, from);
  // Of past that is present's own memory nothing is copied.
  const bool isInPlace =
      to.data == from.data &&
      std::equal(nest.strides[0], nest.strides[0] + nest.rank, nest.strides[1]);
  if (nest.count == 0 || isInPlace)
    return Status::ok();
  const int64_t bytes = elementBytes(to.element);
  const bool isDense =
      nest.rank == 0 ||
      (nest.rank == 1 && nest.strides[0][0] == 1 && nest.strides[1][0] == 1);
  if (isDense && bytes > 0)
    return cudaStatus(cudaMemcpyAsync(to.data, from.data,
                                      static_cast<size_t>(nest.count * bytes),
                                      cudaMemcpyDeviceToDevice, stream),
                      "cudaMemcpyAsync");
  const WideNest<2> wide(nest, {&to, &from}, bytes);
  return withWord(wide.bytes, to.element, [&](auto bits) {
    using T = decltype(bits);
    return launch(copyKernel<T>, wide.nest.grid(), stream, to.as<T>(),
                  from.as<T>(), wide.nest);
  });
}

Status clearStrided(const TensorView &to, cudaStream_t stream) {
  const auto nest = nestOf(to);
  if (nest.count == 0)
    return Status::ok();
  const WideNest<1> wide(nest, {&to}, elementBytes(to.element));
  return withWord(wide.bytes, to.element, [&](auto bits) {
    using T = decltype(bits);
    return launch(clearKernel<T>, wide.nest.grid(), stream, to.as<T>(),
                  wide.nest);
  });
}

Status gatherRows(const TensorView &out, const TensorView &data,
                  const TensorView &indices, const GatherRows &rows,
                  cudaStream_t stream) {
  if (isSubByte(out.element))
    return gatherHalves(out, data, indices, rows, stream);
  Nest<3> nest;
  const int end = rows.axis + indices.rank;
  for (int d = 0; d < out.rank; ++d) {
    const bool picks = d >= rows.axis && d < end;
    const int ofData = d < rows.axis ? d : d - indices.rank + 1;
    nest.append(out.dims[d], {out.strides[d], picks ? 0 : data.strides[ofData],
                              picks ? indices.strides[d - rows.axis] : 0});
  }
  if (nest.count == 0)
    return Status::ok();
  const int64_t rowStride = data.strides[rows.axis];
  const WideNest<3> wide(nest, {&out, &data}, elementBytes(out.element),
                         {rowStride});
  return withIndex(indices.element, [&](auto tag) {
    using Index = typename decltype(tag)::Type;
    return withWord(wide.bytes, out.element, [&](auto bits) {
      using T = decltype(bits);
      return launch(gatherKernel<T, Index>, wide.nest.grid(), stream,
                    out.as<T>(), data.as<T>(), indices.as<Index>(), wide.nest,
                    rowStride / wide.factor, data.dims[rows.axis], rows);
    });
  });
}

Status appendRows(const TensorView &out, const TensorView &past,
                  const TensorView &added, const TensorView &lengths,
                  const Fault &fault, cudaStream_t stream) {
  Nest<5> nest;
  for (int d = 0; d < 4; ++d)
    nest.append(out.dims[d], {out.strides[d], d == 2 ? 0 : past.strides[d],
                              d == 2 ? 0 : added.strides[d],
                              d == 0 ? lengths.strides[0] : 0, d == 2 ? 1 : 0});
  if (nest.count == 0)
    return Status::ok();
  const WideNest<5> wide(nest, {&out, &past, &added}, elementBytes(out.element),
                         {past.strides[2], added.strides[2]});
  const Append append{past.dims[2],
                      added.dims[2],
                      past.strides[2] / wide.factor,
                      added.strides[2] / wide.factor,
                      out.dims[2],
                      out.data == past.data,
                      fault};
  return withIndex(lengths.element, [&](auto tag) {
    using Index = typename decltype(tag)::Type;
    return withWord(wide.bytes, out.element, [&](auto bits) {
      using T = decltype(bits);
      return launch(appendKernel<T, Index>, wide.nest.grid(), stream,
                    out.as<T>(), past.as<T>(), added.as<T>(),
                    lengths.as<Index>(), wide.nest, append);
    });
  });
}

} // namespace shardc::runtime::cuda
