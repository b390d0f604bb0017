//===- AttentionRun.h - Attention with an online softmax ------------------===//
//
// Scores are computed a tile of queries and keys at a time; with packed keys
// that is all the scratch needed, however long the sequence is. Each row keeps
// the largest score so far and the sum of exponentials relative to it, and what
// it has added up is rescaled when a larger score comes (Milakov and Gimelshein
// 2018):
//
//   after keys 0 1   scores 1 3    max 3, sum e^-2 + 1, acc e^-2 v0 + v1
//   after key 2      score 4       max 4, sum, acc: times e^-1, plus 1 and v2
//   at the end       acc / sum
//
// The same state carries over from one part of the keys to the next where these
// come in turn (AttentionPart.cpp).
//
// Queries and keys may be pieces of their sequences: pairs of the place where a
// piece starts and its size. Causality, windows and masks go by those places.
// The pieces of keys lie one after the other (KeysInOrder), or in pages
// (PagedRows.h); those that are not stored as numbers are loaded one by one.
//
// Tiles of queries are shared out to the threads of the rank, a copy of the run
// to each with scratch of its own. A tile sees the same keys in the same order
// whoever computes it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONRUN_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONRUN_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/attention/AttentionChecks.h"
#include "runtime/kernels/attention/AttentionRows.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/attention/AttentionOperands.h"
#include "runtime/kernels/host/attention/HiddenKeys.h"
#include "runtime/kernels/host/attention/KeysInOrder.h"
#include "runtime/kernels/host/product/MatrixProduct.h"
#include "runtime/kernels/host/reduce/SoftmaxRow.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace shardc::runtime::host {

inline constexpr int64_t kQueryTile = 96, kKeyTile = 256;
static_assert(kKeyTile <= kDepthBlock, "a tile's values are one sum, as those "
                                       "that multiplyPanels adds up are");

/// Those of a tile of rows.
template <typename Acc> struct TileState {
  Acc *values;
  int64_t valueStep; ///< from row to row
  Acc *stats;
  int64_t statStep;

  RowState<Acc> row(int64_t i) const {
    return {values + i * valueStep, stats + i * statStep};
  }
};

/// Calls write(column, value) for each value of a row of the result.
template <typename Acc, typename Write>
void finishRow(const RowState<Acc> &row, int64_t columns, Acc sink,
               ZeroRows zeroRows, Write write) {
  const RowResult<Acc> result(row.stats[0], row.stats[1], sink, zeroRows);
  for (int64_t j = 0; j < columns; ++j)
    write(j, result.of(row.values[j]));
}

