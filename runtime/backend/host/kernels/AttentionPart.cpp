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

#include "runtime/backend/host/kernels/AttentionRun.h"

namespace shardc::runtime::host {
namespace {

constexpr char kPart[] = "AttentionPart", kFinish[] = "AttentionFinish";

artifact::ElementType accumulatorOf(artifact::ElementType element) {
  return element == artifact::ElementType_Float64
             ? artifact::ElementType_Float64
             : artifact::ElementType_Float32;
}

/// Values and stats for the rows of a result of these dims.
Status checkState(std::string_view name, const TensorView &result,
                  const TensorView &values, const TensorView &stats) {
  TensorView expected = result;
  expected.element = accumulatorOf(result.element);
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, values));
  expected.dims[3] = 2;
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, stats));
  if ((values.dims[3] > 1 && values.strides[3] != 1) || stats.strides[3] != 1)
    return failure(name, "expected a state with dense rows");
  return Status::ok();
}

Status checkPart(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkAttention(call, kPart));
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kPart, 3, 2));
  TensorView result = call.inputs[0];
  result.dims[3] = call.inputs[2].dims[3];
  SHARDC_RETURN_IF_ERROR(
      checkState(kPart, result, call.outputs[0], call.outputs[1]));
  if (!hasInput(call, 4) && !hasInput(call, 5))
    return Status::ok();
  for (int i : {0, 1})
    if (!hasInput(call, 4 + i) ||
        call.inputs[4 + i].data != call.outputs[i].data ||
        !std::equal(call.outputs[i].strides, call.outputs[i].strides + 4,
                    call.inputs[4 + i].strides))
      return failure(kPart, "expected its state to be written in place");
  return Status::ok();
}

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
      reinterpret_cast<Acc *>(call.scratch),
      [&](int64_t b, int64_t h, int64_t first, int64_t count) {
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
  SHARDC_RETURN_IF_ERROR(checkPart(call));
  return dispatch(FloatTypes(), call.inputs[0].element, kPart, [&](auto tag) {
    AttentionRun<typename decltype(tag)::Type> attention(call);
    return addPart(attention, call);
  });
}

int64_t scratchOfPart(const KernelCall &call) {
  if (!checkPart(call).isOk())
    return 0; // run reports it
  return dispatchBytes(FloatTypes(), call.inputs[0].element, kPart,
                       [&](auto tag) {
                         using T = typename decltype(tag)::Type;
                         return AttentionRun<T>(call).scratchElements() *
                                static_cast<int64_t>(sizeof(Accumulator<T>));
                       });
}

Status checkFinish(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kFinish, 2));
  const TensorView &y = call.outputs[0];
  if (y.rank != 4)
    return failure(kFinish,
                   "expected a result of rank 4, found " + dimsToString(y));
  SHARDC_RETURN_IF_ERROR(
      checkState(kFinish, y, call.inputs[0], call.inputs[1]));
  return checkSinks(call, kFinish, 2, y.element, y.dims[1]);
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
  SHARDC_RETURN_IF_ERROR(checkFinish(call));
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
