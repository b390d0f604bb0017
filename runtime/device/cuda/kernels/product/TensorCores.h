//===- TensorCores.h - Products of 16x16 matrices by a warp ---------------===//
//
//   CoreSums sums;
//   wmma::fill_fragment(sums, 0.f);
//   CoreRows<T> rows;
//   loadCore(rows, from, kStride);
//   ...
//   wmma::mma_sync(sums, rows, columns, sums); // all lanes, no divergence
//
// Halves are multiplied exactly and summed in f32. How the 16 products of an
// element are summed is the hardware's, and does not depend on where in the
// matrix the element is, nor on other rows and columns.
//
// Memory of a matrix is aligned to 32 bytes, its lines are a multiple of 16
// bytes apart.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_TENSORCORES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_TENSORCORES_H

#include "runtime/device/cuda/kernels/Launch.h"
#include "runtime/kernels/StorageTypes.h"

#ifdef __CUDACC__
#include <cuda_pipeline.h>
#include <mma.h>
#else
#include "tests/conformance/cuda/SimulatedMatrices.h"
#endif

namespace shardc::runtime::cuda {

namespace wmma = nvcuda::wmma;

inline constexpr int kCore = 16;

template <typename T>
using CoreType =
    std::conditional_t<std::is_same_v<T, host::Float16>, __half, __nv_bfloat16>;
template <typename T>
using CoreRows = wmma::fragment<wmma::matrix_a, kCore, kCore, kCore,
                                CoreType<T>, wmma::row_major>;
/// Of a matrix that lies column by column in memory, or row by row.
template <typename T, bool kIsByColumns>
using CoreColumns = wmma::fragment<
    wmma::matrix_b, kCore, kCore, kCore, CoreType<T>,
    std::conditional_t<kIsByColumns, wmma::col_major, wmma::row_major>>;
using CoreSums = wmma::fragment<wmma::accumulator, kCore, kCore, kCore, float>;

#ifdef __CUDA_ARCH__
#define SHARDC_LOAD_SHARED(Fragment, which)                                    \
  inline __device__ void loadShared(Fragment &fragment,                        \
                                    const host::BFloat16 *from, int stride) {  \
    static_assert(sizeof fragment.x == 16);                                    \
    auto *words = reinterpret_cast<uint32_t *>(fragment.x);                    \
    asm volatile("wmma.load." which                                            \
                 ".m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"          \
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]),             \
                   "=r"(words[3])                                              \
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(from))), \
                   "r"(stride)                                                 \
                 : "memory");                                                  \
  }
using BFloat16Columns = CoreColumns<host::BFloat16, true>;
using BFloat16Lines = CoreColumns<host::BFloat16, false>;
SHARDC_LOAD_SHARED(CoreRows<host::BFloat16>, "a.sync.aligned.row")
SHARDC_LOAD_SHARED(BFloat16Columns, "b.sync.aligned.col")
SHARDC_LOAD_SHARED(BFloat16Lines, "b.sync.aligned.row")
#undef SHARDC_LOAD_SHARED
#endif

/// From shared memory.
template <typename Fragment, typename T>
__device__ void loadCore(Fragment &fragment, const T *from, int stride) {
#ifdef __CUDA_ARCH__
  // nvcc does not see that such addresses are of shared memory, and would load
  // 4 bytes at a time where there is an instruction for all of it.
  if constexpr (std::is_same_v<T, host::BFloat16>)
    return loadShared(fragment, from, stride);
#endif
  wmma::load_matrix_sync(fragment, reinterpret_cast<const CoreType<T> *>(from),
                         static_cast<unsigned>(stride));
}

/// 16 bytes to shared memory while the thread goes on, or zeros; seen by all
/// after a waitForCopies of this thread and a barrier.
inline __device__ void copyAside(void *to, const void *from, bool isThere) {
  __pipeline_memcpy_async(to, from, 16, isThere ? 0 : 16);
}
inline __device__ void waitForCopies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_TENSORCORES_H
