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
// so that a row's bits do not depend on the other rows.
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

/// Rows as integers. Of words of weights of 4 bits even rows are multiplied
/// first: so these come first of each eight.
struct ByteRows {
  int8_t *bytes = nullptr;
  int64_t rowBytes = 0;
  float *scales = nullptr, *sums = nullptr; ///< of blocks
  int64_t rowBlocks = 0;
};

/// C [m, n] += A B for panels of 16 columns, four rows of B a word or eight.
struct ByteProduct {
  int64_t m = 0, n = 0;
  ByteRows a;
  const uint32_t *words = nullptr;
  int64_t panelStep = 0;          ///< words of a panel
  const uint32_t *next = nullptr; ///< words that are multiplied next, if known
  bool areHalves = false;         ///< eight of 4 bits
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
