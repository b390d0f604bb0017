//===- WholeAttention.h - Attention to keys that are all there ------------===//
//
// What Attention and PagedAttention do with the rows of AttentionRun.h.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_WHOLEATTENTION_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_WHOLEATTENTION_H

#include "runtime/kernels/host/attention/AttentionRun.h"

namespace shardc::runtime::host {

/// Rows are finished as soon as they have seen all keys.
template <typename T, typename AllKeys = KeysInOrder> class WholeAttention {
  using Acc = Accumulator<T>;

public:
  WholeAttention(const AttentionRun<T, AllKeys> &attention, const TensorView &y,
                 const TensorView *sinks, ZeroRows zeroRows)
      : attention(attention), y(y), sinks(sinks), zeroRows(zeroRows) {}
  explicit WholeAttention(const KernelCall &call)
      : WholeAttention(AttentionRun<T, AllKeys>(call), call.outputs[0],
                       hasInput(call, kAttentionSinks)
                           ? &call.inputs[kAttentionSinks]
                           : nullptr,
                       zeroRowsOf(call, call.inputs[1])) {}

  int64_t scratchBytes() const {
    return attention.scratchElements(stateElements()) *
           static_cast<int64_t>(sizeof(Acc));
  }

  Status run(std::byte *scratch) const {
    const int64_t columns = y.dims[3];
    return attention.run(
        reinterpret_cast<Acc *>(scratch), stateElements(),
        [&](int64_t, int64_t, int64_t, int64_t count, Acc *own) {
          const TileState<Acc> tile = {own + 2 * attention.rowsOfTile(),
                                       std::max<int64_t>(columns, 1), own, 2};
          for (int64_t i = 0; i < count; ++i)
            tile.row(i).clear(columns);
          return tile;
        },
        [&](int64_t b, int64_t h, int64_t first, int64_t count,
            const TileState<Acc> &state) {
          for (int64_t i = 0; i < count; ++i)
            write(state.row(i), b, h, first + i);
        });
  }

private:
  /// Of a tile.
  int64_t stateElements() const {
    return attention.rowsOfTile() * (y.dims[3] + 2);
  }

  void write(const RowState<Acc> &row, int64_t b, int64_t h, int64_t at) const {
    const int along = attention.rowsAlong();
    T *to =
        y.as<T>() + b * y.strides[0] + h * y.strides[1] + at * y.strides[along];
    const int64_t head = along == 1 ? h + at : h;
    const Acc sink = sinks ? Acc(sinks->as<T>()[head * sinks->strides[0]])
                           : -RowState<Acc>::kInfinity;
    if constexpr (isHalf<T>)
      if (y.strides[3] == 1) {
        finishRow(row, y.dims[3], sink, zeroRows,
                  [&](int64_t j, Acc value) { row.values[j] = value; });
        return narrowRow(row.values, y.dims[3], to);
      }
    finishRow(row, y.dims[3], sink, zeroRows,
              [&](int64_t j, Acc value) { to[j * y.strides[3]] = T(value); });
  }

  AttentionRun<T, AllKeys> attention;
  const TensorView &y;
  const TensorView *sinks; ///< null where there are none
  const ZeroRows zeroRows;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_WHOLEATTENTION_H
