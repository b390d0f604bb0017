//===- PagedAttention.cpp - Attention of rows to keys in pages ------------===//
//
// Q [1, h, t, d], keys [n, kv, c, d], values [n, kv, c, e], pages [r, p],
// past [r], first [r + 1], an optional mask ([1, 1 or h, t, p * c] or
// [r or 1, 1 or h, 1, p * c]) and optional sinks [h] -> Y [1, h, t, e].
// Row i has queries first[i] to first[i + 1] behind past[i] keys; key j is
// place j % c of page pages[i, j / c]. Attributes are those of Attention, and
// so is what a row computes: no other row has a part in it.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/attention/PagedChecks.h"
#include "runtime/kernels/host/attention/WholeAttention.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "PagedAttention";

/// The keys of one row: a piece a page.
class KeysInPages {
public:
  KeysInPages(const KernelCall &call, int64_t row, int64_t keys)
      : pages(call.inputs[kPages]), read(pages), first(row * pages.strides[0]),
        keys(keys), ofPage(call.inputs[kKeys].dims[2]),
        stepK(call.inputs[kKeys].strides[0]),
        stepV(call.inputs[kValues].strides[0]) {}

  int64_t count() const { return keys == 0 ? 0 : (keys + ofPage - 1) / ofPage; }
  int64_t place(int64_t piece) const { return piece * ofPage; }
  int64_t size(int64_t piece) const {
    return std::min(ofPage, keys - piece * ofPage);
  }
  KeyPiece at(int64_t piece) const {
    const int64_t page = read[first + piece * pages.strides[1]];
    return {page * stepK, page * stepV, size(piece)};
  }

  /// All keys have places in pages that are there.
  Status check(int64_t numPages) const {
    if (keys > pages.dims[1] * ofPage)
      return failure(kName, "a row has " + std::to_string(keys) +
                                " keys: expected at most " +
                                std::to_string(pages.dims[1] * ofPage));
    for (int64_t piece = 0; piece < count(); ++piece) {
      const int64_t page = read[first + piece * pages.strides[1]];
      if (page < 0 || page >= numPages)
        return indexFailure(kName, page, numPages);
    }
    return Status::ok();
  }

private:
  const TensorView &pages;
  const IndexReader read;
  const int64_t first, keys, ofPage, stepK, stepV;
};

/// What a row reads and writes of all.
struct RowViews {
  RowViews(const KernelCall &call, int64_t row, int64_t begin, int64_t count)
      : q(part(call.inputs[kQuery], 2, begin, count)),
        y(part(call.outputs[0], 2, begin, count)) {
    if (!hasInput(call, kPagedMask))
      return;
    hasMask = true;
    mask = call.inputs[kPagedMask];
    if (mask.dims[0] != 1)
      mask = part(mask, 0, row, 1);
    if (mask.dims[2] != 1)
      mask = part(mask, 2, begin, count);
    for (int d : {1, 2})
      if (mask.dims[d] == 1) {
        mask.dims[d] = q.dims[d];
        mask.strides[d] = 0;
      }
  }

  static TensorView part(TensorView view, int dim, int64_t begin,
                         int64_t count) {
    if (view.data)
      view.data +=
          artifact::elementBytes(view.element) * begin * view.strides[dim];
    view.dims[dim] = count;
    return view;
  }

  TensorView q, y, mask;
  bool hasMask = false;
};

template <typename T> class PagedRow {
public:
  PagedRow(const KernelCall &call, const RowViews &views,
           const KeysInPages &keys, int64_t past)
      : attention(AttentionRun<T, KeysInPages>(
                      call,
                      {views.q, call.inputs[kKeys], call.inputs[kValues],
                       views.hasMask ? &views.mask : nullptr},
                      keys, past),
                  views.y,
                  hasInput(call, kPagedSinks) ? &call.inputs[kPagedSinks]
                                              : nullptr,
                  zeroRowsOf(call)) {}

  WholeAttention<T, KeysInPages> attention;
};

