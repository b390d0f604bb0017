//===- Quantized.h - Rows of a tensor with their scales -------------------===//
//
// QuantizeLinear and DequantizeLinear walk data, scale and zero point together.
// Without blocks all have the data's dims, by stride 0 where they are the same
// for many elements. With blocks the parameters have, along `axis`, one element
// for each `block_size` elements of the whole dim, of which this rank may hold
// a part:
//
//   whole dim 96 = 6 heads of 16, blocks of 32, this rank's heads are 3 to 5
//   starts {3, 0}, locals {3, 16}, globals {6, 16}
//   local elements 0 to 15 are of block 1, 16 to 47 of block 2
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_QUANT_QUANTIZED_H
#define SHARDC_RUNTIME_KERNELS_QUANT_QUANTIZED_H

#include "runtime/base/HostDevice.h"
#include "runtime/kernels/Check.h"
#include "runtime/kernels/StridedLoop.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace shardc::runtime::host {

/// Where the elements of a rank's part of a dim stand in the whole dim. A
/// value, so that kernels on GPUs take one, too.
class GlobalIndex {
public:
  /// Error: attributes that contradict each other or the dim's local size.
  Status read(const KernelCall &call, std::string_view kernel, int64_t size) {
    const KernelAttribute *starts = call.find("starts");
    const KernelAttribute *sizes = call.find("locals");
    const KernelAttribute *globals = call.find("globals");
    first = call.intOr("base", 0);
    count = 0;
    if (!starts && !sizes && !globals) {
      append(size, 1);
      return Status::ok();
    }
    if (!starts || !sizes || !globals || starts->numInts != sizes->numInts ||
        starts->numInts != globals->numInts)
      return failure(kernel, "starts, locals and globals differ in number");
    int64_t product = 1, stride = 1;
    for (int i = sizes->numInts; i-- > 0;) {
      if (sizes->ints[i] < 0 || globals->ints[i] < 0)
        return failure(kernel, "a factor of the blocked dim is below 0");
      if (!append(sizes->ints[i], stride))
        return failure(kernel, "the blocked dim has too many factors");
      first += starts->ints[i] * stride;
      product *= sizes->ints[i];
      stride *= globals->ints[i];
    }
    return product == size
               ? Status::ok()
               : failure(kernel, "locals are " + std::to_string(product) +
                                     " elements of a dim of " +
                                     std::to_string(size));
  }

  SHARDC_HOST_DEVICE int64_t of(int64_t local) const {
    int64_t global = first;
    for (int i = 0; i < count - 1; ++i) {
      const int64_t rest = local / locals[i];
      global += (local - rest * locals[i]) * strides[i];
      local = rest;
    }
    return count > 0 ? global + local * strides[count - 1] : global;
  }

  /// That of the last element, and of no element less. Precondition: there is
  /// one.
  int64_t last() const {
    int64_t global = first;
    for (int i = 0; i < count; ++i)
      global += (locals[i] - 1) * strides[i];
    return global;
  }

  /// The largest divisor of `most` of which each so many elements, from a multiple
  /// of it on, follow each other in the whole dim, too, and begin at a multiple of
  /// it there; 0 if there is none. Of elements 448 on, within blocks of 256: 64.
  int64_t largestRun(int64_t most) const {
    int64_t run = std::gcd(most, first);
    for (int i = 0; i < count; ++i)
      if (i > 0)
        run = std::gcd(run, strides[i]);
      else if (strides[0] != 1)
        return 0;
      else if (count > 1)
        run = std::gcd(run, locals[0]);
    return run;
  }

private:
  static constexpr int kMaxFactors = 16;

  /// One more factor, outside of those that there are; joined with the one
  /// before where that is whole.
  bool append(int64_t size, int64_t stride) {
    if (count > 0 && stride == locals[count - 1] * strides[count - 1]) {
      locals[count - 1] *= size;
      return true;
    }
    if (count == kMaxFactors)
      return false;
    locals[count] = size;
    strides[count++] = stride;
    return true;
  }

  int64_t first = 0; ///< global index of local element 0
  int count = 0;
  int64_t locals[kMaxFactors], strides[kMaxFactors]; ///< innermost first
};

inline bool areHalves(artifact::ElementType element) {
  return element == artifact::ElementType_BFloat16 ||
         element == artifact::ElementType_Float16;
}

/// Data, result, scale and zero point (absent: the scale again) of a call.
struct QuantizedViews {
  TensorView data, result, scale, zeroPoint;
  bool hasZeroPoint = false;
  bool hasBlocks = false;
  int64_t blockSize = 0; ///< 0 on a rank that holds nothing of any block
  int axis = 0;

