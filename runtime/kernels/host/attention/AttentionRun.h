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

/// What attention reads; `mask` is null where there is none.
struct AttentionInputs {
  const TensorView &q, &k, &v;
  const TensorView *mask;

  static AttentionInputs of(const KernelCall &call) {
    return {call.inputs[0], call.inputs[1], call.inputs[2],
            hasInput(call, 3) ? &call.inputs[3] : nullptr};
  }
};

/// Pieces of keys, one behind the other in k and in v.
class KeysInOrder {
public:
  explicit KeysInOrder(const KernelCall &call)
      : pieces(call, "key_pieces", call.inputs[1].dims[2]),
        stepK(call.inputs[1].strides[2]), stepV(call.inputs[2].strides[2]) {}

  int64_t count() const { return pieces.count(); }
  int64_t place(int64_t piece) const { return pieces.place(int(piece)); }
  int64_t size(int64_t piece) const { return pieces.size(int(piece)); }
  KeyPiece at(int64_t piece) const {
    int64_t first = 0;
    for (int64_t i = 0; i < piece; ++i)
      first += size(i);
    return {first * stepK, first * stepV, size(piece)};
  }

private:
  const Pieces pieces;
  const int64_t stepK, stepV;
};

/// What keys and values are read as, by queries of type T.
template <typename T, typename AllKeys> struct KeyNumberOf {
  using Type = T;
};
template <typename T, typename AllKeys>
  requires requires { typename AllKeys::Number; }
struct KeyNumberOf<T, AllKeys> {
  using Type = typename AllKeys::Number;
};

