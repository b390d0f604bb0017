//===- Loops.h - The inner loops of products and softmax ------------------===//
//
// Each is compiled for several kinds of processors; `loops()` gives those for
// this one. All of a run use the same, and none splits its work over threads.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_LOOPS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_LOOPS_H

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/FieldPanels.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"

#include <span>

namespace shardc::runtime::host {

struct Span {
  int64_t begin, end;
};

/// Rows that are read after those of a loop, as many, in bytes: it asks memory for
/// them meanwhile. Null where none are known.
struct NextRows {
  const std::byte *rows = nullptr;
  int64_t step = 0, bytes = 0;       ///< from row to row, and of a row
  const std::byte *scales = nullptr; ///< of rows that have them
  int64_t scaleStep = 0;
};

/// C [m, n] = alpha A B^T for rows of A and of B, which are dense.
struct RowProduct {
  int64_t m = 0, n = 0, k = 0;
  const float *a = nullptr;
  int64_t rowStepA = 0;
  const std::byte *b = nullptr;
  int64_t rowStepB = 0;
  float *c = nullptr;
  int64_t leadingC = 0;
  float alpha = 1;
  NextRows next;
};

/// C [m, n] += W [m, k] B [k, n] for rows of B, which are dense.
struct WeightedRows {
  int64_t m = 0, n = 0, k = 0; ///< n: whole panels
  const float *weights = nullptr;
  int64_t leadingWeights = 0;
  const std::byte *b = nullptr;
  int64_t rowStepB = 0;
  float *c = nullptr;
  int64_t leadingC = 0;
  NextRows next;
};

/// Dense rows of numbers of 8 bits, each times the row's scale, to rows that follow
/// each other.
struct ScaledRows {
  int64_t rows = 0, columns = 0;
  const std::byte *from = nullptr;
  int64_t rowStep = 0;
  const float *scales = nullptr;
  int64_t scaleStep = 0;
  float *to = nullptr;
};

/// Dense numbers that become integers of 8 or 16 bits.
struct QuantizedRow {
  const float *x = nullptr;
  int64_t count = 0;
  bool hasColumns = false; ///< each has a scale, and a zero point, of its own
  const float *scales = nullptr;
  const std::byte *zeros = nullptr; ///< of the integers' type; null: none
  std::byte *to = nullptr;
};

/// A loop for each type that B may have.
template <typename Loop> struct LoopByType {
  Loop ofFloat, ofFloat16, ofBFloat16;

  Loop of(artifact::ElementType element) const {
    return element == artifact::ElementType_Float32   ? ofFloat
           : element == artifact::ElementType_Float16 ? ofFloat16
                                                      : ofBFloat16;
  }
};

/// And for numbers of 8 bits.
template <typename Loop> struct LoopByStoredType : LoopByType<Loop> {
  Loop ofInt8, ofFloat8E4M3;

  Loop of(artifact::ElementType element) const {
    return element == artifact::ElementType_Int8 ? ofInt8
           : element == artifact::ElementType_Float8E4M3FN
               ? ofFloat8E4M3
               : LoopByType<Loop>::of(element);
  }
};

/// A loop for each type of integers.
template <typename Loop> struct LoopByInteger {
  Loop ofInt8, ofUInt8, ofInt16, ofUInt16;

  template <typename Q> Loop of() const {
    if constexpr (sizeof(Q) == 1)
      return std::is_signed_v<Q> ? ofInt8 : ofUInt8;
    else
      return std::is_signed_v<Q> ? ofInt16 : ofUInt16;
  }
};

struct Loops {
  /// Columns of C that belong to these panels of B.
  LoopByType<void (*)(const PackedProduct &product, Span panels)>
      multiplyPanels;
  /// For few rows of A: reads B from memory once, as it lies.
  LoopByStoredType<void (*)(const RowProduct &product)> multiplyRows;
  /// The same of what rows of B are weighted by, added up as multiplyPanels does.
  LoopByStoredType<void (*)(const WeightedRows &sum)> addRows;
  /// -inf for none; NaN if any is.
  float (*maximumOfRow)(const float *x, int64_t count);
  /// The largest |x|, likewise.
  float (*magnitudeOfRow)(const float *x, int64_t count);
  /// x = exp(x - shift) for x <= shift; their sum, in an order that follows
  /// from `count`.
  float (*exponentialsOfRow)(float *x, int64_t count, float shift);
  /// x = -inf where `shown` is 0.
  void (*hideOfRow)(float *x, const uint8_t *shown, int64_t count);
  /// x *= by.
  void (*multiplyRow)(float *x, const float *by, int64_t count);
  /// x += bias, of what the type has of each; -inf where that is, whatever x
  /// is.
  LoopByType<void (*)(float *x, const std::byte *bias, int64_t count)> addToRow;
  /// Dense numbers of a type as float, and back, rounded to nearest even.
  LoopByType<void (*)(const std::byte *from, int64_t count, float *to)>
      widenRow;
  LoopByType<void (*)(const float *from, int64_t count, std::byte *to)>
      narrowRow;
  /// Of int8, and of e4m3.
  void (*scaleInt8)(const ScaledRows &rows);
  void (*scaleFloat8E4M3)(const ScaledRows &rows);
  /// round(x / scale) + zero point, half to even and within the type; what is
  /// not a number is the zero point.
  LoopByInteger<void (*)(const QuantizedRow &row)> quantizeRow;
  /// Word w of column c to to[16 * w + c]; a column that is missing gets the
  /// last one's. `to` is aligned to 64 bytes.
  void (*gatherWords)(const ColumnWords &from, uint32_t *to);
  void (*gatherRows)(const RowBytes &from, uint32_t *to);
  /// Rows of 16 words as rows of 16 numbers, one for each field.
  void (*fieldsAsNumbers)(const uint32_t *words, int64_t rows, int bits,
                          float *to);
  /// A panel as numbers of that type, 16 a row; rows up to the end of the last
  /// word are written, too.
  LoopByType<void (*)(const FieldPanels &fields, int64_t panel, std::byte *to)>
      decodePanel;
  void (*multiplyFields)(const FieldProduct &product);
};

/// Those that this processor can run, the fastest first.
std::span<const Loops *const> supportedLoops();

const Loops &loops();

/// The rows above, of types that are stored in 16 bits.
template <typename T> void widenRow(const T *from, int64_t count, float *to) {
  loops().widenRow.of(elementTypeOf<T>())(
      reinterpret_cast<const std::byte *>(from), count, to);
}
template <typename T> void narrowRow(const float *from, int64_t count, T *to) {
  loops().narrowRow.of(elementTypeOf<T>())(from, count,
                                           reinterpret_cast<std::byte *>(to));
}
template <typename T>
inline constexpr bool isHalf =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_LOOPS_H
