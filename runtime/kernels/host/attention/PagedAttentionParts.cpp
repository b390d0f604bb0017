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
        call(call), first(part * places.here) {}

  PoolViews pool(int64_t head) const {
    return {call, head, first, places.here};
  }

  const PagePlaces places;

private:
  const KernelCall &call;
  const int64_t first;
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

template <typename T>
int64_t scratchOfThread(const KernelCall &call, const PartOfCall &part) {
  const KeysInPages none(call, part.places, 0, 0);
  return mostOfTiles(call, [&](const TileViews &views) {
    return withPages<T>(
        call, part.pool(0), nullptr, [&](const auto &pages, std::byte *) {
          return pages.scratchBytes() +
                 attentionOf<T>(call, pages, views, none, 0)
                         .scratchElements(0) *
                     static_cast<int64_t>(sizeof(Accumulator<T>));
        });
  });
}

template <typename T, typename Pages>
Status runTile(const TileViews &views, const AttentionRun<T, Pages> &attention,
               int64_t part, std::byte *scratch) {
  using Acc = Accumulator<T>;
  const SeenOfPart<Acc> seen(views.y, part, attention.rowsAlong());
  return attention.run(
      reinterpret_cast<Acc *>(scratch), 0,
      [&](int64_t, int64_t head, int64_t first, int64_t count, Acc *) {
        return seen.tile(head, first, count);
      },
      [](int64_t, int64_t, int64_t, int64_t, const TileState<Acc> &) {});
}

template <typename T> Status runPart(const KernelCall &call, int64_t number) {
  const PartOfCall part(call, number);
  const PagedRows rows(call, kName, part.places);
  SHARDC_RETURN_IF_ERROR(rows.check());
  const int64_t ofThread = scratchOfThread<T>(call, part);
  return rows.forEach(
      [&](const PagedTile &tile, const KeysInPages &keys, int64_t thread) {
        return withPages<T>(
            call, part.pool(tile.head), call.scratch + thread * ofThread,
            [&](const auto &pages, std::byte *scratch) {
              const TileViews views(call, tile);
              return runTile(
                  views, attentionOf<T>(call, pages, views, keys, tile.past),
                  number, scratch);
            });
      },
      [&](int64_t begin, int64_t count) {
        seeNothing<Accumulator<T>>(call.outputs[0], number, begin, count);
      });
}

template <typename T> Status runParts(const KernelCall &call) {
  for (int64_t number = 0; number < call.outputs[0].dims[0]; ++number)
    SHARDC_RETURN_IF_ERROR(runPart<T>(call, number));
  return Status::ok();
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkPagedAttentionParts(call));
  return dispatch(
      FloatTypes(), call.inputs[kQuery].element, kName,
      [&](auto tag) { return runParts<typename decltype(tag)::Type>(call); });
}

int64_t scratchBytes(const KernelCall &call) {
  if (!checkPagedAttentionParts(call).isOk() || call.outputs[0].dims[0] == 0)
    return 0; // run reports it
  return dispatchBytes(
      FloatTypes(), call.inputs[kQuery].element, kName, [&](auto tag) {
        return kernelThreads() * scratchOfThread<typename decltype(tag)::Type>(
                                     call, PartOfCall(call, 0));
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