/// Adds keys and values to the states of all rows. `k` and `v` have the dims of
/// the largest piece, or of all.
template <typename T, typename AllKeys = KeysInOrder> class AttentionRun {
  using Acc = Accumulator<T>;
  using KeyNumber = typename KeyNumberOf<T, AllKeys>::Type;
  static constexpr bool kIsFloat = std::is_same_v<Acc, float>;
  /// Whether keys and values are numbers only once they are read.
  static constexpr bool kAreStored =
      kIsFloat && requires(const AllKeys &keys) { keys.storedKeys(0); };

public:
  /// `isPart`: of a call whose parts run at the same time already.
  AttentionRun(const KernelCall &call, const AttentionInputs &inputs,
               const AllKeys &keys, int64_t causalOffset, bool isPart = false)
      : q(inputs.q), k(inputs.k), v(inputs.v), mask(inputs.mask),
        group(k.dims[1] == 0 ? 0 : q.dims[1] / k.dims[1]),
        queries(call, "query_pieces", q.dims[2]), keys(keys),
        // A step of decoding: the rows of a product are heads that share a key.
        rowDim(q.dims[2] == 1 ? 1 : 2),
        keyTile(std::clamp<int64_t>(k.dims[2], 1, kKeyTile)),
        tileRows(std::min(kQueryTile, rowDim == 1 ? group : q.dims[2])),
        isInOrder(sumOrderOf(call) == SumOrder::Fixed),
        operands(q, k, v, tileRows, keyTile, AttentionOrder::of(call)),
        scoreStep(keysOfTile() + (isInOrder ? kPanelColumns : 0)),
        causalOffset(causalOffset), isPart(isPart) {
    scale = Acc(call.floatOr("scale", 1.0 / std::sqrt(double(q.dims[3]))));
    softcap = Acc(call.floatOr("softcap", 0.0));
    isCausal = call.intOr("is_causal", 0) != 0;
    window = call.intOr("window", 0);
    layoutQ = attentionLayout(q, tileRows, rowDim);
    if (looksAtMask())
      shown = ShownKeys<T>(q, k, v, *mask, rowDim, keys.place(0), scale);
  }
  explicit AttentionRun(const KernelCall &call)
      : AttentionRun(call, AttentionInputs::of(call), AllKeys(call),
                     call.intOr("causal_offset", 0)) {}

  /// The dim along which the rows of a tile lie, and how many there are.
  int rowsAlong() const { return rowDim; }
  int64_t rowsOfTile() const { return tileRows; }

  /// With `more` for each thread.
  int64_t scratchElements(int64_t more) const {
    return threads() * scratchOfThread(more);
  }

  /// begin(b, h, row, count, own) gives the state of a tile of rows, `own` being
  /// `more` elements of the thread; end(b, h, row, count, state) takes it back.
  template <typename Begin, typename End>
  Status run(Acc *scratch, int64_t more, Begin begin, End end) const {
    const int64_t tiles = tilesOfHead() * heads() * q.dims[0];
    return shareOut(
        tiles, threads(), evenChunk(tiles, threads()),
        [&](int64_t thread) {
          AttentionRun own = *this;
          own.scores = scratch + thread * scratchOfThread(more);
          return own;
        },
        [&](AttentionRun &own, int64_t tile) {
          Rows rows = own.rowsOf(tile);
          own.setHead(rows);
          rows.queries = asMatrix(attentionLayout(q, rows.count, rowDim),
                                  q.as<T>() + own.offsetIn(q, rows),
                                  own.scores + tileRows * scoreStep);
          rows.digits = own.digitsOf(rows);
          rows.state = begin(rows.b, rows.h, rows.first, rows.count,
                             own.scores + scratchOfThread(0));
          if (own.looksAtMask())
            rows.shownEnd =
                own.shown.endFor({rows.b, rows.h, rows.first, rows.count},
                                 tile % own.tilesOfHead());
          SHARDC_RETURN_IF_ERROR(own.seeAll(rows));
          end(rows.b, rows.h, rows.first, rows.count, rows.state);
          return Status::ok();
        });
  }

private:
  /// Keys of a piece; none where end is not behind begin.
  using Keys = Span;
  struct Rows {
    int64_t b, h, first, count;
    int64_t place;    ///< of the first query, behind all keys that precede it
    int64_t shownEnd; ///< of keys that the mask shows to some query
    Matrix<Acc> queries;
    DigitRows digits; ///< of queries that are multiplied as such
    TileState<Acc> state;
  };

  /// Of queries, or of those that share a key where these are the rows.
  int64_t heads() const { return rowDim == 1 ? k.dims[1] : q.dims[1]; }
  int64_t rowsOfPiece(int piece) const {
    return queries.size(piece) * (rowDim == 1 ? group : 1);
  }
  int64_t tilesOfPiece(int piece) const {
    return (rowsOfPiece(piece) + kQueryTile - 1) / kQueryTile;
  }
  int64_t tilesOfHead() const {
    int64_t tiles = 0;
    for (int piece = 0; piece < queries.count(); ++piece)
      tiles += tilesOfPiece(piece);
    return tiles;
  }

  /// Each key is an element that is read, and so is what eight queries make of it.
  int64_t threads() const {
    if (isPart)
      return 1;
    const int64_t keys = k.dims[2] * (q.dims[3] + v.dims[3]) * q.dims[0];
    return threadsFor(tilesOfHead() * heads() * q.dims[0],
                      keys * (k.dims[1] + q.dims[1] * q.dims[2] / 8));
  }
  /// Behind scores and queries.
  int64_t startOfHead() const {
    return startOfDigits() +
           (inDigits()
                ? DigitRows::bytes(tileRows, k.dims[3]) / int64_t(sizeof(float))
                : 0);
  }
  int64_t startOfDigits() const {
    return tileRows * scoreStep + packedSize<T>(layoutQ);
  }
  int64_t scratchOfThread(int64_t more) const {
    return startOfHead() + operands.scratchElements() + more;
  }

  /// Tile number `tile` of all, heads being outside of the tiles of a head.
  Rows rowsOf(int64_t tile) const {
    const int64_t ofHead = tilesOfHead(), head = tile / ofHead % heads();
    Rows rows{tile / ofHead / heads(),
              head * (rowDim == 1 ? group : 1),
              0,
              0,
              0,
              std::numeric_limits<int64_t>::max(),
              {},
              {},
              {}};
    int64_t at = tile % ofHead;
    int piece = 0;
    for (; at >= tilesOfPiece(piece); ++piece) {
      at -= tilesOfPiece(piece);
      rows.first += rowsOfPiece(piece);
    }
    const int64_t row = at * kQueryTile;
    rows.first += row;
    rows.count = std::min(kQueryTile, rowsOfPiece(piece) - row);
    rows.place = queries.place(piece) + causalOffset + (rowDim == 1 ? 0 : row);
    return rows;
  }

  /// What was packed of a head serves all of its tiles.
  void setHead(const Rows &rows) {
    const int64_t head = rows.b * k.dims[1] + rows.h / group;
    if (std::exchange(headAtHand, head) == head)
      return;
    const int64_t kv = rows.h / group;
    shown.forgetHead();
    operands.setHead(
        k.as<KeyNumber>() + rows.b * k.strides[0] + kv * k.strides[1],
        v.as<KeyNumber>() + rows.b * v.strides[0] + kv * v.strides[1],
        scores + startOfHead());
  }

  int64_t offsetIn(const TensorView &view, const Rows &rows) const {
    return rows.b * view.strides[0] + rows.h * view.strides[1] +
           rows.first * view.strides[rowDim];
  }

  Status seeAll(const Rows &rows) {
    const bool isInPlace = readsInPlace();
    KeyTile tile(keysOfTile());
    for (int64_t piece = 0; piece < keys.count(); ++piece) {
      // What some query of the tile sees.
      const int64_t first = seenBy(rows, 0, piece).begin;
      const int64_t multiple = isInOrder ? kKeyTile : operands.alignment();
      const Keys seen = {first / multiple * multiple,
                         seenBy(rows, rows.count - 1, piece).end};
      if (seen.begin >= seen.end)
        continue;
      if (!isInPlace)
        setPiece(piece, rows.h / group);
      for (int64_t at = seen.begin; at < seen.end; at += keyTile) {
        const int64_t end = std::min(at + keyTile, seen.end);
        if (at >= std::min(end, rows.shownEnd))
          continue;
        tile.add({piece, at, std::min(end, rows.shownEnd)});
        if (isInPlace && tile.hasRoom(keyTile))
          continue;
        SHARDC_RETURN_IF_ERROR(
            see(rows, tile, nextKeys(piece, end, end == seen.end)));
        tile.clear();
      }
    }
    return tile.isEmpty() ? Status::ok() : see(rows, tile, {});
  }

  /// What is packed, or becomes numbers, is of one piece.
  void setPiece(int64_t piece, int64_t head) {
    if constexpr (requires { keys.load(piece, head); })
      if (keys.load(piece, head))
        operands.forget();
    operands.setPiece(keys.at(piece));
  }

  /// Whether few queries read keys and values where they lie, in numbers or as
  /// they are stored.
  bool readsInPlace() const {
    if constexpr (kAreStored)
      return operands.readsAsTheyLie() && keys.areDense();
    else if constexpr (kIsFloat)
      return operands.readsAsTheyLie();
    return false;
  }
  bool inDigits() const {
    if constexpr (kAreStored)
      return readsInPlace() && hasDigitRows() &&
             keys.storedElement() == artifact::ElementType_Int8 &&
             haveDigits(k.dims[3], v.dims[3]);
    return false;
  }
  DigitRows digitsOf(const Rows &rows) const {
    if constexpr (kIsFloat)
      if (inDigits())
        return DigitRows::of(
            rows.queries.data, rows.queries.leading, rows.count, k.dims[3],
            reinterpret_cast<std::byte *>(scores + startOfDigits()));
    return {};
  }
  /// Those in place may be of several pages.
  int64_t keysOfTile() const {
    return readsInPlace() && !std::is_same_v<AllKeys, KeysInOrder> ? kKeyTile
                                                                   : keyTile;
  }
  StoredRows storedKeys(int64_t piece, int64_t begin) const {
    if constexpr (kAreStored)
      return keys.storedKeys(piece).from(begin);
    else
      return operands.storedKeys(keys.at(piece), begin);
  }
  StoredRows storedValues(int64_t piece, int64_t begin) const {
    if constexpr (kAreStored)
      return keys.storedValues(piece).from(begin);
    else
      return operands.storedValues(keys.at(piece), begin);
  }

  /// Keys behind the first `end` of a piece, where few queries read them.
  NextRows nextKeys(int64_t piece, int64_t end, bool isLast) const {
    if constexpr (kIsFloat)
      if (readsInPlace() && !(isLast && piece + 1 >= keys.count()))
        return storedKeys(isLast ? piece + 1 : piece, isLast ? 0 : end)
            .next(k.dims[3]);
    return {};
  }

  /// Sums in a fixed order stay whole, and causal calls leave out keys anyway.
  bool looksAtMask() const {
    return mask && !isCausal && !isInOrder && keys.count() == 1 &&
           std::is_same_v<AllKeys, KeysInOrder>;
  }

  /// Keys of a piece that the query of a row sees, but for the mask.
  Keys seenBy(const Rows &rows, int64_t row, int64_t piece) const {
    const int64_t size = keys.size(piece);
    if (!isCausal)
      return {0, size};
    const int64_t end = rows.place + (rowDim == 1 ? 0 : row) + 1;
    const int64_t begin = window > 0 ? end - window : 0;
    return {std::clamp<int64_t>(begin - keys.place(piece), 0, size),
            std::clamp<int64_t>(end - keys.place(piece), 0, size)};
  }

  /// Adds keys of a tile; `next` are those that are read behind it.
  Status see(const Rows &rows, const KeyTile &tile, const NextRows &next) {
    SHARDC_RETURN_IF_ERROR(score(rows, tile));
    for (int64_t i = 0; i < rows.count; ++i) {
      const Span seen = adjustScores(rows, i, tile);
      Acc *row = scores + i * scoreStep;
      std::fill(row, row + seen.begin, Acc(0));
      std::fill(row + seen.end, row + tile.count(), Acc(0));
      weigh(rows.state.row(i), row + seen.begin, seen.end - seen.begin);
    }
    return addValues(rows, tile, next);
  }

  /// Of one part, in the tile of its scores.
  ScoreTile<Acc> scoresOf(const Rows &rows, const KeyPart &part) const {
    return {scores + part.column, scoreStep, rows.count, part.begin,
            part.count()};
  }

  Status score(const Rows &rows, const KeyTile &tile) {
    const std::span parts = tile.parts();
    if constexpr (kIsFloat)
      if (readsInPlace()) {
        for (size_t p = 0; p < parts.size(); ++p) {
          const KeyPart &part = parts[p];
          const NextRows next =
              p + 1 < parts.size()
                  ? storedKeys(parts[p + 1].piece, parts[p + 1].begin)
                        .next(k.dims[3])
                  : storedValues(parts[0].piece, parts[0].begin)
                        .next(v.dims[3]);
          scoreRows(rows.queries, rows.digits, scale, k.dims[3],
                    storedKeys(part.piece, part.begin), next,
                    scoresOf(rows, part));
        }
        return Status::ok();
      }
    return operands.score(rows.queries, scale, scoresOf(rows, parts[0]));
  }

  Status addValues(const Rows &rows, const KeyTile &tile,
                   const NextRows &next) {
    const TileState<Acc> &to = rows.state;
    const std::span parts = tile.parts();
    if constexpr (kIsFloat)
      if (readsInPlace()) {
        for (size_t p = 0; p < parts.size(); ++p)
          addRows(scoresOf(rows, parts[p]), v.dims[3],
                  storedValues(parts[p].piece, parts[p].begin),
                  p + 1 < parts.size()
                      ? storedValues(parts[p + 1].piece, parts[p + 1].begin)
                            .next(v.dims[3])
                      : next,
                  rows.digits.digits, to.values, to.valueStep);
        return Status::ok();
      }
    return operands.addValues(scoresOf(rows, parts[0]), to.values,
                              to.valueStep);
  }

  /// By what a call does to scores before it weighs them; the columns of what a row
  /// sees, which lie side by side.
  Span adjustScores(const Rows &rows, int64_t i, const KeyTile &tile) const {
    Span all = {0, 0};
    for (const KeyPart &part : tile.parts()) {
      const Keys own = seenBy(rows, i, part.piece);
      const int64_t begin = std::clamp(own.begin, part.begin, part.end);
      const int64_t end = std::clamp(own.end, begin, part.end);
      if (begin == end)
        continue;
      const int64_t column = part.column + begin - part.begin;
      const int64_t count = end - begin;
      if (all.begin == all.end)
        all.begin = column;
      all.end = column + count;
      Acc *row = scores + i * scoreStep + column;
      if (softcap > 0)
        for (int64_t j = 0; j < count; ++j)
          row[j] = softcap * hyperbolicTangent(row[j] / softcap);
      if (mask)
        addMask(row, count,
                offsetIn(*mask, rows) + i * mask->strides[rowDim] +
                    (keys.place(part.piece) + begin) * mask->strides[3]);
    }
    return all;
  }

  /// Makes weights of scores, relative to the largest score of the row.
  void weigh(const RowState<Acc> &state, Acc *scores, int64_t count) const {
    Acc maximum = operands.maximum(scores, count);
    if (state.stats[0] > maximum || state.stats[0] != state.stats[0])
      maximum = state.stats[0];
    if (isInOrder) // keys that nothing is seen of, and none, are the same
      while (count % kPanelColumns != 0)
        scores[count++] = -kInfinity;
    if (maximum == -kInfinity) {
      std::fill(scores, scores + count, Acc(0));
      return;
    }
    const Acc factor = state.factorFor(maximum);
    state.stats[0] = maximum;
    if (factor != 1)
      for (int64_t j = 0; j < v.dims[3]; ++j)
        state.values[j] *= factor;
    state.stats[1] =
        state.stats[1] * factor + operands.exponentials(scores, count, maximum);
  }

  /// Adds the mask to a row of scores; what it hides is hidden, whatever its
  /// score. A narrow type's scores are of that type, as its mask is.
  void addMask(Acc *row, int64_t count, int64_t at) const {
    const int64_t stride = mask->strides[3];
    if constexpr (std::is_same_v<Acc, float>)
      if (stride == 1 && mask->element == elementTypeOf<T>())
        return loops().addToRow.of(mask->element)(
            row, reinterpret_cast<const std::byte *>(mask->as<T>() + at),
            count);
    if (mask->element == artifact::ElementType_Bool) {
      if constexpr (std::is_same_v<Acc, float>)
        if (stride == 1)
          return loops().hideOfRow(row, mask->as<uint8_t>() + at, count);
      const Boolean *shown = mask->as<Boolean>() + at;
      for (int64_t j = 0; j < count; ++j)
        row[j] = shown[j * stride] ? row[j] : -kInfinity;
      return;
    }
    const T *bias = mask->as<T>() + at;
    for (int64_t j = 0; j < count; ++j) {
      const Acc value = Acc(bias[j * stride]);
      row[j] = value == -kInfinity ? value : Acc(T(Acc(T(row[j])) + value));
    }
  }

  static constexpr Acc kInfinity = std::numeric_limits<Acc>::infinity();

  const TensorView &q, &k, &v;
  const TensorView *mask;
  const int64_t group; ///< query heads of a KV head
  const Pieces queries;
  AllKeys keys;
  const int rowDim;
  const int64_t keyTile, tileRows;
  const bool isInOrder; ///< tiles of keys begin where they do for any rows
  AttentionOperands<KeyNumber> operands;
  const int64_t scoreStep; ///< from row to row of the scores
  Acc scale, softcap;
  bool isCausal;
  const int64_t causalOffset;
  const bool isPart;
  int64_t window;
  MatrixLayout layoutQ;
  Acc *scores = nullptr; ///< of a thread; packed queries and a head behind them
  int64_t headAtHand = -1;
  ShownKeys<T> shown; ///< where looksAtMask()
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONRUN_H
