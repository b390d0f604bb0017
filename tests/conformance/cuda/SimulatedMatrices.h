//===- SimulatedMatrices.h - Tensor cores on the host ---------------------===//
//
// What TensorCores.h has of nvcc, for the host's compiler: nvcuda::wmma for
// 16x16x16 with sums in f32, and copies beside a thread. As strict as a GPU may
// be: all lanes of a warp come to a call with the same arguments, addresses and
// distances are aligned, a lane reads before others have come and writes when
// all have, so that what a __syncwarp is missing for shows. Which lane has
// which element of a fragment, CUDA does not say, and nobody can ask here; of
// the instructions behind WarpMatrices.h PTX says it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDMATRICES_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDMATRICES_H

#include "runtime/base/Float16.h"
#include "runtime/device/cuda/kernels/Launch.h"

#include <bit>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace nvcuda::wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };

/// A lane's part: 8 elements of the matrix's 256, row by row.
template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment {
  static_assert(m == 16 && n == 16 && k == 16);

public:
  /// Anything, before it is filled or loaded.
  fragment() { std::fill_n(part, 8, std::numeric_limits<float>::quiet_NaN()); }
  float part[8];
};

} // namespace nvcuda::wmma

namespace shardc::testing {

inline float numberOf(float x) { return x; }
inline float numberOf(__half x) {
  return runtime::toFloat(std::bit_cast<runtime::Half>(x));
}
inline float numberOf(__nv_bfloat16 x) {
  return runtime::toFloat(std::bit_cast<runtime::BFloat>(x));
}

/// What the running thread has: elements `firstOfLane()` to 8 later.
inline int firstOfLane() { return laneOfThread() * 8; }

/// Where element i of a matrix lies that has `stride` from line to line.
inline int64_t placeOf(int i, unsigned stride, bool isByColumns) {
  return isByColumns ? i % 16 * int64_t{stride} + i / 16
                     : i / 16 * int64_t{stride} + i % 16;
}

/// What CUDA asks of memory for a fragment.
void checkFragment(const void *memory, unsigned stride, size_t elementBytes);

/// sums += a * b, of the warp; parts of 8 numbers of each lane.
void multiplyOfWarp(const float *a, const float *b, const float *c,
                    float *sums);

/// What WarpMatrices.h says of these.
void loadMatricesOfWarp(uint32_t (&to)[4], const void *line, bool transposes);
struct TwoNumbers {
  float numbers[2];
};
void multiplyAddOfWarp(float (&sums)[4], const TwoNumbers (&rows)[4],
                       const TwoNumbers (&columns)[2]);

} // namespace shardc::testing

namespace nvcuda::wmma {

template <typename Use, typename T, typename Layout>
void fill_fragment(fragment<Use, 16, 16, 16, T, Layout> &f, float value) {
  std::fill_n(f.part, 8, value);
}

template <typename Use, typename T, typename Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout> &f, const T *from,
                      unsigned stride) {
  using namespace shardc::testing;
  checkFragment(from, stride, sizeof(T));
  for (int i = 0; i < 8; ++i)
    f.part[i] = numberOf(from[placeOf(firstOfLane() + i, stride,
                                      std::is_same_v<Layout, col_major>)]);
  meetInCall({"load_matrix_sync", from, stride});
}

template <typename T>
void store_matrix_sync(T *to, const fragment<accumulator, 16, 16, 16, T> &f,
                       unsigned stride, layout_t layout) {
  using namespace shardc::testing;
  checkFragment(to, stride, sizeof(T));
  meetInCall({"store_matrix_sync", to, stride * 2 + layout});
  for (int i = 0; i < 8; ++i)
    to[placeOf(firstOfLane() + i, stride, layout == mem_col_major)] = f.part[i];
}

template <typename T, typename LayoutA, typename LayoutB>
void mma_sync(fragment<accumulator, 16, 16, 16, float> &d,
              const fragment<matrix_a, 16, 16, 16, T, LayoutA> &a,
              const fragment<matrix_b, 16, 16, 16, T, LayoutB> &b,
              const fragment<accumulator, 16, 16, 16, float> &c) {
  shardc::testing::multiplyOfWarp(a.part, b.part, c.part, d.part);
}

} // namespace nvcuda::wmma

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes,
                                    size_t zeros = 0) {
  shardc::testing::copyAside({static_cast<std::byte *>(to),
                              static_cast<const std::byte *>(from), bytes,
                              zeros});
}
inline void __pipeline_commit() { shardc::testing::commitCopies(); }
inline void __pipeline_wait_prior(size_t groups) {
  shardc::testing::waitForCopies(groups);
}

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDMATRICES_H
