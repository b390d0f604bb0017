// New entries at their places in pages.
#include "runtime/device/cuda/kernels/Fault.h"
#include "runtime/device/cuda/kernels/attention/PagedKernels.h"
#include "runtime/device/cuda/kernels/layout/WideNest.h"
#include "runtime/device/cuda/kernels/layout/Words.h"

namespace shardc::runtime::cuda {
namespace {

using artifact::elementBytes;

/// Of one page; each thread does all copies of its words, one after the other.
template <typename T>
__global__ void copyPagesKernel(T *pool, Nest<1> nest, int64_t pageStride,
                                int64_t numPages, PagedIndices copies,
                                int64_t count, Fault fault) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[1];
    nest.offsets(i, at);
    for (int64_t c = 0; c < count; ++c) {
      const int64_t from = copies.at(c, 0), to = copies.at(c, 1);
      if (from < 0 || from >= numPages || to < 0 || to >= numPages)
        report(fault);
      else
        pool[at[0] + to * pageStride] = pool[at[0] + from * pageStride];
    }
  }
}

struct SlotStrides {
  int64_t page, place; ///< of the pool
  int64_t numPages;
  PagedPlaces places;
};

/// Dims of what is added; strides: added, pool (0 along pages and places),
/// slots.
template <typename T>
__global__ void slotsKernel(T *pool, const T *added, PagedIndices slots,
                            Nest<3> nest, SlotStrides strides, Fault fault) {
  for (int64_t i = firstElement(); i < nest.count; i += allThreads()) {
    int64_t at[3];
    nest.offsets(i, at);
    const int64_t slot = slots.at(at[2]);
    if (slot < 0)
      continue;
    if (slot >= strides.numPages * strides.places.all) {
      report(fault);
      continue;
    }
    const int64_t place = slot % strides.places.all - strides.places.first;
    if (place >= 0 && place < strides.places.here)
      pool[at[1] + slot / strides.places.all * strides.page +
           place * strides.place] = added[at[0]];
  }
}

} // namespace

Status copyPages(const TensorView &pool, const TensorView &copies,
                 const Fault &fault, cudaStream_t stream) {
  TensorView page = pool;
  page.dims[0] = 1;
  const Nest<1> nest = nestOf(page);
  if (copies.dims[0] == 0 || nest.count == 0)
    return Status::ok();
  const WideNest<1> wide(nest, {&page}, elementBytes(pool.element),
                         {pool.strides[0]});
  return withWord(wide.bytes, pool.element, [&](auto word) {
    using T = decltype(word);
    return launch(copyPagesKernel<T>, wide.nest.grid(), stream, pool.as<T>(),
                  wide.nest, pool.strides[0] / wide.factor, pool.dims[0],
                  PagedIndices(copies), copies.dims[0], fault);
  });
}

Status writeSlots(const TensorView &pool, const TensorView &added,
                  const TensorView &slots, int axis, const PagedPlaces &places,
                  const Fault &fault, cudaStream_t stream) {
  Nest<3> nest;
  for (int d = 0; d < added.rank; ++d)
    nest.append(added.dims[d],
                {added.strides[d], d == 0 || d == axis ? 0 : pool.strides[d],
                 d == axis ? 1 : 0});
  if (nest.count == 0)
    return Status::ok();
  const WideNest<3> wide(nest, {&added, &pool}, elementBytes(pool.element),
                         {pool.strides[0], pool.strides[axis]});
  return withWord(wide.bytes, pool.element, [&](auto word) {
    using T = decltype(word);
    return launch(slotsKernel<T>, wide.nest.grid(), stream, pool.as<T>(),
                  added.as<T>(), PagedIndices(slots), wide.nest,
                  SlotStrides{pool.strides[0] / wide.factor,
                              pool.strides[axis] / wide.factor, pool.dims[0],
                              places},
                  fault);
  });
}

} // namespace shardc::runtime::cuda
