//===- DigitRows.h - Few rows of floats and rows of int8, by VNNI ---------===//
//
// The products of few queries (Loops.h) with keys and values of int8, for
// processors that multiply four bytes in one instruction, which is a quarter of
// what multiply-adds of floats take. A float is rounded to two digits of 8 bits
// and a scale of its row:
//
//   x = (256 hi + lo) * scale      |x| <= 32639 * scale
//
// so its error is at most 1 / 65278 of the row's largest number, where int8 keys
// and values have 1 / 254 of theirs. Sums of digits are exact.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_DIGITROWS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_DIGITROWS_H

#include "runtime/kernels/host/simd/Loops.h"

namespace shardc::runtime::host {

/// Whether this processor has the instructions.
bool hasDigitRows();
/// Whether rows are long enough, and no longer than loops have room for.
bool haveDigits(int64_t depth, int64_t columns);

/// Rows of queries as digits, in memory of the caller.
struct DigitRows {
  /// For each row and four numbers in turn: their upper digits, their lower ones.
  const int8_t *digits = nullptr;
  const float *scales = nullptr;
  /// What keys become unsigned by: -128 times the sums of upper, of lower digits.
  const int32_t *offsets = nullptr;

  static int64_t bytes(int64_t rows, int64_t depth);
  /// Of `rows` rows, `step` elements apart, of `depth` numbers; a row that has one
  /// that is not finite has the scale NaN. `to` is aligned to 4 bytes.
  static DigitRows of(const float *x, int64_t step, int64_t rows, int64_t depth,
                      std::byte *to);
};

/// Loops::multiplyRows of int8, of rows as digits: `a` is not read.
/// Precondition: hasDigitRows(), and haveDigits of k.
void multiplyDigitRows(const DigitRows &rows, const RowProduct &product);
/// Loops::addRows of int8; weights are not negative, and become digits.
/// Precondition: hasDigitRows(), and haveDigits of n.
void addDigitRows(const WeightedRows &sum);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_DIGITROWS_H
