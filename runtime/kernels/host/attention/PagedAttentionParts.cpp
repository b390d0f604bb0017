//===- PagedAttentionParts.cpp - Attention to parts of pages' places ------===//
//
// PagedAttentionParts: as PagedAttention, but for each part of the places that
// are here, the state of AttentionRun.h: Y [parts, h, t, e + 2] has values, the
// largest score and the sum. Queries of no row have zeros, 0 and 1.
//
// MergeAttention: such parts [p, h, t, e + 2] and optional sinks [h] -> what
// attention to all keys gives, [1, h, t, e].
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/attention/StoredPages.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "PagedAttentionParts", kMerge[] = "MergeAttention";

/// One part of the places of a call.
struct PartOfCall {
  PartOfCall(const KernelCall &call, int64_t part)
      : places(PagePlaces::of(call, call.inputs[kKeys].dims[2])
                   .part(part, call.outputs[0].dims[0])),
        pool(call, part * places.here, places.here) {}

  const PagePlaces places;
  const PoolViews pool;
};

/// Where the state of each row of a tile is, in a view [h, t, e + 2].
template <typename Acc> class SeenOfPart {
public:
  SeenOfPart(const TensorView &seen, int64_t part, int rowsAlong)
      : seen(seen), columns(seen.dims[3] - kSeenStatistics),
        step(seen.strides[rowsAlong]),
        data(seen.as<Acc>() + part * seen.strides[0]) {}

  TileState<Acc> tile(int64_t head, int64_t first, int64_t count) const {
    Acc *values = data + head * seen.strides[1] + first * step;
    const TileState<Acc> made = {values, step, values + columns, step};
    for (int64_t i = 0; i < count; ++i)
      made.row(i).clear(columns);
    return made;
  }

private:
  const TensorView &seen;
  const int64_t columns, step;
  Acc *const data;
};

/// No weight of anything: zeros, whatever other parts say.
template <typename Acc>
void seeNothing(const TensorView &seen, int64_t part, int64_t begin,
                int64_t count) {
  const SeenOfPart<Acc> all(seen, part, 2);
  for (int64_t h = 0; h < seen.dims[1]; ++h) {
    const TileState<Acc> tile = all.tile(h, begin, count);
    for (int64_t i = 0; i < count; ++i) {
      tile.row(i).stats[0] = 0;
      tile.row(i).stats[1] = 1;
    }
  }
}

template <typename T, typename Pages>
Status runPart(const KernelCall &call, int64_t number, const PagePlaces &places,
               const Pages &pages) {
  using Acc = Accumulator<T>;
  const PagedRows rows(call, kName, places);
  SHARDC_RETURN_IF_ERROR(rows.check());
  return rows.forEach(
      [&](const RowViews &views, const KeysInPages &keys, int64_t past) {
        auto attention = attentionOf<T>(call, pages, views, keys, past);
        const SeenOfPart<Acc> seen(views.y, number, attention.rowsAlong());
        return attention.run(
            reinterpret_cast<Acc *>(call.scratch + pages.scratchBytes()),
            [&](int64_t, int64_t head, int64_t first, int64_t count) {
              return seen.tile(head, first, count);
            },
            [](int64_t, int64_t, int64_t, int64_t, const TileState<Acc> &) {});
      },
      [&](int64_t begin, int64_t count) {
        seeNothing<Acc>(call.outputs[0], number, begin, count);
      });
}

template <typename T> Status runParts(const KernelCall &call) {
  for (int64_t number = 0; number < call.outputs[0].dims[0]; ++number) {
    const PartOfCall part(call, number);
    SHARDC_RETURN_IF_ERROR(
        withPages<T>(call, part.pool, [&](const auto &pages) {
          return runPart<T>(call, number, part.places, pages);
        }));
  }
  return Status::ok();
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttentionParts(call));
  return dispatch(
      FloatTypes(), call.inputs[kQuery].element, kName,
      [&](auto tag) { return runParts<typename decltype(tag)::Type>(call); });
}

