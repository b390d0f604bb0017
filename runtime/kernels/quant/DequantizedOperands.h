//===- DequantizedOperands.h - Product with quantised weights -------------===//
#ifndef SHARDC_RUNTIME_KERNELS_QUANT_DEQUANTIZEDOPERANDS_H
#define SHARDC_RUNTIME_KERNELS_QUANT_DEQUANTIZEDOPERANDS_H

#include "runtime/kernels/quant/Quantized.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime::host {

/// A [..., m, k], B [..., k, n] and C [..., m, n] of MatMulDequantized.
struct DequantizedOperands {
  TensorView a, c;
  QuantizedViews b; ///< its result is a panel, once there is one

  Status read(const KernelCall &call, std::string_view kernel);

  int row() const { return c.rank - 2; }
  int column() const { return c.rank - 1; }

  /// One index of a batch dim of all operands.
  DequantizedOperands at(int dim, int64_t index) const {
    DequantizedOperands part = *this;
    for (TensorView *view :
         {&part.a, &part.c, &part.b.data, &part.b.scale, &part.b.zeroPoint})
      *view = narrowed(*view, dim, index, 1);
    return part;
  }

  /// Columns [begin, begin + count) of B and C.
  DequantizedOperands columns(int64_t begin, int64_t count) const {
    DequantizedOperands part = *this;
    for (TensorView *view :
         {&part.c, &part.b.data, &part.b.scale, &part.b.zeroPoint})
      *view = narrowed(*view, column(), begin, count);
    return part;
  }

  bool hasOwnB(int dim) const {
    return b.data.dims[dim] > 1 &&
           (b.data.strides[dim] != 0 || b.scale.strides[dim] != 0 ||
            b.zeroPoint.strides[dim] != 0);
  }
};

inline Status DequantizedOperands::read(const KernelCall &call,
                                        std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, 3));
  const TensorView &data = call.inputs[1];
  a = call.inputs[0];
  c = call.outputs[0];
  if (a.rank < 2 || a.rank != data.rank || a.rank != c.rank)
    return failure(kernel, "operands have dims " + dimsToString(a) + " and " +
                               dimsToString(data));
  KernelCall weights = call;
  weights.inputs = call.inputs + 1;
  weights.numInputs = call.numInputs - 1;
  weights.outputs = &data;
  SHARDC_RETURN_IF_ERROR(readQuantized(weights, kernel, b));
  const int row = this->row(), column = this->column();
  if (b.hasBlocks && b.axis != row)
    return failure(kernel, "blocks must be along the dim that is summed");
  TensorView expectedB = a, expectedC = a;
  expectedB.dims[row] = a.dims[column];
  expectedB.dims[column] = expectedC.dims[column] = data.dims[column];
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expectedB, data));
  SHARDC_RETURN_IF_ERROR(expectElement(kernel, a.element, b.scale));
  return expectLike(kernel, expectedC, c);
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_QUANT_DEQUANTIZEDOPERANDS_H
