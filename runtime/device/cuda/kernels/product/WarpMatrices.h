//===- WarpMatrices.h - Products of matrices in a warp's registers --------===//
//
//   uint32_t rows[4], columns[4];
//   loadMatrices(rows, &a[lane % 16][lane / 16 * 8]);       // 16x16
//   loadTransposed(columns, &b[lane % 16][lane / 16 * 8]);  // 16x16
//   multiplyAdd<T>(sums, rows, columns[0], columns[1]);     // 8 columns
//
// Unlike the fragments of TensorCores.h these say which lane has what, so that
// sums of one product become the rows of the next without leaving registers:
//
//   sums, 16x8    lane l has row l / 4 in [0], [1] and row l / 4 + 8 in [2],
//                 [3]; of columns l % 4 * 2 and the next one
//   rows, 16x16   two of a row in a word, as in sums: of columns 0 to 7 in
//                 [0], [1], of 8 to 15 in [2], [3]
//
// Halves are multiplied exactly and summed in f32. All lanes of a warp come to
// each call.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_WARPMATRICES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_WARPMATRICES_H

#include "runtime/device/cuda/kernels/product/TensorCores.h"

namespace shardc::runtime::cuda {

#ifdef __CUDACC__
#define SHARDC_LOAD_MATRICES(which)                                            \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" which                           \
               ".shared.b16 {%0, %1, %2, %3}, [%4];"                           \
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])            \
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(line)))    \
               : "memory")

/// Four 8x8 matrices of halves in shared memory: lanes 8 i to 8 i + 7 say where
/// the lines of matrix i are, each of 16 aligned bytes. Lane l gets elements
/// l % 4 * 2 and the next one of line l / 4, of matrix i in to[i].
inline __device__ void loadMatrices(uint32_t (&to)[4], const void *line) {
  SHARDC_LOAD_MATRICES("");
}
/// Lane l gets element l / 4 of the lines l % 4 * 2 and the next one.
inline __device__ void loadTransposed(uint32_t (&to)[4], const void *line) {
  SHARDC_LOAD_MATRICES(".trans");
}
#undef SHARDC_LOAD_MATRICES

#define SHARDC_MULTIPLY(type)                                                  \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                   \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                    \
      "{%0, %1, %2, %3};"                                                      \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])             \
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(low),      \
        "r"(high))

/// sums += rows * columns, 16x8 = 16x16 * 16x8. Columns: lane l has of column
/// l / 4 the elements l % 4 * 2 and the next one in `low`, those 8 further on
/// in `high`.
template <typename T>
__device__ void multiplyAdd(float (&sums)[4], const uint32_t (&rows)[4],
                            uint32_t low, uint32_t high) {
  if constexpr (std::is_same_v<T, host::Float16>)
    SHARDC_MULTIPLY("f16");
  else
    SHARDC_MULTIPLY("bf16");
}
#undef SHARDC_MULTIPLY
#else
inline void loadMatrices(uint32_t (&to)[4], const void *line) {
  testing::loadMatricesOfWarp(to, line, false);
}
inline void loadTransposed(uint32_t (&to)[4], const void *line) {
  testing::loadMatricesOfWarp(to, line, true);
}
template <typename T>
void multiplyAdd(float (&sums)[4], const uint32_t (&rows)[4], uint32_t low,
                 uint32_t high) {
  const auto numbersOf = [](uint32_t word) {
    const auto first = std::bit_cast<T>(static_cast<uint16_t>(word));
    const auto second = std::bit_cast<T>(static_cast<uint16_t>(word >> 16));
    return testing::TwoNumbers{float(first), float(second)};
  };
  const testing::TwoNumbers a[4] = {numbersOf(rows[0]), numbersOf(rows[1]),
                                    numbersOf(rows[2]), numbersOf(rows[3])};
  const testing::TwoNumbers b[2] = {numbersOf(low), numbersOf(high)};
  testing::multiplyAddOfWarp(sums, a, b);
}
#endif

/// Both rounded to T, the first one in the lower half.
template <typename T> __device__ uint32_t twoHalves(float first, float second) {
#ifdef __CUDA_ARCH__
  uint32_t word;
  if constexpr (std::is_same_v<T, host::Float16>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
#else
  return T(first).bits | uint32_t{T(second).bits} << 16;
#endif
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_WARPMATRICES_H
