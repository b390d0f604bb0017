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

#include "runtime/backend/host/kernels/AttentionRun.h"

namespace shardc::runtime::host {

/// Pieces of a dim of `size`, which end before `limit`.
static Status checkPieces(const KernelCall &call, std::string_view kernel,
                          std::string_view name, int64_t size, int64_t limit) {
  const KernelAttribute *found = call.find(name);
  if (!found)
    return Status::ok();
  const Pieces pieces(call, name, size);
  int64_t total = 0;
  bool isValid = found->numInts % 2 == 0;
  for (int i = 0; isValid && i < pieces.count(); ++i) {
    isValid = pieces.place(i) >= 0 && pieces.size(i) >= 0 &&
              pieces.size(i) <= size - total &&
              pieces.place(i) <= limit - pieces.size(i);
    total += pieces.size(i);
  }
  return isValid && total == size
             ? Status::ok()
             : failure(kernel, std::string(name) + " do not cover a dim of " +
                                   std::to_string(size));
}

Status checkAttention(const KernelCall &call, std::string_view name) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 3));
  const TensorView &q = call.inputs[0], &k = call.inputs[1];
  const TensorView &v = call.inputs[2];
  if (q.rank != 4 || k.rank != 4 || v.rank != 4)
    return failure(name, "expected Q, K, V of rank 4, found Q " +
                             dimsToString(q) + ", K " + dimsToString(k) +
                             ", V " + dimsToString(v));
  TensorView expectedK = q, expectedV = k, expectedMask = q;
  expectedK.dims[1] = k.dims[1];
  expectedK.dims[2] = k.dims[2];
  expectedV.dims[3] = v.dims[3];
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedK, k));
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedV, v));
  const int64_t heads = k.dims[1];
  if (heads == 0 ? q.dims[1] != 0 : q.dims[1] % heads != 0)
    return failure(name, std::to_string(q.dims[1]) + " query heads on " +
                             std::to_string(heads) + " KV heads");
  const bool hasMask = hasInput(call, 3);
  constexpr int64_t kNoLimit = int64_t{1} << 62;
  expectedMask.dims[3] =
      !call.find("key_pieces") || !hasMask ? k.dims[2] : call.inputs[3].dims[3];
  SHARDC_RETURN_IF_ERROR(
      checkPieces(call, name, "query_pieces", q.dims[2], kNoLimit));
  SHARDC_RETURN_IF_ERROR(
      checkPieces(call, name, "key_pieces", k.dims[2],
                  hasMask ? expectedMask.dims[3] : kNoLimit));
  if (!hasMask)
    return Status::ok();
  const TensorView &mask = call.inputs[3];
  SHARDC_RETURN_IF_ERROR(expectDims(name, expectedMask, mask));
  return mask.element == artifact::ElementType_Bool
             ? Status::ok()
             : expectElement(name, q.element, mask);
}

Status checkSinks(const KernelCall &call, std::string_view name, int input,
                  artifact::ElementType element, int64_t heads) {
  if (!hasInput(call, input))
    return Status::ok();
  TensorView expected = call.inputs[input];
  expected.rank = 1;
  expected.element = element;
  expected.dims[0] = heads;
  return expectLike(name, expected, call.inputs[input]);
}

namespace {

constexpr char kName[] = "Attention";
constexpr int kSinks = 4;

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkAttention(call, kName));
  const TensorView &q = call.inputs[0];
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 3));
  TensorView expected = q;
  expected.dims[3] = call.inputs[2].dims[3];
  SHARDC_RETURN_IF_ERROR(expectLike(kName, expected, call.outputs[0]));
  return checkSinks(call, kName, kSinks, q.element, q.dims[1]);
}

/// Rows are finished as soon as they have seen all keys.
template <typename T> class WholeAttention {
  using Acc = Accumulator<T>;

public:
  explicit WholeAttention(const KernelCall &call)
      : attention(call), y(call.outputs[0]), zeroRows(zeroRowsOf(call)) {
    if (hasInput(call, kSinks))
      sinks = &call.inputs[kSinks];
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
  SHARDC_RETURN_IF_ERROR(check(call));
  return dispatch(FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
    return WholeAttention<typename decltype(tag)::Type>(call).run(call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  if (!check(call).isOk())
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
