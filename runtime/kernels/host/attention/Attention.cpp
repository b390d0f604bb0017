//===- Attention.cpp - Scaled dot-product attention -----------------------===//
//
// Q [b, hq, sq, d], K [b, hkv, sk, d], V [b, hkv, sk, dv], an optional mask
// [b, hq, sq, sk] (bool: false hides; float: added) -> Y [b, hq, sq, dv], where
// query head h attends KV head h / (hq / hkv). Query i sees the keys up to
// i + causal_offset if is_causal, the offset being how many keys precede the
// first query; of these the last `window` if that is not 0:
//   Y = softmax(softcap(scale Q K^T) + mask) V
// Optional sinks [hq] are one more score for each row of a head, which takes
// its share of the softmax and has no value.
// `zero_rows` says which rows of the softmax are zero instead: those that see
// no key at all ("hidden", the default, as in ONNX's function body), all where
// it gives NaN ("nan", as PyTorch's), or none of them ("none").
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/attention/AttentionRun.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Attention";

/// Rows are finished as soon as they have seen all keys.
template <typename T> class WholeAttention {
  using Acc = Accumulator<T>;

public:
  explicit WholeAttention(const KernelCall &call)
      : attention(call), y(call.outputs[0]),
        zeroRows(zeroRowsOf(call, call.inputs[1])) {
    if (hasInput(call, kAttentionSinks))
      sinks = &call.inputs[kAttentionSinks];
  }

  int64_t scratchBytes() const {
    return (attention.scratchElements() +
            attention.rowsOfTile() * (y.dims[3] + 2)) *
           static_cast<int64_t>(sizeof(Acc));
  }

  Status run(std::byte *scratch) {
    const int64_t columns = y.dims[3];
    Acc *stats = reinterpret_cast<Acc *>(scratch);
    Acc *values = stats + 2 * attention.rowsOfTile();
    const TileState<Acc> tile = {values, std::max<int64_t>(columns, 1), stats,
                                 2};
    return attention.run(
        values + attention.rowsOfTile() * columns,
        [&](int64_t, int64_t, int64_t, int64_t count) {
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
  void write(const RowState<Acc> &row, int64_t b, int64_t h, int64_t at) const {
    const int along = attention.rowsAlong();
    T *to =
        y.as<T>() + b * y.strides[0] + h * y.strides[1] + at * y.strides[along];
    const int64_t head = along == 1 ? h + at : h;
    const Acc sink = sinks ? Acc(sinks->as<T>()[head * sinks->strides[0]])
                           : -RowState<Acc>::kInfinity;
    finishRow(row, y.dims[3], sink, zeroRows,
              [&](int64_t j, Acc value) { to[j * y.strides[3]] = T(value); });
  }

  AttentionRun<T> attention;
  const TensorView &y;
  const TensorView *sinks = nullptr;
  const ZeroRows zeroRows;
};

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkWholeAttention(call));
  return dispatch(FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
    return WholeAttention<typename decltype(tag)::Type>(call).run(call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  if (!checkWholeAttention(call).isOk())
    return 0; // run reports it
  return dispatchBytes(
      FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
        return WholeAttention<typename decltype(tag)::Type>(call)
            .scratchBytes();
      });
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
