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

/// Rows as integers. Words of weights of 4 bits have their even rows first:
/// so have these, of each eight.
struct ByteRows {
  int8_t *bytes = nullptr;
  int64_t rowBytes = 0;
  float *scales = nullptr, *sums = nullptr; ///< of blocks
  int64_t rowBlocks = 0;
};

/// C [m, n] += A B for panels of 16 columns, four rows of B a word.
struct ByteProduct {
  int64_t m = 0, n = 0;
  ByteRows a;
  const uint32_t *words = nullptr;
  int64_t panelStep = 0;  ///< words of a panel
  bool areHalves = false; ///< no byte of B is above 15
  int64_t blocks = 0;     ///< of rows of B
  int64_t blockWords = 0; ///< rows of words in a block
  int64_t lastWords = 0;  ///< in the last one
  const float *scales = nullptr, *zeros = nullptr;
  int64_t scaleStep = 0; ///< scales of a panel
  float *c = nullptr;
  int64_t leadingC = 0;
  bool adds = false; ///< to what C holds
};

/// C [m, n] = A B for few rows and a panel of columns that lie dense, as
/// MatMulNBits has them: 16 bytes of each column are a chunk, of 16 rows of
/// bytes or 32 of halves. Nothing of B is put in another place.
struct ByteColumns {
  static constexpr int64_t kMostRows = 4;
  static constexpr int64_t kChunk = 16; ///< bytes

  int64_t m = 0, n = 0; ///< at most kMostRows and 16
  ByteRows a;           ///< of halves as `separate` leaves them
  const std::byte *columns = nullptr;
  int64_t columnBytes = 0; ///< from one to the next
  int64_t ahead = 0;       ///< bytes to what is asked for meanwhile
  bool areHalves = false;
  uint32_t flip = 0; ///< of each word of B
  int64_t blocks = 0, blockChunks = 0;
  const float *scales = nullptr, *zeros = nullptr; ///< 16 of each block
  float *c = nullptr;
  int64_t leadingC = 0;
};

struct ByteLoops {
  /// Rows of x, dense, of which the last block may have fewer than
  /// `blockRows`; bytes are filled up with zeros to whole words of `bits`.
  void (*quantize)(const float *x, int64_t count, int64_t blockRows, int bits,
                   const ByteRows &row);
  /// Rows of words of eight halves, each to two of four bytes. Both are aligned
  /// to 64 bytes.
  void (*widen)(const uint32_t *words, int64_t rows, uint32_t *to);
  void (*multiply)(const ByteProduct &product);
  /// Of each 32 bytes of a row the 16 even ones first, for `multiplyColumns`, which
  /// gives the same bits as `multiply`.
  void (*separate)(int8_t *bytes, int64_t count);
  void (*multiplyColumns)(const ByteColumns &product);
  /// Columns of C that belong to these panels (IntegerPanels.h).
  void (*multiplyIntegers)(const IntegerProduct &product, Span panels);
};

/// Those that this processor can run, the fastest first.
std::span<const ByteLoops *const> supportedByteLoops();

const ByteLoops &byteLoops();

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTELOOPS_H
