//===- TiledAttention.h - Keys and values of one head in tiles ------------===//
//
// What PackedAttentionOperands keeps in float, rounded to bfloat16 and in the
// order of Tiles.h: queries times keys, and weights of the softmax times values,
// are products in the tiles of AMX, or by pairs where these are fast, of operands
// that are rounded and sums in float. Scores and the softmax stay in float.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_TILEDATTENTION_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_TILEDATTENTION_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/attention/AttentionTile.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"

#include <algorithm>

namespace shardc::runtime::host {

/// Scratch is counted in floats.
template <typename T> class TiledAttention {
public:
  /// Keys of a tile begin at a multiple of this.
  static constexpr int64_t kAlignment = kTileDepth;

  /// Tiles have at most `rows` queries and `keyTile` of all `keys`.
  TiledAttention(const AttentionHead &head, int64_t rows, int64_t keys,
                 int64_t keyTile)
      : head(head), rows(rows), keyTile(tiledDepth(keyTile)),
        depth(tiledDepth(head.depth)) {
    const int64_t widest = std::max<int64_t>({depth, widthOfValues(), 1});
    const int64_t fits = kPackedElements / widest / kAlignment * kAlignment;
    capacity = std::min(tiledDepth(keys), std::max(fits, this->keyTile));
  }

  int64_t scratchElements() const {
    return kBufferAlignment / int64_t(sizeof(float)) +
           (sizeOfRows() + sizeOfLine() + sizeOfKeys() +
            (capacity + kTileDepth) * widthOfValues()) /
               2;
  }
  void setHead(const T *newKeys, const T *newValues, float *scratch) {
    keys = newKeys;
    values = newValues;
    roundedRows = reinterpret_cast<BFloat16 *>(
        alignBuffer(reinterpret_cast<int64_t>(scratch)));
    line = roundedRows + sizeOfRows();
    packedKeys = line + sizeOfLine();
    packedValues = packedKeys + sizeOfKeys();
    lastValues = packedValues + capacity * widthOfValues();
    forget();
  }
  void forget() { packed = {0, 0}; }

  void score(const Matrix<float> &queries, float scale,
             const ScoreTile<float> &tile, const KeyPiece &piece) {
    pack(tile.begin, tile.begin + tile.count, piece);
    for (int64_t i = 0; i < tile.rows; ++i)
      roundInTiles(queries.data +
                       i * (queries.transposed ? 1 : queries.leading),
                   queries.transposed ? queries.leading : 1, head.depth,
                   roundedRows + i * depth);
    TileProduct product = productOf(tile, tile.count, head.depth);
    product.b = bytes(packedKeys + (tile.begin - packed.begin) * depth);
    product.sums = tile.scores;
    product.leadingC = tile.leading;
    product.alpha = scale;
    multiplyBFloat16(product);
  }

  void addValues(const ScoreTile<float> &tile, const KeyPiece &piece, float *to,
                 int64_t leading) {
    pack(tile.begin, tile.begin + tile.count, piece);
    for (int64_t i = 0; i < tile.rows; ++i)
      roundInTiles(tile.scores + i * tile.leading, 1, tile.count,
                   roundedRows + i * tiledDepth(tile.count));
    // Tiles read whole blocks: values that are packed behind the last key are
    // not this tile's, and may be no numbers.
    const int64_t end = tile.begin + tile.count;
    const int64_t rest = end == packed.end ? 0 : tile.count % kTileDepth;
    const int64_t whole = tile.count - rest;
    TileProduct product = productOf(tile, head.columns, whole);
    product.rowStepA = tiledDepth(tile.count);
    product.sums = to;
    product.leadingC = leading;
    product.beta = 1;
    product.b =
        bytes(packedValues + (tile.begin - packed.begin) * kPanelColumns);
    product.panelStepB = tiledDepth(packed.end - packed.begin) * kPanelColumns;
    if (whole > 0)
      multiplyBFloat16(product);
    if (rest == 0)
      return;
    packValues(piece.values + (end - rest) * head.stepV, rest, lastValues);
    product.k = rest;
    product.a += whole;
    product.b = bytes(lastValues);
    product.panelStepB = 0;
    multiplyBFloat16(product);
  }

private:
  static constexpr int64_t kPackedElements = 96 * 1024; ///< of keys, of values

  static const std::byte *bytes(const BFloat16 *data) {
    return reinterpret_cast<const std::byte *>(data);
  }
  int64_t widthOfValues() const {
    return panelsOf(head.columns) * kPanelColumns;
  }
  /// Of queries, or of weights.
  int64_t sizeOfRows() const { return rows * std::max(depth, keyTile); }
  /// A panel of keys, or two rows of values, on their way.
  int64_t sizeOfLine() const {
    return std::max(kPanelColumns * depth, 2 * widthOfValues());
  }
  int64_t sizeOfKeys() const { return capacity * depth; }

  TileProduct productOf(const ScoreTile<float> &tile, int64_t n,
                        int64_t k) const {
    TileProduct product;
    product.m = tile.rows;
    product.n = n;
    product.k = k;
    product.a = roundedRows;
    product.rowStepA = tiledDepth(k);
    product.beta = 0;
    product.isCached = true;
    return product;
  }

  /// `count` numbers, and zeros up to `padded`.
  static void round(const T *from, int64_t step, int64_t count, int64_t padded,
                    BFloat16 *to) {
    std::fill(to + count, to + padded, BFloat16());
    if constexpr (std::is_same_v<T, float>)
      if (step == 1)
        return roundToTiles(from, count, to);
    constexpr int64_t kSome = 64;
    float some[kSome];
    for (int64_t i = 0; i < count; i += kSome) {
      const int64_t left = std::min(kSome, count - i);
      for (int64_t l = 0; l < left; ++l)
        some[l] = float(from[(i + l) * step]);
      roundToTiles(some, left, to + i);
    }
  }

  /// Panels of 16 keys: each a column of the product's right operand.
  void packKeys(int64_t first, int64_t count) {
    for (int64_t begin = 0; begin < count; begin += kPanelColumns) {
      const int64_t some = std::min(kPanelColumns, count - begin);
      for (int64_t j = 0; j < some; ++j)
        round(keys + first + (begin + j) * head.stepK, head.depthStepK,
              head.depth, depth, line + j * depth);
      loops().gatherWords(
          {bytes(line), depth * 2, some, depth * 2, /*flip=*/0, /*ahead=*/0},
          reinterpret_cast<uint32_t *>(packedKeys + begin * depth));
    }
  }

  /// Panels of 16 columns of values, of which two rows lie side by side.
  void packValues(int64_t first, int64_t count, BFloat16 *into) {
    const int64_t width = widthOfValues(), padded = tiledDepth(count);
    for (int64_t k = 0; k < padded; k += 2) {
      for (int64_t r = 0; r < 2; ++r) {
        const bool isThere = k + r < count;
        round(values + first + (isThere ? k + r : 0) * head.stepV,
              head.columnStepV, isThere ? head.columns : 0, width,
              line + r * width);
      }
      const auto *upper = reinterpret_cast<const uint16_t *>(line);
      const uint16_t *lower = upper + width;
      for (int64_t panel = 0; panel * kPanelColumns < width; ++panel) {
        auto *to = reinterpret_cast<uint32_t *>(into + (panel * padded + k) *
                                                           kPanelColumns);
        for (int64_t j = 0; j < kPanelColumns; ++j)
          to[j] = uint32_t(upper[panel * kPanelColumns + j]) |
                  uint32_t(lower[panel * kPanelColumns + j]) << 16;
      }
    }
  }

  /// Those keys of the piece and their values, or all.
  void pack(int64_t begin, int64_t end, const KeyPiece &piece) {
    if (begin >= packed.begin && end <= packed.end)
      return;
    packed = tiledDepth(piece.size) <= capacity ? Span{0, piece.size}
                                                : Span{begin, end};
    const int64_t count = packed.end - packed.begin;
    packKeys(piece.keys + packed.begin * head.stepK, count);
    packValues(piece.values + packed.begin * head.stepV, count, packedValues);
  }

  AttentionHead head;
  int64_t rows, keyTile;
  int64_t depth; ///< of a key, filled up
  int64_t capacity;
  const T *keys = nullptr, *values = nullptr;
  BFloat16 *roundedRows = nullptr, *line = nullptr;
  BFloat16 *packedKeys = nullptr, *packedValues = nullptr;
  BFloat16 *lastValues = nullptr; ///< fewer than a block of them
  Span packed = {0, 0};           ///< keys of the piece
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_TILEDATTENTION_H
