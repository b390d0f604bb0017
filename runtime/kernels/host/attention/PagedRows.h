//===- PagedRows.h - Rows of a step, and their keys in pages --------------===//
//
// What PagedAttention and PagedAttentionParts see of a call: the keys of a row
// are a piece a page, of the places that are here. A tile of a row's queries and
// a key head make a part of the work, whatever else is in the step.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_PAGEDROWS_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_PAGEDROWS_H

#include "runtime/kernels/attention/PagedChecks.h"
#include "runtime/kernels/host/attention/AttentionRun.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {

/// The keys of one row.
class KeysInPages {
public:
  KeysInPages(const KernelCall &call, const PagePlaces &places, int64_t row,
              int64_t keys)
      : pages(call.inputs[kPages]), read(pages), first(row * pages.strides[0]),
        keys(keys), places(places), stepK(call.inputs[kKeys].strides[0]),
        stepV(call.inputs[kValues].strides[0]) {}

  int64_t all() const { return keys; }
  int64_t count() const {
    return keys == 0 ? 0 : (keys + places.all - 1) / places.all;
  }
  int64_t place(int64_t piece) const {
    return piece * places.all + places.first;
  }
  int64_t size(int64_t piece) const {
    return std::clamp<int64_t>(keys - place(piece), 0, places.here);
  }
  int64_t page(int64_t piece) const {
    return read[first + piece * pages.strides[1]];
  }
  KeyPiece at(int64_t piece) const {
    return {page(piece) * stepK, page(piece) * stepV, size(piece)};
  }

  /// All keys have places in pages that are there.
  Status check(const char *name, int64_t numPages) const {
    if (keys > pages.dims[1] * places.all)
      return failure(name, "a row has " + std::to_string(keys) +
                               " keys: expected at most " +
                               std::to_string(pages.dims[1] * places.all));
    for (int64_t piece = 0; piece < count(); ++piece)
      if (page(piece) < 0 || page(piece) >= numPages)
        return failure(name, outsideText(page(piece), numPages));
    return Status::ok();
  }

private:
  const TensorView &pages;
  const IndexReader read;
  const int64_t first, keys;
  const PagePlaces places;
  const int64_t stepK, stepV;
};

/// Elements [begin, begin + count) of a dim.
inline TensorView rowsOf(TensorView view, int dim, int64_t begin,
                         int64_t count) {
  if (view.data)
    view.data +=
        artifact::elementBytes(view.element) * begin * view.strides[dim];
  view.dims[dim] = count;
  return view;
}

/// Queries [begin, begin + count) of all, of a row, that see one key head.
struct PagedTile {
  int64_t row, head, begin, count;
  int64_t past; ///< keys before the first of them
};

/// What a tile reads and writes of all.
struct TileViews {
  TileViews(const KernelCall &call, const PagedTile &tile)
      : group(call.inputs[kQuery].dims[1] /
              std::max<int64_t>(call.inputs[kKeys].dims[1], 1)),
        q(partOf(call.inputs[kQuery], tile)), y(partOf(call.outputs[0], tile)) {
    if (hasInput(call, kPagedSinks))
      sinks = rowsOf(call.inputs[kPagedSinks], 0, tile.head * group, group);
    if (!hasInput(call, kPagedMask))
      return;
    hasMask = true;
    mask = call.inputs[kPagedMask];
    if (mask.dims[0] != 1)
      mask = rowsOf(mask, 0, tile.row, 1);
    if (mask.dims[1] != 1)
      mask = rowsOf(mask, 1, tile.head * group, group);
    if (mask.dims[2] != 1)
      mask = rowsOf(mask, 2, tile.begin, tile.count);
    for (int d : {1, 2})
      if (mask.dims[d] == 1) {
        mask.dims[d] = q.dims[d];
        mask.strides[d] = 0;
      }
  }

  const int64_t group; ///< query heads of a key head
  TensorView q, y, mask, sinks;
  bool hasMask = false;

private:
  TensorView partOf(const TensorView &view, const PagedTile &tile) const {
    return rowsOf(rowsOf(view, 1, tile.head * group, group), 2, tile.begin,
                  tile.count);
  }
};

/// The rows of a step: row i has queries first[i] to first[i + 1].
class PagedRows {
public:
  PagedRows(const KernelCall &call, const char *name, const PagePlaces &places)
      : call(call), name(name), places(places), past(call.inputs[kPast]),
        first(call.inputs[kFirst]), readPast(past), readFirst(first) {}

