//===- HiddenKeys.h - Keys that a mask hides from a tile of queries -------===//
//
// Exporters write causality and padding as a mask. A key that it hides from all
// queries of a tile has the weight 0 in each, and need not be looked at:
//
//   mask of 3 queries     0 far far far
//                         0   0 far far      keys 2 and 3 of 4 are left out
//                         0   0 far far      for these queries
//
// -inf and false hide whatever the score is. A number far below all others does
// so where scores are nowhere near as large and each query sees another key: its
// weight, exp(score + far - maximum), is then 0 exactly.
//
// Where values are not finite none is left out of many queries: 0 times these is
// NaN. A step of one query leaves out what -inf and false hide in any case.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_HIDDENKEYS_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_HIDDENKEYS_H

#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/simd/Loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace shardc::runtime::host {

/// What counts as far below, and the scores up to which it hides: with f16's,
/// hidden ones are below -60000 + 25000, and those of a seen key above
/// -1000 - 25000.
template <typename T> struct FarBelow {
  static constexpr bool isNarrow = std::is_same_v<T, Float16>;
  static constexpr double far = isNarrow ? -60000 : -1e30;
  static constexpr double largestScore = isNarrow ? 25000 : 1e29;
  static constexpr double seen = -1000;
};

/// The largest magnitude of a row, whose elements are `step` apart; infinite or
/// NaN if any is: as integers these are the largest.
template <typename T>
double largestMagnitude(const T *row, int64_t count, int64_t step) {
  using Bits =
      std::conditional_t<sizeof(T) == 2, int16_t,
                         std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
  if constexpr (std::is_same_v<T, float>)
    if (step == 1)
      return double(loops().magnitudeOfRow(row, count));
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  Bits largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max<Bits>(largest,
                             std::bit_cast<Bits>(row[i * step]) & kMagnitude);
  return double(std::bit_cast<T>(largest));
}

/// The rows of a mask that a tile of queries has.
template <typename T> class MaskRows {
public:
  /// `at`: the element of the first row and key.
  MaskRows(const TensorView &mask, int rowDim, int64_t at, int64_t rows)
      : mask(mask), first(at), rowStep(mask.strides[rowDim]),
        keyStep(mask.strides[3]), rows(rowStep == 0 ? 1 : rows) {}

  /// How far keys from `begin` on go that some row sees, in steps of kKeys: what
  /// is at most `far` is hidden. A mask of bool has nothing in between.
  int64_t shownEnd(int64_t begin, int64_t end, double far) const {
    // Of the last row most keys are seen, where a mask is causal.
    int64_t shown = begin;
    for (int64_t i = rows; i-- > 0 && shown < end;) {
      if (largest(i, shown, end) <= far)
        continue;
      int64_t before = shown + (end - 1 - shown) / kKeys * kKeys;
      while (before > shown &&
             largest(i, before, std::min(before + kKeys, end)) <= far)
        before -= kKeys;
      shown = std::min(before + kKeys, end);
    }
    return shown;
  }
  /// Has each row one of the keys that is no less than `seen`?
  bool showsSome(int64_t begin, int64_t end, double seen) const {
    for (int64_t i = 0; i < rows; ++i) {
      int64_t k = begin;
      while (k < end && !(largest(i, k, std::min(k + kKeys, end)) >= seen))
        k += kKeys;
      if (k >= end)
        return false;
    }
    return true;
  }
  /// Keys that are looked at together.
  static constexpr int64_t kKeys = 64;

private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// -inf is what hides. NaN if any is.
  double largest(int64_t row, int64_t begin, int64_t end) const {
    const int64_t place = first + row * rowStep + begin * keyStep;
    const int64_t count = end - begin;
    if (mask.element == artifact::ElementType_Bool) {
      const uint8_t *shown = mask.as<uint8_t>() + place;
      for (int64_t j = 0; j < count; ++j)
        if (shown[j * keyStep])
          return 0;
      return -kInfinity;
    }
    const T *bias = mask.as<T>() + place;
    if constexpr (std::is_same_v<T, float>)
      if (keyStep == 1)
        return double(loops().maximumOfRow(bias, count));
    double most = -kInfinity;
    if constexpr (isHalf<T>)
      if (keyStep == 1) { // some at a time, as float
        constexpr int64_t kSome = 256;
        float some[kSome];
        for (int64_t j = 0; j < count && !std::isnan(most); j += kSome) {
          const int64_t left = std::min(kSome, count - j);
          widenRow(bias + j, left, some);
          const double each = double(loops().maximumOfRow(some, left));
          most = each > most || std::isnan(each) ? each : most;
        }
        return most;
      }
    for (int64_t j = 0; j < count; ++j) {
      const double each = double(bias[j * keyStep]);
      if (std::isnan(each))
        return each;
      most = std::max(most, each);
    }
    return most;
  }

  const TensorView &mask;
  const int64_t first, rowStep, keyStep, rows;
};