void clear(const TensorView &view) {
  const StridedCopy fill(view);
  fill(view.data, kZeroElement);
}

class PagedRows {
public:
  explicit PagedRows(const KernelCall &call)
      : call(call), past(call.inputs[kPast]), first(call.inputs[kFirst]),
        readPast(past), readFirst(first) {}

  /// Rows are there one after the other, and have keys that are there.
  Status check() const {
    int64_t end = 0;
    const int64_t queries = call.inputs[kQuery].dims[2];
    const int64_t places =
        call.inputs[kPages].dims[1] * call.inputs[kKeys].dims[2];
    if (firstOf(0) < 0 || firstOf(0) > queries)
      return failure(kName, "the first row has queries from " +
                                std::to_string(firstOf(0)) + " of " +
                                std::to_string(queries));
    for (int64_t row = 0; row < past.dims[0]; ++row) {
      if (firstOf(row) < end || firstOf(row + 1) < firstOf(row) ||
          firstOf(row + 1) > queries || pastOf(row) < 0 || pastOf(row) > places)
        return failure(kName, "row " + std::to_string(row) + " has queries " +
                                  std::to_string(firstOf(row)) + " to " +
                                  std::to_string(firstOf(row + 1)) + " of " +
                                  std::to_string(queries) + ", and " +
                                  std::to_string(pastOf(row)) + " keys before");
      end = firstOf(row + 1);
      SHARDC_RETURN_IF_ERROR(keysOf(row).check(call.inputs[kKeys].dims[0]));
    }
    return Status::ok();
  }

  template <typename T> Status run() const {
    clearBetween(0, past.dims[0] == 0 ? 0 : firstOf(0));
    for (int64_t row = 0; row < past.dims[0]; ++row) {
      const int64_t begin = firstOf(row), count = firstOf(row + 1) - begin;
      if (count == 0)
        continue;
      const RowViews views(call, row, begin, count);
      SHARDC_RETURN_IF_ERROR(PagedRow<T>(call, views, keysOf(row), pastOf(row))
                                 .attention.run(call.scratch));
    }
    clearBetween(firstOf(past.dims[0]), call.inputs[kQuery].dims[2]);
    return Status::ok();
  }

private:
  int64_t pastOf(int64_t row) const { return readPast[row * past.strides[0]]; }
  int64_t firstOf(int64_t row) const {
    return readFirst[row * first.strides[0]];
  }
  KeysInPages keysOf(int64_t row) const {
    return KeysInPages(call, row,
                       pastOf(row) + firstOf(row + 1) - firstOf(row));
  }
  /// Queries of no row.
  void clearBetween(int64_t begin, int64_t end) const {
    if (begin < end)
      clear(RowViews::part(call.outputs[0], 2, begin, end - begin));
  }

  const KernelCall &call;
  const TensorView &past, &first;
  const IndexReader readPast, readFirst;
};

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttention(call));
  const PagedRows rows(call);
  SHARDC_RETURN_IF_ERROR(rows.check());
  return dispatch(
      FloatTypes(), call.inputs[kQuery].element, kName,
      [&](auto tag) { return rows.run<typename decltype(tag)::Type>(); });
}

/// Of a row with one query, or with all.
int64_t scratchBytes(const KernelCall &call) {
  if (!checkPagedAttention(call).isOk())
    return 0; // run reports it
  const int64_t queries = call.inputs[kQuery].dims[2];
  return dispatchBytes(
      FloatTypes(), call.inputs[kQuery].element, kName, [&](auto tag) {
        int64_t most = 0;
        for (int64_t count : {std::min<int64_t>(queries, 1), queries}) {
          const RowViews views(call, 0, 0, count);
          most = std::max(most, PagedRow<typename decltype(tag)::Type>(
                                    call, views, KeysInPages(call, 0, 0), 0)
                                    .attention.scratchBytes());
        }
        return most;
      });
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
