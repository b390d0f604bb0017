//===- AttentionOperands.h - Keys and values of one head for products -----===//
//
// What attention multiplies tiles of queries and of weights by. In float, and
// in halves, both are packed into panels: all of a head where that takes
// little, else the tile at hand. Rows of other heads between those of this one
// would throw each other out of the cache. Few queries, as in a step of
// decoding, read dense rows once, as they lie.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONOPERANDS_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONOPERANDS_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/host/attention/FewQueries.h"
#include "runtime/kernels/host/attention/TiledAttention.h"
#include "runtime/kernels/host/reduce/SoftmaxRow.h"
#include "runtime/kernels/host/simd/Loops.h"

#include <algorithm>

namespace shardc::runtime::host {

inline MatrixLayout attentionLayout(const TensorView &view, int64_t rows,
                                    int rowDim = 2) {
  return {rows, view.dims[3], view.strides[rowDim], view.strides[3]};
}

/// Where a panel of keys begins.
inline int64_t tileBegin(int64_t key) {
  return key / kPanelColumns * kPanelColumns;
}

/// Through MatrixProduct.h: of double.
template <typename T> class PlainAttentionOperands {
  using Acc = Accumulator<T>;

public:
  PlainAttentionOperands(const TensorView &, const TensorView &k,
                         const TensorView &v, int64_t, int64_t,
                         const AttentionOrder &)
      : layoutK(attentionLayout(k, k.dims[2])),
        layoutV(attentionLayout(v, k.dims[2])) {}

  int64_t scratchElements() const {
    return packedSize<T>(layoutK.transposed()) + packedSize<T>(layoutV);
  }
  void setHead(const T *newKeys, const T *newValues, Acc *newScratch) {
    keys = newKeys;
    values = newValues;
    scratch = newScratch;
  }
  static constexpr int64_t alignment() { return kPanelColumns; }
  /// Another piece is in the same place.
  void forget() {}
  void setPiece(KeyPiece piece) {
    MatrixLayout ofKeys = layoutK, ofValues = layoutV;
    ofKeys.rows = ofValues.rows = piece.size;
    matrixK = asMatrix(ofKeys.transposed(), keys + piece.keys, scratch);
    matrixV = asMatrix(ofValues, values + piece.values,
                       scratch + packedSize<T>(ofKeys.transposed()));
  }

  Status score(const Matrix<Acc> &queries, Acc scale,
               const ScoreTile<Acc> &tile) const {
    Matrix<Acc> seen = matrixK;
    seen.data += tile.begin * (seen.transposed ? seen.leading : 1);
    return multiply(tile.rows, tile.count, layoutK.columns, scale, queries,
                    seen, Acc(0), tile.scores, tile.leading);
  }
  Status addValues(const ScoreTile<Acc> &tile, Acc *to, int64_t leading) const {
    Matrix<Acc> seen = matrixV;
    seen.data += tile.begin * (seen.transposed ? 1 : seen.leading);
    return multiply(tile.rows, layoutV.columns, tile.count, Acc(1),
                    {tile.scores, tile.leading, false}, seen, Acc(1), to,
                    leading);
  }

  static Acc maximum(const Acc *scores, int64_t count) {
    return maximumOf(scores, 1, count);
  }
  /// Of scores - maximum, in place; their sum.
  static Acc exponentials(Acc *scores, int64_t count, Acc maximum) {
    for (int64_t j = 0; j < count; ++j)
      scores[j] = exponential(scores[j] - maximum);
    return sumOf(scores, 1, count);
  }

private:
  const MatrixLayout layoutK, layoutV; ///< of all keys
  const T *keys = nullptr, *values = nullptr;
  Acc *scratch = nullptr;
  Matrix<Acc> matrixK, matrixV; ///< of the piece
};

/// Through the loops of simd/, or those of Tiles.h where operands may be rounded
/// and there are more than a few queries.
template <typename T> class PackedAttentionOperands {
public:
  /// Tiles have at most that many rows and keys. Where ranks have different
  /// numbers of rows, a row that several have must not depend on them: then
  /// few rows are summed like many. So they are in a fixed order; values that are
  /// read as they lie are added up like packed ones.
  PackedAttentionOperands(const TensorView &q, const TensorView &k,
                          const TensorView &v, int64_t rows, int64_t keyTile,
                          const AttentionOrder &order)
      : head(k, v), tiled(head, rows, k.dims[2], keyTile),
        keyTile(roundUp(keyTile)) {
    const auto isDense = [&](const TensorView &view) {
      return view.strides[3] == 1 || head.depth <= 1;
    };
    const bool areFew = rows <= kFewQueries && !order.areRowsSplit;
    // A step of decoding stays as it is, however many heads share a key.
    inTiles = order.isRounded && !order.isInOrder && !areFew &&
              areBFloat16InTiles() && (q.dims[2] > 1 || order.areRowsSplit);
    readsKeys = areFew && !order.isInOrder && isDense(q) && isDense(k);
    readsValues = (areFew || (order.isInOrder && rows <= kFewQueries)) &&
                  head.columnStepV == 1 && head.columns % kPanelColumns == 0;
    const int64_t widest =
        std::max<int64_t>({head.depth, roundUp(head.columns), 1});
    capacity =
        std::min(roundUp(k.dims[2]),
                 std::max(tileBegin(kPackedElements / widest), this->keyTile));
  }

  /// Keys of a tile begin at a multiple of this.
  int64_t alignment() const {
    return inTiles ? TiledAttention<T>::kAlignment : kPanelColumns;
  }

  int64_t scratchElements() const {
    return inTiles ? tiled.scratchElements() : sizeOfKeys() + sizeOfValues();
  }
  void setHead(const T *newKeys, const T *newValues, float *scratch) {
    if (inTiles)
      return tiled.setHead(newKeys, newValues, scratch);
    keys = newKeys;
    values = newValues;
    packedKeys = scratch;
    packedValues = scratch + sizeOfKeys();
    packed = {0, 0};
  }
  /// Keys and values, both of few queries.
  bool readsAsTheyLie() const { return readsKeys && readsValues; }
  /// Those of a piece from `begin` on, where they lie.
  StoredRows storedKeys(const KeyPiece &of, int64_t begin) const {
    return {bytes(keys + of.keys + begin * head.stepK), head.stepK,
            elementTypeOf<T>()};
  }
  StoredRows storedValues(const KeyPiece &of, int64_t begin) const {
    return {bytes(values + of.values + begin * head.stepV), head.stepV,
            elementTypeOf<T>()};
  }
  void forget() {
    packed = {0, 0};
    tiled.forget();
  }
  void setPiece(KeyPiece newPiece) {
    if (newPiece != piece)
      forget();
    piece = newPiece;
  }

  Status score(const Matrix<float> &queries, float scale,
               const ScoreTile<float> &tile) {
    if (inTiles) {
      tiled.score(queries, scale, tile, piece);
      return Status::ok();
    }
    if (readsKeys) {
      scoreRows(queries, {}, scale, head.depth, storedKeys(piece, tile.begin),
                NextRows(), tile);
      return Status::ok();
    }
    pack(tile.begin, tile.begin + tile.count);
    PackedProduct product;
    product.m = tile.rows;
    product.n = tile.count;
    product.k = head.depth;
    product.a = queries.data;
    product.rowStepA = queries.transposed ? 1 : queries.leading;
    product.depthStepA = queries.transposed ? queries.leading : 1;
    product.setPacked(
        bytes(packedKeys + (tile.begin - packed.begin) * head.depth),
        artifact::ElementType_Float32);
    product.c = tile.scores;
    product.leadingC = tile.leading;
    product.alpha = scale;
    multiplyPacked(product);
    return Status::ok();
  }

  Status addValues(const ScoreTile<float> &tile, float *to, int64_t leading) {
    if (inTiles) {
      tiled.addValues(tile, piece, to, leading);
      return Status::ok();
    }
    PackedProduct product;
    product.m = tile.rows;
    product.n = head.columns;
    product.k = tile.count;
    product.a = tile.scores;
    product.rowStepA = tile.leading;
    if (readsValues) {
      const StoredRows stored = storedValues(piece, tile.begin);
      product.setRows(stored.rows, stored.element, stored.step);
    } else {
      pack(tile.begin, tile.begin + tile.count);
      product.setPacked(
          bytes(packedValues + (tile.begin - packed.begin) * kPanelColumns),
          artifact::ElementType_Float32);
      product.panelStepB = (packed.end - packed.begin) * kPanelColumns;
    }
    product.c = to;
    product.leadingC = leading;
    product.beta = 1;
    multiplyPacked(product);
    return Status::ok();
  }

  static float maximum(const float *scores, int64_t count) {
    return loops().maximumOfRow(scores, count);
  }
  static float exponentials(float *scores, int64_t count, float maximum) {
    return loops().exponentialsOfRow(scores, count, maximum);
  }

private:
  static constexpr int64_t kPackedElements = 48 * 1024; ///< of keys, of values

  static int64_t roundUp(int64_t size) {
    return tileBegin(size + kPanelColumns - 1);
  }
  template <typename E> static const std::byte *bytes(const E *data) {
    return reinterpret_cast<const std::byte *>(data);
  }

  int64_t sizeOfKeys() const { return readsKeys ? 0 : capacity * head.depth; }
  int64_t sizeOfValues() const {
    return readsValues ? 0 : capacity * roundUp(head.columns);
  }

  static void putRow(const T *from, int64_t count, float *to) {
    if constexpr (isHalf<T>)
      return widenRow(from, count, to);
    else
      for (int64_t j = 0; j < count; ++j)
        to[j] = from[j];
  }
  static void putColumn(const T *from, int64_t step, int64_t count, float *to) {
    if constexpr (isHalf<T>)
      if (step == 1) { // some at a time, as dense numbers
        constexpr int64_t kSome = 64;
        float some[kSome];
        for (int64_t i = 0; i < count; i += kSome) {
          const int64_t left = std::min(kSome, count - i);
          widenRow(from + i, left, some);
          for (int64_t l = 0; l < left; ++l)
            to[(i + l) * kPanelColumns] = some[l];
        }
        return;
      }
    for (int64_t i = 0; i < count; ++i)
      to[i * kPanelColumns] = from[i * step];
  }

  /// A matrix [rows, columns] as packMatrix does, in float.
  static void packPanels(const T *from, int64_t rowStep, int64_t columnStep,
                         int64_t rows, int64_t columns, float *to) {
    for (int64_t begin = 0; begin < columns;
         begin += kPanelColumns, to += rows * kPanelColumns) {
      const T *panel = from + begin * columnStep;
      const int64_t count = std::min(kPanelColumns, columns - begin);
      if (count < kPanelColumns)
        std::fill(to, to + rows * kPanelColumns, 0.f);
      if (columnStep == 1) { // in the order of what is read
        for (int64_t i = 0; i < rows; ++i)
          putRow(panel + i * rowStep, count, to + i * kPanelColumns);
        continue;
      }
      for (int64_t j = 0; j < count; ++j)
        putColumn(panel + j * columnStep, rowStep, rows, to + j);
    }
  }

  /// Those keys of the piece and their values, or all. `begin` is a tileBegin.
  void pack(int64_t begin, int64_t end) {
    if (begin >= packed.begin && end <= packed.end)
      return;
    packed = roundUp(piece.size) <= capacity ? Span{0, piece.size}
                                             : Span{begin, end};
    const int64_t first = packed.begin;
    const int64_t count = packed.end - packed.begin;
    if (!readsKeys)
      packPanels(keys + piece.keys + first * head.stepK, head.depthStepK,
                 head.stepK, head.depth, count, packedKeys);
    if (!readsValues)
      packPanels(values + piece.values + first * head.stepV, head.stepV,
                 head.columnStepV, count, head.columns, packedValues);
  }

  AttentionHead head;
  TiledAttention<T> tiled;
  int64_t keyTile, capacity;
  bool inTiles, readsKeys, readsValues;
  const T *keys = nullptr, *values = nullptr;
  float *packedKeys = nullptr, *packedValues = nullptr;
  KeyPiece piece = {0, 0, 0};
  Span packed = {0, 0}; ///< keys of the piece
};

template <typename T>
using AttentionOperands =
    std::conditional_t<std::is_same_v<Accumulator<T>, float>,
                       PackedAttentionOperands<T>, PlainAttentionOperands<T>>;

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONOPERANDS_H
