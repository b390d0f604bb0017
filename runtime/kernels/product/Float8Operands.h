//===- Float8Operands.h - Products of two operands of eight bits of float -===//
//
// Operands of the kernel MatMulFloat8: A [..., m, k] and B [..., k, n], then
// their scales, with the dims of what they scale:
//
//   C = (A * scale of A) (B * scale of B)
//
// Nothing along k has a scale of its own, so that a device may multiply the
// bytes and scale what comes out. Where there is nothing that multiplies them,
// A becomes numbers in scratch, and MatMulDequantized does the rest.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_PRODUCT_FLOAT8OPERANDS_H
#define SHARDC_RUNTIME_KERNELS_PRODUCT_FLOAT8OPERANDS_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/product/IntegerReader.h"
#include "runtime/kernels/product/MatMulOperands.h"

namespace shardc::runtime::host {

struct Float8Operands {
  TensorView a, b, scaleA, scaleB, c;

  Status read(const KernelCall &call, std::string_view kernel);

  int row() const { return c.rank - 2; }
  int column() const { return c.rank - 1; }

  /// The numbers of A: a view on `memory`, or none yet. What A only repeats is
  /// there once.
  TensorView numbersOn(std::byte *memory) const {
    TensorView numbers = a;
    numbers.data = memory;
    numbers.element = c.element;
    int64_t stride = 1;
    for (int d = a.rank - 1; d >= 0; --d) {
      numbers.strides[d] = isRepeated(d) ? 0 : stride;
      stride *= isRepeated(d) ? 1 : a.dims[d];
    }
    return numbers;
  }
  int64_t numbersBytes() const {
    return alignBuffer(once(a).numElements() *
                       artifact::elementBytes(c.element));
  }
  /// A view of A's dims, with each that repeats at 1.
  TensorView once(TensorView view) const {
    for (int d = 0; d < a.rank; ++d)
      if (isRepeated(d))
        view.dims[d] = 1;
    return view;
  }

private:
  bool isRepeated(int dim) const {
    return a.dims[dim] > 1 && a.strides[dim] == 0 && scaleA.strides[dim] == 0;
  }
};

inline Status Float8Operands::read(const KernelCall &call,
                                   std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 4));
  a = call.inputs[0];
  b = call.inputs[1];
  scaleA = call.inputs[2];
  scaleB = call.inputs[3];
  c = call.outputs[0];
  for (const TensorView *view : {&a, &b})
    if (!isScaledFloat8(view->element))
      return failure(kernel,
                     std::string("expected eight bits of float, found ") +
                         artifact::elementName(view->element));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, a, scaleA));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, b, scaleB));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, c.element, scaleA));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, c.element, scaleB));
  // What is left to say of the dims is what any product's are.
  const TensorView numbers[] = {scaleA, scaleB};
  KernelCall product = call;
  product.inputs = numbers;
  product.numInputs = 2;
  SHARDC_RETURN_IF_ERROR(expectMatMul(product, kernel));
  if (a.dims[column()] > 1 &&
      (scaleA.strides[column()] != 0 || scaleB.strides[row()] != 0))
    return failure(kernel, "has scales along the dim that is summed");
  return Status::ok();
}

/// What MatMulDequantized has to do, given A's numbers.
inline KernelCall productOfNumbers(const KernelCall &call,
                                   const Float8Operands &p,
                                   const TensorView (&inputs)[3]) {
  KernelCall product = call;
  product.inputs = inputs;
  product.numInputs = 3;
  product.attributes = nullptr;
  product.numAttributes = 0;
  product.scratch = call.scratch ? call.scratch + p.numbersBytes() : nullptr;
  return product;
}

/// By a backend's own kernels.
template <typename FindKernel>
Status multiplyNumbers(const KernelCall &call, const Float8Operands &p,
                       FindKernel find) {
  const TensorView numbers = p.numbersOn(call.scratch);
  const TensorView scaled[] = {p.once(p.a), p.once(p.scaleA)};
  const TensorView result = p.once(numbers);
  KernelCall step;
  step.stream = call.stream;
  step.inputs = scaled;
  step.numInputs = 2;
  step.outputs = &result;
  step.numOutputs = 1;
  SHARDC_RETURN_IF_ERROR(find("DequantizeLinear")->run(step));
  const TensorView inputs[] = {numbers, p.b, p.scaleB};
  return find("MatMulDequantized")->run(productOfNumbers(call, p, inputs));
}

/// Scratch for that.
template <typename FindKernel>
int64_t numbersScratchBytes(const KernelCall &call, const Float8Operands &p,
                            FindKernel find) {
  const TensorView inputs[] = {p.numbersOn(nullptr), p.b, p.scaleB};
  return p.numbersBytes() +
         find("MatMulDequantized")
             ->scratchBytes(productOfNumbers(call, p, inputs));
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_PRODUCT_FLOAT8OPERANDS_H
