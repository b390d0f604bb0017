//===- RotaryLayout.h - Which elements of a head are pairs ----------------===//
//
// For RotaryEmbedding on every backend.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ATTENTION_ROTARYLAYOUT_H
#define SHARDC_RUNTIME_KERNELS_ATTENTION_ROTARYLAYOUT_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"

namespace shardc::runtime::host {

/// What the loop over a head needs to know, in elements.
struct RotaryLayout {
  int64_t pairs, size;
  int64_t pairStep, pairGap; ///< from pair to pair, and inside of one
  int64_t out, x, cos, sin;  ///< innermost strides
};

/// A [b, s, r/2] table as seen from [b, h, s]: all heads share it.
inline TensorView perHead(const TensorView &table, int64_t heads) {
  TensorView view = table;
  view.rank = 3;
  view.dims[1] = heads;
  view.strides[1] = 0;
  view.dims[2] = table.dims[1];
  view.strides[2] = table.strides[1];
  return view;
}

inline Status checkRotary(const KernelCall &call, std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 3));
  const TensorView &x = call.inputs[0], &cos = call.inputs[1];
  SHARDC_RETURN_IF_ERROR(expectLike(kernel, call.outputs[0], x));
  SHARDC_RETURN_IF_ERROR(expectLike(kernel, cos, call.inputs[2]));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, x.element, cos));
  if (x.rank != 4 || cos.rank != 3 || cos.dims[0] != x.dims[0] ||
      cos.dims[1] != x.dims[2] || 2 * cos.dims[2] > x.dims[3])
    return failure(kernel, "cos of dims " + dimsToString(cos) +
                               " does not fit X of dims " + dimsToString(x));
  return Status::ok();
}

/// Of a call that has been checked.
inline RotaryLayout rotaryLayoutOf(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const TensorView &cos = call.inputs[1], &sin = call.inputs[2];
  const bool interleaved = call.intOr("interleaved", 0) != 0;
  const int64_t pairs = cos.dims[2];
  return {pairs,
          x.dims[3],
          interleaved ? 2 : 1,
          interleaved ? 1 : pairs,
          out.strides[3],
          x.strides[3],
          cos.strides[2],
          sin.strides[2]};
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ATTENTION_ROTARYLAYOUT_H
