//===- PagedKernels.h - Attention to keys in pages, on a GPU --------------===//
//
// A block takes one token, up to 8 query heads of a KV head, and up to 128
// columns of the values; its row, and how many keys that has, it reads from the
// device: a launch depends on no length.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_PAGEDKERNELS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_PAGEDKERNELS_H

#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/attention/AttentionKernels.h"
#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::cuda {

/// Indices of one or two dims on the device.
struct PagedIndices {
  host::IndexReader read;
  int64_t strides[2];

  explicit PagedIndices(const TensorView &view)
      : read(view), strides{view.strides[0], view.strides[1]} {}
  __device__ int64_t at(int64_t i) const { return read[i * strides[0]]; }
  __device__ int64_t at(int64_t i, int64_t j) const {
    return read[i * strides[0] + j * strides[1]];
  }
};

/// Which places of a page are here (host::PagePlaces); keys are counted among all
/// of a row, or among those that are here.
struct PagedPlaces {
  int64_t first, here, all;

  /// Of the first `keys` of a row.
  __device__ int64_t hereOf(int64_t keys) const {
    if (here == all)
      return keys;
    const int64_t ofLast = keys % all - first;
    return keys / all * here + (ofLast < 0 ? 0 : ofLast < here ? ofLast : here);
  }
  /// Where the i-th that is here is among all.
  __device__ int64_t keyOf(int64_t i) const {
    return here == all ? i : i / here * all + first + i % here;
  }
};

struct PagedProblem {
  /// Queries are all tokens; keys and values have pages for a batch, of which
  /// `keys` is the number of places; a mask has rows for it. No pieces, no
  /// splits; one that does not finish writes values, largest score and sum to y.
  AttentionProblem of;
  PagedPlaces places;
  /// Of keys and values of 8 bits; no data where they are of the queries' type.
  AttentionView keyScales, valueScales;
  PagedIndices pages, past, first;
  int64_t rows, numPages, pagesOfRow;
  Fault fault;

  SHARDC_HOST_DEVICE int64_t group() const { return of.heads / of.kvHeads; }
};

/// A problem that has tokens and heads, of queries and of keys and values of those
/// types.
Status attendPages(const PagedProblem &problem, artifact::ElementType element,
                   artifact::ElementType stored, cudaStream_t stream);

/// What one gets that does not finish, of parts [p, h, t, e + 2], as `y`.
struct MergeProblem {
  AttentionView seen;
  int64_t parts;
  AttentionProblem of;
};
Status mergeParts(const MergeProblem &problem, artifact::ElementType element,
                  cudaStream_t stream);

/// Copies of pages, then new entries at their slots; see the host's PageWrite.
Status copyPages(const TensorView &pool, const TensorView &copies,
                 const Fault &fault, cudaStream_t stream);
Status writeSlots(const TensorView &pool, const TensorView &added,
                  const TensorView &slots, int axis, const PagedPlaces &places,
                  const Fault &fault, cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_ATTENTION_PAGEDKERNELS_H
