//===- LinearOperands.h - activation(A B + bias + residual) ---------------===//
//
// Operands of the kernel Linear: A and B as MatMul has them, then a bias and a
// residual of the result's dims, both optional. A bias is one row, repeated.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_PRODUCT_LINEAROPERANDS_H
#define SHARDC_RUNTIME_KERNELS_PRODUCT_LINEAROPERANDS_H

#include "runtime/kernels/product/MatMulOperands.h"

namespace shardc::runtime::host {

inline constexpr TensorView kAbsentView{.rank = -1};

struct LinearOperands {
  TensorView a, b, out;
  TensorView bias = kAbsentView, residual = kAbsentView;
  std::string_view activation; ///< "", "relu" or "gelu": the tanh form

  Status read(const KernelCall &call, std::string_view kernel) {
    SHARDC_RETURN_IF_ERROR(expectMatMul(call, kernel));
    a = call.inputs[0];
    b = call.inputs[1];
    out = call.outputs[0];
    if (out.element != artifact::ElementType_Float32 &&
        out.element != artifact::ElementType_Float16 &&
        out.element != artifact::ElementType_BFloat16)
      return failure(kernel, std::string("there is none for ") +
                                 artifact::elementName(out.element));
    for (auto [view, index] : {std::pair{&bias, 2}, std::pair{&residual, 3}})
      if (hasInput(call, index)) {
        *view = call.inputs[index];
        SHARDC_RETURN_IF_ERROR(expectLike(kernel, out, *view));
      }
    for (int d = 0; d + 1 < bias.rank; ++d)
      if (bias.strides[d] != 0 && bias.dims[d] > 1)
        return failure(kernel, "the bias is more than one row");
    if (const KernelAttribute *given = call.find("activation"))
      activation = given->text;
    if (activation.empty() || activation == "relu" || activation == "gelu")
      return Status::ok();
    return failure(kernel,
                   "there is no activation '" + std::string(activation) + "'");
  }
};

/// What is left to do with a product, in place, by a backend's own kernels.
/// Absent addends are left out.
template <typename FindKernel>
Status finishLinear(const KernelCall &call, const TensorView &out,
                    std::initializer_list<TensorView> addends,
                    std::string_view activation, FindKernel find) {
  KernelCall step;
  step.stream = call.stream;
  step.outputs = &out;
  step.numOutputs = 1;
  for (const TensorView &addend : addends) {
    if (addend.isAbsent())
      continue;
    const TensorView inputs[] = {out, addend};
    step.inputs = inputs;
    step.numInputs = 2;
    SHARDC_RETURN_IF_ERROR(find("Add")->run(step));
  }
  if (activation.empty())
    return Status::ok();
  const KernelAttribute approximate{.name = "approximate", .text = "tanh"};
  step.inputs = &out;
  step.numInputs = 1;
  step.attributes = &approximate;
  step.numAttributes = 1;
  return find(activation == "relu" ? "Relu" : "Gelu")->run(step);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_PRODUCT_LINEAROPERANDS_H
