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

#include "runtime/kernels/host/attention/WholeAttention.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Attention";

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