  /// Rows are there one after the other, and have keys that are there.
  Status check() const {
    int64_t end = 0;
    const int64_t queries = call.inputs[kQuery].dims[2];
    const int64_t most = call.inputs[kPages].dims[1] * places.all;
    // What counts from nowhere may have more queries than keys.
    const bool isCausal = call.intOr("is_causal", 0) != 0;
    if (firstOf(0) < 0 || firstOf(0) > queries)
      return failure(name, "the first row has queries from " +
                               std::to_string(firstOf(0)) + " of " +
                               std::to_string(queries));
    for (int64_t row = 0; row < past.dims[0]; ++row) {
      if (firstOf(row) < end || firstOf(row + 1) < firstOf(row) ||
          firstOf(row + 1) > queries || pastOf(row) > most ||
          (isCausal ? pastOf(row) : keysOf(row).all()) < 0)
        return failure(name, "row " + std::to_string(row) + " has queries " +
                                 std::to_string(firstOf(row)) + " to " +
                                 std::to_string(firstOf(row + 1)) + " of " +
                                 std::to_string(queries) + ", and " +
                                 std::to_string(pastOf(row)) + " keys before");
      end = firstOf(row + 1);
      SHARDC_RETURN_IF_ERROR(
          keysOf(row).check(name, call.inputs[kKeys].dims[0]));
    }
    return Status::ok();
  }

  /// Calls see(tile, keys of its row, thread) for each tile on the threads of
  /// the rank, and skip(begin, count) for queries of no row, before and behind
  /// all others.
  template <typename See, typename Skip>
  Status forEach(See see, Skip skip) const {
    const int64_t rows = past.dims[0], queries = call.inputs[kQuery].dims[2];
    if (firstOf(0) > 0)
      skip(int64_t(0), firstOf(0));
    if (const int64_t end = firstOf(rows); end < queries)
      skip(end, queries - end);
    const int64_t heads = call.inputs[kKeys].dims[1];
    // One by one: a prompt's tiles, which follow each other, take longer than
    // those of rows with a token each.
    return shareOut(
        heads * (placeOf(rows) - placeOf(0)), threads(), /*chunk=*/1,
        [](int64_t thread) { return thread; },
        [&](int64_t thread, int64_t number) {
          const int64_t place = placeOf(0) + number / heads;
          const int64_t row = rowAt(place);
          const int64_t before = (place - placeOf(row)) * kQueryTile;
          const int64_t begin = firstOf(row) + before;
          if (begin >= firstOf(row + 1))
            return Status::ok();
          return see(PagedTile{row, number % heads, begin,
                               std::min(kQueryTile, firstOf(row + 1) - begin),
                               pastOf(row) + before},
                     keysOf(row), thread);
        });
  }

private:
  /// Where the tiles of a row begin among places for those of all: a row has as
  /// many places as tiles, or one more that is empty.
  ///
  ///   rows of 150, 1 and 49 queries, tiles of 96: places 0, 2, 3, end 5
  ///   the same behind 100 queries of no row: 1, 3, 4, end 6
  int64_t placeOf(int64_t row) const { return row + firstOf(row) / kQueryTile; }
  /// The last row that begins there or before.
  int64_t rowAt(int64_t place) const {
    int64_t first = 0, end = past.dims[0];
    while (end - first > 1) {
      const int64_t middle = first + (end - first) / 2;
      (placeOf(middle) <= place ? first : end) = middle;
    }
    return first;
  }

  /// Each key is an element that is read, and so is what eight queries make of it.
  int64_t threads() const {
    const TensorView &q = call.inputs[kQuery], &k = call.inputs[kKeys];
    int64_t tiles = 0, elements = 0;
    for (int64_t row = 0; row < past.dims[0]; ++row) {
      const int64_t count = firstOf(row + 1) - firstOf(row);
      tiles += (count + kQueryTile - 1) / kQueryTile * k.dims[1];
      if (count > 0)
        elements += (pastOf(row) + count) * (k.dims[1] + q.dims[1] * count / 8);
    }
    return threadsFor(tiles,
                      elements * (k.dims[3] + call.inputs[kValues].dims[3]));
  }
  int64_t pastOf(int64_t row) const { return readPast[row * past.strides[0]]; }
  int64_t firstOf(int64_t row) const {
    return readFirst[row * first.strides[0]];
  }
  KeysInPages keysOf(int64_t row) const {
    return KeysInPages(call, places, row,
                       pastOf(row) + firstOf(row + 1) - firstOf(row));
  }

  const KernelCall &call;
  const char *const name;
  const PagePlaces places;
  const TensorView &past, &first;
  const IndexReader readPast, readFirst;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_PAGEDROWS_H
