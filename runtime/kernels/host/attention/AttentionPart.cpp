//===- AttentionPart.cpp - Attention to keys that come in parts -----------===//
//
// AttentionPart: Q, a part of K and of V, an optional mask for all keys, and
// what the rows have seen of other parts (absent before the first) -> the same
// with this part. AttentionFinish: that and optional sinks -> Y. Attributes are
// those of Attention (Attention.cpp; zero_rows is AttentionFinish's), and
//   query_pieces, key_pieces   place and size of each piece of its sequence
// The state is values [b, hq, sq, dv] and stats [b, hq, sq, 2]: maximum and sum
// of exponentials, in f32 for narrow types. It is written in place.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/attention/AttentionRun.h"

namespace shardc::runtime::host {
namespace {

constexpr char kPart[] = "AttentionPart", kFinish[] = "AttentionFinish";

template <typename T>
Status addPart(AttentionRun<T> &attention, const KernelCall &call) {
  using Acc = Accumulator<T>;
  const TensorView &values = call.outputs[0], &stats = call.outputs[1];
  const int64_t columns = values.dims[3];
  const int along = attention.rowsAlong();
  const bool isFirst = !hasInput(call, 4);
  const auto at = [along](const TensorView &view, int64_t b, int64_t h,
                          int64_t row) {
    return view.as<Acc>() + b * view.strides[0] + h * view.strides[1] +
           row * view.strides[along];
  };
  return attention.run(
      reinterpret_cast<Acc *>(call.scratch), 0,
      [&](int64_t b, int64_t h, int64_t first, int64_t count, Acc *) {
        const TileState<Acc> tile = {
            at(values, b, h, first),
            std::max<int64_t>(count > 1 ? values.strides[along] : columns, 1),
            at(stats, b, h, first), stats.strides[along]};
        for (int64_t i = 0; isFirst && i < count; ++i)
          tile.row(i).clear(columns);
        return tile;
      },
      [](int64_t, int64_t, int64_t, int64_t, const TileState<Acc> &) {});
}

Status runPart(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkAttentionPart(call));
  return dispatch(FloatTypes(), call.inputs[0].element, kPart, [&](auto tag) {
    AttentionRun<typename decltype(tag)::Type> attention(call);
    return addPart(attention, call);
  });
}

int64_t scratchOfPart(const KernelCall &call) {
  if (!checkAttentionPart(call).isOk())
    return 0; // run reports it
  return dispatchBytes(FloatTypes(), call.inputs[0].element, kPart,
                       [&](auto tag) {
                         using T = typename decltype(tag)::Type;
                         return AttentionRun<T>(call).scratchElements(0) *
                                static_cast<int64_t>(sizeof(Accumulator<T>));
                       });
}

template <typename T> void finish(const KernelCall &call) {
  using Acc = Accumulator<T>;
  const TensorView &values = call.inputs[0], &stats = call.inputs[1];
  const TensorView &y = call.outputs[0];
  const ZeroRows zeroRows = zeroRowsOf(call);
  const auto at = [](const TensorView &view, int64_t b, int64_t h, int64_t i) {
    return b * view.strides[0] + h * view.strides[1] + i * view.strides[2];
  };
  for (int64_t b = 0; b < y.dims[0]; ++b)
    for (int64_t h = 0; h < y.dims[1]; ++h) {
      const Acc sink =
          hasInput(call, 2)
              ? Acc(call.inputs[2].as<T>()[h * call.inputs[2].strides[0]])
              : -RowState<Acc>::kInfinity;
      for (int64_t i = 0; i < y.dims[2]; ++i) {
        T *to = y.as<T>() + at(y, b, h, i);
        finishRow<Acc>({values.as<Acc>() + at(values, b, h, i),
                        stats.as<Acc>() + at(stats, b, h, i)},
                       y.dims[3], sink, zeroRows, [&](int64_t j, Acc value) {
                         to[j * y.strides[3]] = T(value);
                       });
      }
    }
}

Status runFinish(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkAttentionFinish(call));
  return dispatch(FloatTypes(), call.outputs[0].element, kFinish,
                  [&](auto tag) {
                    finish<typename decltype(tag)::Type>(call);
                    return Status::ok();
                  });
}

const HostKernelRegistration part(kPart, {runPart, scratchOfPart});
const HostKernelRegistration finishing(kFinish, {runFinish, nullptr});

} // namespace
} // namespace shardc::runtime::host
