//===- ExpertWeights.h - One matrix of each expert ------------------------===//
//
// Weights [e, rows, columns] of MixtureOfExperts: numbers, or what
// DequantizeLinear reads, of which only the matrices of experts that have
// tokens become numbers, one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTWEIGHTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTWEIGHTS_H

#include "runtime/kernels/experts/ExpertOperands.h"
#include "runtime/kernels/host/product/MatrixProduct.h"

namespace shardc::runtime::host {

/// Its matrices as operands of `multiply`, each valid until the next.
template <typename T> class ExpertMatrices {
  using Acc = Accumulator<T>;

public:
  explicit ExpertMatrices(const ExpertOperand &operand) : operand(operand) {
    const TensorView &data = operand.data();
    layout = {data.dims[1], data.dims[2], data.strides[1], data.strides[2]};
    if (operand.isQuantized) { // rows are what is summed, and blocked
      layout.rowStride = 1;
      layout.columnStride = std::max<int64_t>(layout.rows, 1);
    }
  }

  int64_t scratchBytes() const {
    return packedBytes() + (operand.isQuantized
                                ? roundUp(layout.size() * int64_t(sizeof(T)))
                                : 0);
  }

  Status at(int64_t expert, std::string_view kernel, std::byte *scratch,
            Matrix<Acc> &matrix) const {
    Acc *packed = reinterpret_cast<Acc *>(scratch);
    if (!operand.isQuantized) {
      const TensorView &data = operand.data();
      matrix =
          asMatrix(layout, data.as<T>() + expert * data.strides[0], packed);
      return Status::ok();
    }
    TensorView numbers = operand.data();
    numbers.data = scratch + packedBytes();
    numbers.element = operand.element();
    numbers.skipped = 0;
    numbers.dims[0] = 1;
    numbers.strides[1] = layout.rowStride;
    numbers.strides[2] = layout.columnStride;
    SHARDC_RETURN_IF_ERROR(operand.dequantizeTo(numbers, kernel, expert));
    matrix = asMatrix(layout, numbers.as<T>(), packed);
    return Status::ok();
  }

private:
  static int64_t roundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t packedBytes() const {
    return roundUp(packedSize<T>(layout) * int64_t(sizeof(Acc)));
  }

  const ExpertOperand &operand;
  MatrixLayout layout;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTWEIGHTS_H
