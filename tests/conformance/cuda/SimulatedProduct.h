//===- SimulatedProduct.h - One matrix product, element by element --------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDPRODUCT_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDPRODUCT_H

#include <cstddef>
#include <cstdint>
#include <cublasLt.h>

namespace shardc::testing {

/// cublasLtMatrixLayout_t's attributes.
struct SimulatedLayout {
  cudaDataType type = CUDA_R_32F;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batches = 1;
  int64_t stride = 0; ///< elements from batch to batch

  bool fits() const;
  /// Elements from the first to behind the last one.
  int64_t span() const;
  int64_t at(int64_t row, int64_t column) const {
    return order == CUBLASLT_ORDER_COL ? row + column * leading
                                       : row * leading + column;
  }
};

/// cublasLtMatmulDesc_t's.
struct SimulatedOperation {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  cublasLtPointerMode_t pointers = CUBLASLT_POINTER_MODE_HOST;
  cublasOperation_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  int64_t biasStride = 0;
  const float *scaleA = nullptr, *scaleB = nullptr; ///< of one number each

  bool hasBias() const;
};

/// All of D = epilogue(alpha op(A) op(B) + beta C), as it is when it is called.
struct SimulatedProduct {
  SimulatedOperation operation;
  SimulatedLayout a, b, c, d;
  double alpha = 1, beta = 0; ///< of the scale type
  const std::byte *atA = nullptr, *atB = nullptr, *atC = nullptr;
  std::byte *atD = nullptr;

  int64_t m() const { return static_cast<int64_t>(d.rows); }
  int64_t n() const { return static_cast<int64_t>(d.columns); }
  int64_t k() const {
    return static_cast<int64_t>(operation.transposeA == CUBLAS_OP_N ? a.columns
                                                                    : a.rows);
  }
  /// For tensor cores since sm_89, with demands of their own.
  bool isOfFloat8() const;
  /// SUCCESS; INVALID_VALUE: operands that contradict each other;
  /// NOT_SUPPORTED: what cuBLASLt does not do.
  cublasStatus_t check() const;
  /// With addresses of what is stored.
  void run() const;
};

size_t simulatedBytes(cudaDataType type);

/// How often this process has asked cuBLASLt's heuristics. Further settings:
///
///   SHARDC_SIMULATED_CUBLASLT     its version (0: it is not said)
///   SHARDC_SIMULATED_HEURISTICS   0: they have no answer
///   SHARDC_SIMULATED_EPILOGUES    0: they have none for a product with one
///   SHARDC_SIMULATED_FLOAT8       0: they have none of eight bits of float
///   SHARDC_SIMULATED_CAPABILITY   of all GPUs (default 90: sm_90)
int simulatedHeuristicsAsked();

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDPRODUCT_H
