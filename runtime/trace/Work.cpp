#include "runtime/trace/Work.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Elements that are stored: those of a broadcast dim once.
int64_t storedElements(const TensorView &view) {
  int64_t count = 1;
  for (int d = 0; d < view.rank; ++d)
    count *= view.strides[d] == 0 && view.dims[d] > 0 ? 1 : view.dims[d];
  return count;
}

int64_t bytesOf(const TensorView &view) {
  return view.isAbsent()
             ? 0
             : storedElements(view) * artifact::elementBits(view.element) / 8;
}

/// [..., m, k] x [..., k, n]
int64_t ofMatMul(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return call.outputs[0].numElements() * (x.rank > 0 ? x.dims[x.rank - 1] : 1);
}

int64_t ofGemm(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return call.outputs[0].numElements() *
         x.dims[call.intOr("transA", 0) != 0 ? 0 : 1];
}

/// queries [b, h, s, d], keys [b, g, t, d], values [b, g, t, v]
int64_t ofAttention(const KernelCall &call) {
  const TensorView &q = call.inputs[0], &k = call.inputs[1];
  const TensorView &v = call.inputs[2];
  if (q.rank != 4 || k.rank != 4 || v.rank != 4)
    return 0;
  return q.dims[0] * q.dims[1] * q.dims[2] * k.dims[2] *
         (q.dims[3] + v.dims[3]);
}

/// weights [m, c / group, taps...]
int64_t ofConv(const KernelCall &call) {
  const TensorView &w = call.inputs[1];
  return w.dims[0] > 0
             ? call.outputs[0].numElements() * (w.numElements() / w.dims[0])
             : 0;
}

/// indices [n, choices], up [experts, d, h], down [experts, f, o]
int64_t ofExperts(const KernelCall &call) {
  const TensorView &up = call.inputs[3], &down = call.inputs[4];
  return up.dims[0] > 0
             ? call.inputs[1].numElements() *
                   ((up.numElements() + down.numElements()) / up.dims[0])
             : 0;
}

struct Rule {
  std::string_view kernel;
  int numInputs; ///< that it looks at
  int64_t (*multiplyAdds)(const KernelCall &call);
};

constexpr Rule kRules[] = {{"MatMul", 1, ofMatMul},
                           {"MatMulBFloat16", 1, ofMatMul},
                           {"Linear", 1, ofMatMul},
                           {"MatMulInteger", 1, ofMatMul},
                           {"MatMulDequantized", 1, ofMatMul},
                           {"MatMulQuantized", 1, ofMatMul},
                           {"MatMulFloat8", 1, ofMatMul},
                           {"Gemm", 1, ofGemm},
                           {"Attention", 3, ofAttention},
                           {"AttentionPart", 3, ofAttention},
                           {"Conv", 2, ofConv},
                           {"MixtureOfExperts", 5, ofExperts},
                           {"MixtureOfExpertsBFloat16", 5, ofExperts}};

} // namespace

Work workOf(std::string_view kernel, const KernelCall &call) {
  Work work;
  for (int i = 0; i < call.numInputs; ++i)
    work.bytes += bytesOf(call.inputs[i]);
  // Of a table as many as come out.
  if (kernel.starts_with("Gather") && call.numInputs > 0)
    work.bytes -= std::max<int64_t>(
        bytesOf(call.inputs[0]) - bytesOf(call.outputs[0]), 0);
  for (int i = 0; i < call.numOutputs; ++i)
    work.bytes += bytesOf(call.outputs[i]);
  for (const Rule &rule : kRules)
    if (rule.kernel == kernel && call.numInputs >= rule.numInputs &&
        call.numOutputs > 0)
      work.multiplyAdds = rule.multiplyAdds(call);
  return work;
}

} // namespace shardc::runtime