/// Of a row with one query, or with all.
template <typename T, typename Pages>
int64_t mostScratchBytes(const KernelCall &call, const PagePlaces &places,
                         const Pages &pages) {
  const int64_t queries = call.inputs[kQuery].dims[2];
  const KeysInPages none(call, places, 0, 0);
  int64_t most = 0;
  for (int64_t count : {std::min<int64_t>(queries, 1), queries}) {
    const RowViews views(call, 0, 0, count);
    most = std::max(
        most, attentionOf<T>(call, pages, views, none, 0).scratchElements());
  }
  return pages.scratchBytes() +
         most * static_cast<int64_t>(sizeof(Accumulator<T>));
}

int64_t scratchBytes(const KernelCall &call) {
  if (!checkPagedAttentionParts(call).isOk() || call.outputs[0].dims[0] == 0)
    return 0; // run reports it
  const PartOfCall part(call, 0);
  return dispatchBytes(
      FloatTypes(), call.inputs[kQuery].element, kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        return withPages<T>(call, part.pool, [&](const auto &pages) {
          return mostScratchBytes<T>(call, part.places, pages);
        });
      });
}

/// The parts of one query of one head.
template <typename T> class SeenParts {
  using Acc = Accumulator<T>;

public:
  SeenParts(const TensorView &seen, int64_t head, int64_t query)
      : parts(seen.dims[0]), step(seen.strides[0]), column(seen.strides[3]),
        columns(seen.dims[3] - kSeenStatistics),
        data(seen.as<Acc>() + head * seen.strides[1] +
             query * seen.strides[2]) {
    for (int64_t p = 0; p < parts; ++p)
      if (const Acc own = statistic(p, 0); own > maximum || own != own)
        maximum = own; // NaN stays
  }

  void write(const TensorView &y, T *to, Acc sink, ZeroRows zeroRows) const {
    Acc sum = 0;
    for (int64_t p = 0; p < parts; ++p)
      sum += factor(p) * statistic(p, 1);
    const RowResult<Acc> result(maximum, sum, sink, zeroRows);
    for (int64_t j = 0; j < columns; ++j) {
      Acc value = 0;
      for (int64_t p = 0; p < parts; ++p)
        value += factor(p) * data[p * step + j * column];
      to[j * y.strides[3]] = T(result.of(value));
    }
  }

private:
  Acc statistic(int64_t part, int64_t which) const {
    return data[part * step + (columns + which) * column];
  }
  /// Of what is relative to the part's largest score, to that of all.
  Acc factor(int64_t part) const {
    const Acc own = statistic(part, 0);
    return own == maximum ? Acc(1) : exponential(own - maximum);
  }

  const int64_t parts, step, column, columns;
  const Acc *const data;
  Acc maximum = -RowState<Acc>::kInfinity;
};

template <typename T> void merge(const KernelCall &call) {
  using Acc = Accumulator<T>;
  const TensorView &seen = call.inputs[0], &y = call.outputs[0];
  const ZeroRows zeroRows = zeroRowsOf(call);
  for (int64_t h = 0; h < y.dims[1]; ++h) {
    const Acc sink =
        hasInput(call, 1)
            ? Acc(call.inputs[1].as<T>()[h * call.inputs[1].strides[0]])
            : -RowState<Acc>::kInfinity;
    for (int64_t i = 0; i < y.dims[2]; ++i)
      SeenParts<T>(seen, h, i)
          .write(y, y.as<T>() + h * y.strides[1] + i * y.strides[2], sink,
                 zeroRows);
  }
}

Status runMerge(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkMergeAttention(call));
  return dispatch(FloatTypes(), call.outputs[0].element, kMerge, [&](auto tag) {
    merge<typename decltype(tag)::Type>(call);
    return Status::ok();
  });
}

const HostKernelRegistration parts(kName, {run, scratchBytes});
const HostKernelRegistration merging(kMerge, {runMerge, nullptr});

} // namespace
} // namespace shardc::runtime::host