  /// Whether the numbers are halves, which become floats, times one float: weights
  /// that were rounded when they were compiled.
  bool areHalves() const {
    bool isOne = scale.element == artifact::ElementType_Float32;
    for (int d = 0; d < scale.rank; ++d)
      isOne &= scale.dims[d] == 1 || scale.strides[d] == 0;
    return isOne && !hasZeroPoint && !hasBlocks &&
           host::areHalves(data.element);
  }
};

inline Status readQuantized(const KernelCall &call, std::string_view kernel,
                            QuantizedViews &views) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 2));
  views.data = call.inputs[0];
  views.result = call.outputs[0];
  views.scale = call.inputs[1];
  views.hasZeroPoint = hasInput(call, 2);
  views.zeroPoint = views.hasZeroPoint ? call.inputs[2] : views.scale;
  views.hasBlocks = call.find("block_size") != nullptr;
  views.blockSize = call.intOr("block_size", 0);
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, views.data, views.result));
  TensorView expected = views.data;
  if (views.hasBlocks) {
    SHARDC_RETURN_IF_ERROR(readAxis(call, kernel, expected.rank, views.axis));
    if (views.blockSize <= 0 && expected.dims[views.axis] > 0)
      return failure(kernel, "blocks of " + std::to_string(views.blockSize) +
                                 " elements");
    if (views.scale.rank == expected.rank)
      expected.dims[views.axis] = views.scale.dims[views.axis];
    // One for all blocks.
    if (views.zeroPoint.rank == expected.rank &&
        views.zeroPoint.dims[views.axis] == 1) {
      views.zeroPoint.dims[views.axis] = expected.dims[views.axis];
      views.zeroPoint.strides[views.axis] = 0;
    }
  }
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expected, views.scale));
  return expectDims(kernel, expected, views.zeroPoint);
}

/// Calls body(offsets, strides, count) for each row of elements; offsets and
/// strides are those of result, data, scale and zero point.
template <typename Body>
void forEachRowOf(const QuantizedViews &views, const int64_t (&first)[4],
                  Body &&body) {
  const LoopNest<4> nest =
      nestOf(views.result, views.data, views.scale, views.zeroPoint);
  int64_t strides[4];
  for (int v = 0; v < 4; ++v)
    strides[v] = nest.innerStride(v);
  forEachRow(nest, [&](const int64_t (&at)[4], int64_t count) {
    const int64_t offsets[4] = {first[0] + at[0], first[1] + at[1],
                                first[2] + at[2], first[3] + at[3]};
    body(offsets, strides, count);
  });
}

/// The same for all elements, one block after the other.
template <typename Body>
Status forEachQuantizedRow(const KernelCall &call, std::string_view kernel,
                           const QuantizedViews &views, Body &&body) {
  if (!views.hasBlocks) {
    forEachRowOf(views, {0, 0, 0, 0}, body);
    return Status::ok();
  }
  const int axis = views.axis;
  const int64_t size = views.data.dims[axis], blocks = views.scale.dims[axis];
  GlobalIndex global;
  SHARDC_RETURN_IF_ERROR(global.read(call, kernel, size));
  QuantizedViews part = views;
  part.scale.strides[axis] = part.zeroPoint.strides[axis] = 0;
  for (int64_t begin = 0, end; begin < size; begin = end) {
    const int64_t block = global.of(begin) / views.blockSize;
    for (end = begin + 1;
         end < size && global.of(end) / views.blockSize == block;)
      ++end;
    if (block < 0 || block >= blocks)
      return failure(kernel, "has no scale for block " + std::to_string(block));
    part.result.dims[axis] = end - begin;
    forEachRowOf(part,
                 {begin * views.result.strides[axis],
                  begin * views.data.strides[axis],
                  block * views.scale.strides[axis],
                  block * views.zeroPoint.strides[axis]},
                 body);
  }
  return Status::ok();
}

/// round(x / scale) + zero point, half to even and within Q; what is not a
/// number is the zero point.
template <typename Q, typename C>
SHARDC_HOST_DEVICE Q quantizeOne(C x, C scale, C zero) {
  constexpr C least = C(std::numeric_limits<Q>::min());
  constexpr C most = C(std::numeric_limits<Q>::max());
  const C q = std::nearbyint(x / scale) + zero;
  return q != q ? Q(zero) : q < least ? Q(least) : q > most ? Q(most) : Q(q);
}

/// Writes the numbers of the data to the result.
Status dequantize(const KernelCall &call, std::string_view kernel,
                  const QuantizedViews &views);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_QUANT_QUANTIZED_H
