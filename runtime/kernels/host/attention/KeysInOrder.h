//===- KeysInOrder.h - Keys that lie dense, one piece behind the other ----===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_KEYSINORDER_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_KEYSINORDER_H

#include "runtime/kernels/attention/AttentionRows.h"
#include "runtime/kernels/host/attention/AttentionTile.h"

namespace shardc::runtime::host {

/// What attention reads; `mask` is null where there is none.
struct AttentionInputs {
  const TensorView &q, &k, &v;
  const TensorView *mask;

  static AttentionInputs of(const KernelCall &call) {
    return {call.inputs[0], call.inputs[1], call.inputs[2],
            hasInput(call, 3) ? &call.inputs[3] : nullptr};
  }
};

/// Pieces of keys, one behind the other in k and in v.
class KeysInOrder {
public:
  explicit KeysInOrder(const KernelCall &call)
      : pieces(call, "key_pieces", call.inputs[1].dims[2]),
        stepK(call.inputs[1].strides[2]), stepV(call.inputs[2].strides[2]) {}

  int64_t count() const { return pieces.count(); }
  int64_t place(int64_t piece) const { return pieces.place(int(piece)); }
  int64_t size(int64_t piece) const { return pieces.size(int(piece)); }
  KeyPiece at(int64_t piece) const {
    int64_t first = 0;
    for (int64_t i = 0; i < piece; ++i)
      first += size(i);
    return {first * stepK, first * stepV, size(piece)};
  }

private:
  const Pieces pieces;
  const int64_t stepK, stepV;
};

/// What keys and values are read as, by queries of type T.
template <typename T, typename AllKeys> struct KeyNumberOf {
  using Type = T;
};
template <typename T, typename AllKeys>
  requires requires { typename AllKeys::Number; }
struct KeyNumberOf<T, AllKeys> {
  using Type = typename AllKeys::Number;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_KEYSINORDER_H