/// Where the keys of a call end that its mask shows to some query of a tile, of
/// one thread, which has a head at hand. All keys are one piece.
template <typename T> class ShownKeys {
public:
  /// Rows [first, first + count) of what `rowDim` is.
  struct Tile {
    int64_t b, h, first, count;
  };

  ShownKeys() = default;
  /// `place`: of the first key, in the mask.
  ShownKeys(const TensorView &q, const TensorView &k, const TensorView &v,
            const TensorView &mask, int rowDim, int64_t place, double scale)
      : q(&q), k(&k), v(&v), mask(&mask), rowDim(rowDim), place(place),
        scale(std::abs(scale)) {}

  void forgetHead() { largestKey = largestValue = -1; }

  /// For tile number `at` of a head: a multiple of those keys that are added up
  /// together (TiledAttention.h), or all.
  int64_t endFor(const Tile &tile, int64_t at) {
    // Heads have one mask, as a rule.
    const bool isKept = mask->strides[1] == 0 && at < kKeptEnds;
    Ends own;
    Ends &kept = isKept ? ends[at] : own;
    if (kept.b != tile.b)
      kept = endsOf(tile);
    const int64_t end =
        kept.near < kept.shown && areScoresSmall(tile) ? kept.near : kept.shown;
    // 0 times what is no number is none, as a sum over all keys has it.
    const bool isAll = end == k->dims[2] || rowDim == 1;
    return isAll || largestValueOf(tile) < kInfinity ? end : k->dims[2];
  }

private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  /// Fewer keys are as soon added up as looked at.
  static constexpr int64_t kFewestKeys = 256, kKeptEnds = 32;

  /// Of a tile, whatever the head.
  struct Ends {
    int64_t b = -1;
    int64_t shown = 0; ///< keys behind are -inf, or false
    int64_t near = 0;  ///< keys behind are that, or far below
  };

  MaskRows<T> rowsOf(const Tile &tile) const {
    const int64_t at = tile.b * mask->strides[0] + tile.h * mask->strides[1] +
                       tile.first * mask->strides[rowDim] +
                       place * mask->strides[3];
    return MaskRows<T>(*mask, rowDim, at, tile.count);
  }

  /// Numbers are looked at where there is much to save, as scores have to be then.
  Ends endsOf(const Tile &tile) const {
    const MaskRows<T> rows = rowsOf(tile);
    const int64_t count = k->dims[2];
    const int64_t shown = rows.shownEnd(0, count, -kInfinity);
    const bool isNear = rowDim != 1 && count >= kFewestKeys &&
                        mask->element != artifact::ElementType_Bool &&
                        rows.showsSome(0, shown, FarBelow<T>::seen);
    return {tile.b, shown,
            isNear ? rows.shownEnd(0, shown, FarBelow<T>::far) : shown};
  }

  /// Whether what is far below hides all scores that the tile may have.
  bool areScoresSmall(const Tile &tile) {
    if (largestKey < 0) // not of this head yet
      largestKey = largestOf(*k, tile.b, headOf(tile), 0, k->dims[2]);
    const double largestQuery =
        largestOf(*q, tile.b, tile.h, tile.first, tile.count);
    return scale * double(q->dims[3]) * largestQuery * largestKey <=
           FarBelow<T>::largestScore;
  }

  int64_t headOf(const Tile &tile) const {
    return tile.h / (q->dims[1] / k->dims[1]);
  }
  double largestValueOf(const Tile &tile) {
    if (largestValue < 0)
      largestValue = largestOf(*v, tile.b, headOf(tile), 0, v->dims[2]);
    return largestValue;
  }

  /// Rows [first, first + count) of a head.
  static double largestOf(const TensorView &view, int64_t b, int64_t h,
                          int64_t first, int64_t count) {
    double largest = 0;
    const T *row = view.as<T>() + b * view.strides[0] + h * view.strides[1] +
                   first * view.strides[2];
    for (int64_t i = 0; i < count; ++i, row += view.strides[2]) {
      const double each = largestMagnitude(row, view.dims[3], view.strides[3]);
      if (!(each <= largest))
        largest = each;
      if (std::isnan(each))
        break;
    }
    return largest;
  }

  const TensorView *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  int rowDim = 2;
  int64_t place = 0;
  double scale = 0;
  double largestKey = -1, largestValue = -1; ///< of the head; -1: not known
  Ends ends[kKeptEnds];                      ///< of tiles of a head
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_HIDDENKEYS_H
