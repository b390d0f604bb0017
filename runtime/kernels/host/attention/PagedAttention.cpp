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

#include "runtime/kernels/host/attention/StoredPages.h"
#include "runtime/kernels/host/attention/WholeAttention.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "PagedAttention";

template <typename T, typename Pages>
auto wholeAttentionOf(const KernelCall &call, const Pages &pages,
                      const TileViews &views, const KeysInPages &keys,
                      int64_t past) {
  using Keys = decltype(pages.of(keys));
  return WholeAttention<T, Keys>(
      attentionOf<T>(call, pages, views, keys, past), views.y,
      hasInput(call, kPagedSinks) ? &views.sinks : nullptr, zeroRowsOf(call));
}

template <typename T> int64_t scratchOfThread(const KernelCall &call) {
  const KeysInPages none(call, PagePlaces::of(call, call.inputs[kKeys].dims[2]),
                         0, 0);
  return mostOfTiles(call, [&](const TileViews &views) {
    return withPages<T>(call, PoolViews::all(call, 0), nullptr,
                        [&](const auto &pages, std::byte *) {
                          return pages.scratchBytes() +
                                 wholeAttentionOf<T>(call, pages, views, none,
                                                     0)
                                     .scratchBytes();
                        });
  });
}

template <typename T>
Status runRows(const KernelCall &call, const PagedRows &rows) {
  const int64_t ofThread = scratchOfThread<T>(call);
  return rows.forEach(
      [&](const PagedTile &tile, const KeysInPages &keys, int64_t thread) {
        return withPages<T>(call, PoolViews::all(call, tile.head),
                            call.scratch + thread * ofThread,
                            [&](const auto &pages, std::byte *scratch) {
                              const TileViews views(call, tile);
                              return wholeAttentionOf<T>(call, pages, views,
                                                         keys, tile.past)
                                  .run(scratch);
                            });
      },
      [&](int64_t begin, int64_t count) {
        const TensorView none = rowsOf(call.outputs[0], 2, begin, count);
        StridedCopy{none}(none.data, kZeroElement);
      });
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttention(call));
  const PagedRows rows(call, kName,
                       PagePlaces::of(call, call.inputs[kKeys].dims[2]));
  SHARDC_RETURN_IF_ERROR(rows.check());
  return dispatch(FloatTypes(), call.inputs[kQuery].element, kName,
                  [&](auto tag) {
                    return runRows<typename decltype(tag)::Type>(call, rows);
                  });
}

int64_t scratchBytes(const KernelCall &call) {
  if (!checkPagedAttention(call).isOk())
    return 0; // run reports it
  return dispatchBytes(
      FloatTypes(), call.inputs[kQuery].element, kName, [&](auto tag) {
        return kernelThreads() *
               scratchOfThread<typename decltype(tag)::Type>(call);
      });
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
