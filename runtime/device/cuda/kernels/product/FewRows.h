//===- FewRows.h - A few rows times a matrix of weights -------------------===//
//
//   FewProduct product;
//   if (readFewRows(x, weights, blocks, c, product))
//     return multiplyFewRows(product, x.element, c.element, scratch, stream);
//
// See FewRowsDevice.h for how.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FEWROWS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FEWROWS_H

#include "runtime/device/cuda/kernels/quant/QuantizedDevice.h"

namespace shardc::runtime::cuda {

/// More rows are multiplied faster by cuBLASLt.
inline constexpr int kMostFewRows = 8;

/// Weights [k, n].
struct FewMatrix {
  const std::byte *data = nullptr;
  artifact::ElementType element = artifact::ElementType_Int8;
  bool isSigned = false;
  bool isByColumns = false;   ///< as they lie
  int64_t k = 0, columns = 0; ///< sizes
  int64_t line = 0;           ///< from column to column, or from row to row
  // Of integers:
  const std::byte *scale = nullptr;
  artifact::ElementType scaleElement = artifact::ElementType_Float32;
  bool hasZeros = false;
  Integers zeros;
  QuantizedBlocks blocks;                  ///< along k
  int64_t scaleColumn = 0, zeroColumn = 0; ///< from column to column
  /// Blocks may change within what a lane loads.
  bool splitsLoads = false;

  /// What a lane loads at once lies at a multiple of so many elements.
  int64_t alignment() const {
    const int64_t bits = artifact::elementBits(element);
    return !isByColumns ? 4 : bits <= 8 ? 128 / bits : 8;
  }
};

/// Rows of X and of the result, by their first element.
struct FewRows {
  const std::byte *x = nullptr;
  int count = 0;
  int64_t xAt[kMostFewRows] = {}, cAt[kMostFewRows] = {};
};

struct FewProduct {
  FewMatrix matrix;
  FewRows rows;
  std::byte *c = nullptr;
  int64_t cStride = 1; ///< from column to column
  int splits = 1;      ///< of k

  /// For the sums of each split.
  int64_t scratchBytes() const {
    return splits == 1 ? 0
                       : splits * rows.count * matrix.columns *
                             static_cast<int64_t>(sizeof(float));
  }
};

/// What there is to say of weights, of which `views` has the last two dims [k,
/// n] and, if they are integers, scales and zero points; blocks are along k.
/// False where the kernels do not know them: they are dense along k or n, of 4
/// or 8 bits with integers for zero points or halves or floats, and lie at
/// multiples of what a lane loads.
bool readFewMatrix(const host::QuantizedViews &views, bool isQuantized,
                   const QuantizedBlocks &blocks, FewMatrix &matrix);

/// Where rows of X [..., m, k] and of C [..., m, n] begin; false if they are
/// more than 8, or none.
bool listRows(const TensorView &x, const TensorView &c, FewRows &rows);

/// X times such weights to C; X is dense along k, of halves or floats. False
/// where it is not so.
bool readFewRows(const TensorView &x, const host::QuantizedViews &weights,
                 const QuantizedBlocks &blocks, const TensorView &c,
                 FewProduct &product);

/// Scratch is what the product asks for. X and C are of type `element`.
Status multiplyFewRows(const FewProduct &product, artifact::ElementType element,
                       std::byte *scratch, cudaStream_t stream);

/// The same for weights and rows of any layout and type: a warp for each
/// element of C.
Status multiplyPlainRows(const TensorView &x,
                         const host::QuantizedViews &weights,
                         const QuantizedBlocks &blocks, const TensorView &c,
                         cudaStream_t stream);

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_PRODUCT_FEWROWS_H