/// Adds keys and values to the states of all rows. `k` and `v` have the dims of
/// the largest piece, or of all.
template <typename T, typename AllKeys = KeysInOrder> class AttentionRun {
  using Acc = Accumulator<T>;
  using KeyNumber = typename KeyNumberOf<T, AllKeys>::Type;
  static constexpr bool kMayReadStored =
      std::is_same_v<Acc, float> &&
      requires(const AllKeys &keys) { keys.storedKeys(0); };

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
        scoreStep(keyTile + (isInOrder ? kPanelColumns : 0)),
        operands(q, k, v, tileRows, keyTile, AttentionOrder::of(call)),
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
  /// Keys [begin, end) of a piece; none where end is not behind begin.
  struct Keys {
    int64_t begin, end;
  };
  struct Rows {
    int64_t b, h, first, count;
    int64_t place;    ///< of the first query, behind all keys that precede it
    int64_t shownEnd; ///< of keys that the mask shows to some query
    Matrix<Acc> queries;
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
  int64_t scratchOfThread(int64_t more) const {
    return tileRows * scoreStep + packedSize<T>(layoutQ) +
           operands.scratchElements() + more;
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
        scores + tileRows * scoreStep + packedSize<T>(layoutQ));
  }

  int64_t offsetIn(const TensorView &view, const Rows &rows) const {
    return rows.b * view.strides[0] + rows.h * view.strides[1] +
           rows.first * view.strides[rowDim];
  }

  Status seeAll(const Rows &rows) {
    for (int64_t piece = 0; piece < keys.count(); ++piece) {
      // What some query of the tile sees.
      const int64_t first = seenBy(rows, 0, piece).begin;
      const int64_t multiple = isInOrder ? kKeyTile : operands.alignment();
      const Keys seen = {first / multiple * multiple,
                         seenBy(rows, rows.count - 1, piece).end};
      if (seen.begin >= seen.end)
        continue;
      if constexpr (requires { keys.load(piece, rows.h); })
        if (!readsStored() && keys.load(piece, rows.h / group))
          operands.forget();
      operands.setPiece(keys.at(piece));
      for (int64_t at = seen.begin; at < seen.end; at += keyTile) {
        const int64_t end = std::min(at + keyTile, seen.end);
        if (at < std::min(end, rows.shownEnd))
          SHARDC_RETURN_IF_ERROR(see(rows, piece,
                                     {at, std::min(end, rows.shownEnd)},
                                     nextKeys(piece, end, end == seen.end)));
      }
    }
    return Status::ok();
  }

  /// Whether few queries read keys and values of 8 bits as they are stored.
  bool readsStored() const {
    if constexpr (kMayReadStored)
      return operands.readsAsTheyLie() && keys.areDense();
    return false;
  }

  /// Keys behind the first `end` of a piece, where few queries read them.
  NextRows nextKeys(int64_t piece, int64_t end, bool isLast) const {
    if constexpr (std::is_same_v<Acc, float>) {
      if (!operands.readsAsTheyLie() || (isLast && piece + 1 >= keys.count()))
        return {};
      const int64_t next = isLast ? piece + 1 : piece, begin = isLast ? 0 : end;
      if constexpr (kMayReadStored)
        return keys.storedKeys(next).from(begin).next(k.dims[3]);
      else
        return operands.storedKeys(keys.at(next), begin).next(k.dims[3]);
    }
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

  /// Adds keys [seen.begin, seen.end) of the piece at hand.
  Status see(const Rows &rows, int64_t piece, Keys seen, const NextRows &next) {
    const int64_t count = seen.end - seen.begin, columns = v.dims[3];
    const ScoreTile<Acc> tile = {scores, scoreStep, rows.count, seen.begin,
                                 count};
    SHARDC_RETURN_IF_ERROR(score(rows, piece, tile));
    for (int64_t i = 0; i < rows.count; ++i) {
      const Keys own = seenBy(rows, i, piece);
      const int64_t begin = std::clamp(own.begin, seen.begin, seen.end);
      const int64_t end = std::clamp(own.end, begin, seen.end);
      Acc *row = scores + i * scoreStep, *from = row + (begin - seen.begin);
      std::fill(row, from, Acc(0));
      std::fill(from + (end - begin), row + count, Acc(0));
      const int64_t maskAt =
          mask ? offsetIn(*mask, rows) + i * mask->strides[rowDim] +
                     (keys.place(piece) + begin) * mask->strides[3]
               : 0;
      weigh(rows.state.row(i), from, end - begin, maskAt, columns);
    }
    return addValues(rows, piece, tile, next);
  }

  Status score(const Rows &rows, int64_t piece, const ScoreTile<Acc> &tile) {
    if constexpr (kMayReadStored)
      if (readsStored()) {
        scoreRows(rows.queries, scale, k.dims[3],
                  keys.storedKeys(piece).from(tile.begin),
                  keys.storedValues(piece).from(tile.begin).next(v.dims[3]),
                  tile);
        return Status::ok();
      }
    return operands.score(rows.queries, scale, tile);
  }

  Status addValues(const Rows &rows, int64_t piece, const ScoreTile<Acc> &tile,
                   const NextRows &next) {
    const TileState<Acc> &to = rows.state;
    if constexpr (kMayReadStored)
      if (readsStored()) {
        addRows(tile, v.dims[3], keys.storedValues(piece).from(tile.begin),
                next, to.values, to.valueStep);
        return Status::ok();
      }
    return operands.addValues(tile, to.values, to.valueStep, next);
  }

  /// Makes weights of scores, relative to the largest score of the row.
  void weigh(const RowState<Acc> &state, Acc *scores, int64_t count,
             int64_t maskAt, int64_t columns) const {
    if (softcap > 0)
      for (int64_t j = 0; j < count; ++j)
        scores[j] = softcap * hyperbolicTangent(scores[j] / softcap);
    if (mask)
      addMask(scores, count, maskAt);
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
      for (int64_t j = 0; j < columns; ++j)
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
  const bool isInOrder;    ///< tiles of keys begin where they do for any rows
  const int64_t scoreStep; ///< from row to row of the scores
  AttentionOperands<KeyNumber> operands;
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
