//===- Copy.cpp - Strided copy: transpose, slice, concat, expand ----------===//
//
// Whatever only moves data is a Copy between two views. A contiguous run is a
// memcpy; a transposition is walked in tiles, because a walk along either
// side's rows alone touches a new cache line (and soon a new page) per element
// of the other.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Check.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/layout/StridedCopy.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Copy";
constexpr int64_t kTile = 16;

template <typename T>
void copyRow(T *to, int64_t toStride, const T *from, int64_t fromStride,
             int64_t count) {
  if (toStride == 1 && fromStride == 0) {
    std::fill_n(to, count, *from);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    to[i * toStride] = from[i * fromStride];
}

/// The last two dims, where the source is contiguous along the outer of them.
template <typename T>
void copyTransposed(const LoopNest<2> &nest, T *to, const T *from) {
  const int outer = nest.rank - 2, inner = nest.rank - 1;
  const int64_t rows = nest.dims[outer], columns = nest.dims[inner];
  const int64_t toStride = nest.strides[0][outer];
  const int64_t fromStride = nest.strides[1][inner];
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const int64_t r1 = std::min(rows, r0 + kTile);
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c1 = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c)
          to[r * toStride + c] = from[c * fromStride + r];
    }
  }
}

bool isTransposition(const LoopNest<2> &nest) {
  return nest.rank >= 2 && nest.innerStride(0) == 1 &&
         nest.strides[1][nest.rank - 2] == 1 && nest.innerStride(1) > 1;
}

template <typename T>
void copyElements(const LoopNest<2> &nest, std::byte *to,
                  const std::byte *from) {
  T *dst = reinterpret_cast<T *>(to);
  const T *src = reinterpret_cast<const T *>(from);
  if (isTransposition(nest)) {
    LoopNest<2> outer = nest; // visits each matrix once
    outer.dims[nest.rank - 2] = outer.dims[nest.rank - 1] = 1;
    if (!nest.isEmpty())
      forEachRow(outer, [&](const int64_t (&at)[2], int64_t) {
        copyTransposed(nest, dst + at[0], src + at[1]);
      });
    return;
  }
  forEachRow(nest, [&](const int64_t (&at)[2], int64_t count) {
    copyRow(dst + at[0], nest.innerStride(0), src + at[1], nest.innerStride(1),
            count);
  });
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  if (artifact::isSubByte(x.element)) {
    copyView(out, x);
    return Status::ok();
  }
  StridedCopy(out, x).onThreads(out.data, x.data);
  return Status::ok();
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace

void StridedCopy::onThreads(std::byte *to, const std::byte *from) const {
  // A part copies dims that follow each other as the whole does.
  const SplitNest<2> split(nest, 1);
  forEachPart(split.parts(), [&](int64_t number) {
    int64_t first[2];
    StridedCopy part = *this;
    part.nest = split.part(number, first);
    part(to + first[0] * bytes, from + first[1] * bytes);
  });
}

void StridedCopy::operator()(std::byte *to, const std::byte *from) const {
  if (nest.innerStride(0) == 1 && nest.innerStride(1) == 1) {
    forEachRow(nest, [&](const int64_t (&at)[2], int64_t count) {
      if (to + at[0] * bytes != from + at[1] * bytes)
        std::memcpy(to + at[0] * bytes, from + at[1] * bytes, count * bytes);
    });
    return;
  }
  switch (bytes) {
  case 1:
    return copyElements<uint8_t>(nest, to, from);
  case 2:
    return copyElements<uint16_t>(nest, to, from);
  case 4:
    return copyElements<uint32_t>(nest, to, from);
  default:
    return copyElements<uint64_t>(nest, to, from);
  }
}

} // namespace shardc::runtime::host
