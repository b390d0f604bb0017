//===- ByteLoops.h - Products of activations in 8 bits --------------------===//
//
// Where activations may be rounded, each block of a row that has scales of its
// own in the weights becomes integers from -127 to 127, times the largest of
// its values / 127. Products of a block are then exact in integers, four to an
// instruction; blocks are added up as floats, from the first to the last:
//
//   C[i, j] = sum over b of  scaleA[i, b] scaleB[b, j]
//                            (dot(A[i, b], B[b, j]) - zeroB[b, j] sum(A[i, b]))
//
// so that a row's bits do not depend on the other rows. Of words of weights of 4
// or 2 bits fields that are alike placed in their byte are multiplied together,
// those of the lowest bits first; and so lie the rows of A:
//
//   rows of a word of 4 bits   0 2 4 6  1 3 5 7
//   of 2 bits                  0 4 8 12  1 5 9 13  2 6 10 14  3 7 11 15
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTELOOPS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTELOOPS_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace shardc::runtime::host {

struct IntegerProduct;
struct Span;

/// Rows as integers, in the order above.
struct ByteRows {
  int8_t *bytes = nullptr;
  int64_t rowBytes = 0;
  float *scales = nullptr, *sums = nullptr; ///< of blocks
  int64_t rowBlocks = 0;
};

/// C [m, n] += A B for panels of 16 columns.
struct ByteProduct {
  int64_t m = 0, n = 0;
  ByteRows a;
  const uint32_t *words = nullptr;
  int64_t panelStep = 0;          ///< words of a panel
  const uint32_t *next = nullptr; ///< words that are multiplied next, if known
  int parts = 1;                  ///< fields of a byte: 1, 2 or 4
  int64_t blocks = 0;             ///< of rows of B
  int64_t blockWords = 0;         ///< rows of words in a block
  int64_t lastWords = 0;          ///< in the last one
  const float *scales = nullptr, *zeros = nullptr;
  int64_t scaleStep = 0; ///< scales of a panel
  float *c = nullptr;
  int64_t leadingC = 0;
  bool adds = false; ///< to what C holds
};

struct ByteLoops {
  /// Rows of x, dense, of which the last block may have fewer than
  /// `blockRows`; bytes are filled up with zeros to whole words of `bits`.
  void (*quantize)(const float *x, int64_t count, int64_t blockRows, int bits,
                   const ByteRows &row);
  void (*multiply)(const ByteProduct &product);
  /// Columns of C that belong to these panels (IntegerPanels.h).
  void (*multiplyIntegers)(const IntegerProduct &product, Span panels);
};

/// Those that this processor can run, the fastest first.
std::span<const ByteLoops *const> supportedByteLoops();

const ByteLoops &byteLoops();

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTELOOPS_H
