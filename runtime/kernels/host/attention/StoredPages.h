//===- StoredPages.h - Keys and values as pages store them ----------------===//
//
// Attention reads pages of its own type where they lie. Of 8 bits with scales,
// those of a page and head become numbers when it comes to them, in scratch, but
// where there are few queries (FewQueries.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_STOREDPAGES_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_STOREDPAGES_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/attention/PagedRows.h"
#include "runtime/kernels/product/IntegerReader.h"

namespace shardc::runtime::host {

/// Of a key head some of the places of a call's pages, or all.
struct PoolViews {
  /// Places [begin, begin + count) of those that are here.
  PoolViews(const KernelCall &call, int64_t head, int64_t begin,
            int64_t count) {
    for (const auto &[view, input] :
         {std::pair(&keys, kKeys), std::pair(&values, kValues),
          std::pair(&keyScales, kKeyScales),
          std::pair(&valueScales, kValueScales)})
      if (hasInput(call, input))
        *view = rowsOf(rowsOf(call.inputs[input], 1, head, 1), 2, begin, count);
  }
  static PoolViews all(const KernelCall &call, int64_t head) {
    return {call, head, 0, call.inputs[kKeys].dims[2]};
  }

  TensorView keys, values, keyScales, valueScales; ///< scales may be absent
};

/// Read as they lie.
class PlainPages {
public:
  explicit PlainPages(const PoolViews &pool)
      : keys(pool.keys), values(pool.values) {}

  int64_t scratchBytes() const { return 0; }
  KeysInPages of(const KeysInPages &row) const { return row; }

  const TensorView keys, values; ///< as attention reads them
};

/// Of 8 bits: numbers of one page and head at a time, not rounded to the queries'
/// type once more.
template <typename T> class RoundedPages {
public:
  RoundedPages(const PoolViews &pool, std::byte *scratch)
      : pool(pool), keys(numbers(pool.keys, scratch)),
        values(numbers(pool.values, scratch + bytesOf(pool.keys))) {}

  int64_t scratchBytes() const {
    return bytesOf(pool.keys) + bytesOf(pool.values);
  }

  /// The keys of a row.
  class Row {
  public:
    using Number = T;

    Row(const RoundedPages &all, const KeysInPages &row) : all(all), row(row) {}

    int64_t count() const { return row.count(); }
    int64_t place(int64_t piece) const { return row.place(piece); }
    int64_t size(int64_t piece) const { return row.size(piece); }
    KeyPiece at(int64_t piece) const { return {0, 0, size(piece)}; }
    /// False where it is there already.
    bool load(int64_t piece, int64_t head) {
      if (loadedPiece == piece && loadedHead == head)
        return false;
      loadedPiece = piece;
      loadedHead = head;
      const int64_t page = row.page(piece), count = row.size(piece);
      all.load(all.pool.keys, all.pool.keyScales, page, head, count, all.keys);
      all.load(all.pool.values, all.pool.valueScales, page, head, count,
               all.values);
      return true;
    }

    /// As pages have them, of the head that the pool is of.
    StoredRows storedKeys(int64_t piece) const {
      return rowsOf(all.pool.keys, all.pool.keyScales, row.page(piece));
    }
    StoredRows storedValues(int64_t piece) const {
      return rowsOf(all.pool.values, all.pool.valueScales, row.page(piece));
    }
    artifact::ElementType storedElement() const {
      return all.pool.keys.element;
    }
    bool areDense() const {
      return all.pool.keys.strides[3] == 1 && all.pool.values.strides[3] == 1;
    }

  private:
    const RoundedPages &all;
    const KeysInPages row;
    int64_t loadedPiece = -1, loadedHead = -1;

    static StoredRows rowsOf(const TensorView &stored, const TensorView &scales,
                             int64_t page) {
      return {stored.data + page * stored.strides[0], stored.strides[2],
              stored.element, scales.as<float>() + page * scales.strides[0],
              scales.strides[2]};
    }
  };
  Row of(const KeysInPages &row) const { return {*this, row}; }

private:
  static int64_t bytesOf(const TensorView &stored) {
    return alignBuffer(stored.dims[2] * stored.dims[3] *
                       static_cast<int64_t>(sizeof(T)));
  }
  /// A page of one head, whichever that is.
  static TensorView numbers(TensorView stored, std::byte *scratch) {
    stored.data = scratch;
    stored.element = elementTypeOf<T>();
    stored.strides[0] = stored.strides[1] = 0;
    stored.strides[2] = stored.dims[3];
    stored.strides[3] = 1;
    return stored;
  }

  static void load(const TensorView &stored, const TensorView &scales,
                   int64_t page, int64_t head, int64_t count,
                   const TensorView &to) {
    const int64_t first = page * stored.strides[0] + head * stored.strides[1];
    const float *scale = scales.as<float>() + page * scales.strides[0] +
                         head * scales.strides[1];
    const int64_t columns = stored.dims[3];
    if constexpr (std::is_same_v<T, float>)
      if (stored.strides[3] == 1 || columns <= 1) {
        ScaledRows rows;
        rows.rows = count;
        rows.columns = columns;
        rows.from = stored.data + first;
        rows.rowStep = stored.strides[2];
        rows.scales = scale;
        rows.scaleStep = scales.strides[2];
        rows.to = to.as<float>();
        (stored.element == artifact::ElementType_Int8
             ? loops().scaleInt8
             : loops().scaleFloat8E4M3)(rows);
        return;
      }
    // The types were checked: no call fails here.
    (void)dispatchQuantized(stored.element, "", [&](auto tag) {
      const typename decltype(tag)::Type read(stored);
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < columns; ++j)
          to.as<T>()[i * columns + j] = T(
              float(
                  read[first + i * stored.strides[2] + j * stored.strides[3]]) *
              scale[i * scales.strides[2]]);
      return Status::ok();
    });
  }
  const PoolViews pool;

public:
  const TensorView keys, values; ///< as attention reads them
};

/// Calls body with the pages of a call for queries of type T, and with what is
/// left of the scratch.
template <typename T, typename Body>
auto withPages(const KernelCall &call, const PoolViews &pool,
               std::byte *scratch, Body &&body) {
  if (hasInput(call, kKeyScales)) {
    const RoundedPages<Accumulator<T>> pages(pool, scratch);
    return body(pages, scratch + pages.scratchBytes());
  }
  return body(PlainPages(pool), scratch);
}

/// Attention of a tile's queries to the keys of its row.
template <typename T, typename Pages>
auto attentionOf(const KernelCall &call, const Pages &pages,
                 const TileViews &views, const KeysInPages &keys,
                 int64_t past) {
  auto ofRow = pages.of(keys);
  return AttentionRun<T, decltype(ofRow)>(
      call,
      {views.q, pages.keys, pages.values,
       views.hasMask ? &views.mask : nullptr},
      ofRow, past, /*isPart=*/true);
}

/// The most that bytes(views) says of any tile of a call: queries of one are
/// rows by themselves, or the heads that share a key are; few read keys in place.
template <typename Bytes>
int64_t mostOfTiles(const KernelCall &call, Bytes bytes) {
  // Asked at each call: of one query, as where texts decode, once.
  const int64_t queries = call.inputs[kQuery].dims[2];
  int64_t most = 0;
  for (int64_t count : {int64_t(1), kFewQueries, kQueryTile}) {
    most = std::max(
        most, bytes(TileViews(call, {0, 0, 0, std::min(count, queries), 0})));
    if (queries <= count)
      break;
  }
  return alignBuffer(most);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_STOREDPAGES_H
