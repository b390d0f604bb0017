//===- BatchedProduct.h - MatMul and Gemm over views ----------------------===//
//
// Plans A[..., M, K] B[..., K, N] -> C[..., M, N] as few matrix products:
// batch dims that B does not have (stride 0) become rows of A and C, so that
//   A [2, 8, 96] strides {768, 96, 1}, B [2, 96, 192] strides {0, 192, 1}
// is one product of 16 rows. A C with dense columns is computed as its
// transpose, but for a B that was packed once (PackedMatrix.h), which is multiplied
// as such; one with neither goes through scratch. Many products are shared out to the
// threads, each of few by itself.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_PRODUCT_BATCHEDPRODUCT_H
#define SHARDC_RUNTIME_KERNELS_HOST_PRODUCT_BATCHEDPRODUCT_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/host/product/MatrixProduct.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"
#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/kernels/product/MatMulOperands.h"

#include <utility>

namespace shardc::runtime::host {

template <typename T> class BatchedProduct {
  using Acc = Accumulator<T>;

public:
  /// Precondition: equal ranks of at least 2, and dims that fit. `packed` is B or
  /// null; where sums are of float nothing else of it is read.
  BatchedProduct(const TensorView &a, const TensorView &b, const TensorView &c,
                 const std::byte *packed = nullptr,
                 SumOrder order = SumOrder::Fastest)
      : order(order) {
    const int row = c.rank - 2, column = c.rank - 1;
    for (int d = 0; d <= row; ++d)
      appendDim(batches, c.dims[d],
                {c.strides[d], a.strides[d], d == row ? 0 : b.strides[d]});
    finishNest(batches);
    const int last = batches.rank - 1;
    int64_t rows = 1, rowStrideC = 0, rowStrideA = 0;
    if (c.dims[row] == 0 || batches.dims[last] == 1 ||
        batches.strides[2][last] == 0) {
      rows = std::exchange(batches.dims[last], c.dims[row] == 0 ? 0 : 1);
      rowStrideC = batches.strides[0][last];
      rowStrideA = batches.strides[1][last];
    }
    layoutA = {rows, a.dims[column], rowStrideA, a.strides[column]};
    layoutB = {b.dims[row], b.dims[column], b.strides[row], b.strides[column]};
    layoutC = {rows, c.dims[column], rowStrideC, c.strides[column]};
    // Tiles add up in an order of their own: one product, one order.
    const bool mayBeSwapped = order == SumOrder::Fastest || !mayUseTiles;
    const bool takesB = packed && std::is_same_v<Acc, float>;
    isSwapped =
        mayBeSwapped && !takesB && !layoutC.hasDenseRows() && layoutC.isDense();
    if (isSwapped) { // C^T = B^T A^T
      layoutA = std::exchange(layoutB, layoutA.transposed()).transposed();
      layoutC = layoutC.transposed();
      std::swap(batches.strides[1], batches.strides[2]);
    } else if constexpr (std::is_same_v<Acc, float>) {
      packedB = packed;
    }
  }

  int64_t scratchBytes() const {
    if (packsTiles())
      return bytesBeforeTiles() + tiledMatrixBytes(matrixB(nullptr));
    return split().parts() * scratchOfPart() *
           static_cast<int64_t>(sizeof(Acc));
  }

  /// Does it multiply rows of A by a packed B, or by what `multiplyRows` is
  /// given?
  bool takesPacked() const { return packedB != nullptr; }
  /// Of A and C in each of its products.
  int64_t rows() const { return layoutC.rows; }

  /// C = alpha A B + beta C where `multiply` knows B: it gets products that have
  /// none.
  template <typename Multiply>
  void multiplyRows(const T *a, T *c, std::byte *scratch, Multiply &&multiply,
                    float alpha = 1, float beta = 0) const {
    PackedProduct product;
    product.alpha = alpha;
    product.beta = beta;
    forEachProduct(product, a, c, scratch, multiply);
  }

  /// C = alpha A B + beta C.
  Status run(const T *a, const T *b, T *c, Acc alpha, Acc beta,
             std::byte *scratch) const {
    if constexpr (std::is_same_v<Acc, float>)
      if (packedB)
        return runPacked(a, c, alpha, beta, scratch);
    if constexpr (mayUseTiles)
      if (packsTiles())
        return runTiles(a, b, c, alpha, beta, scratch);
    if (isSwapped)
      std::swap(a, b);
    const SplitNest<3> parts = split();
    return shareOut(
        parts.parts(), parts.parts(), /*chunk=*/1,
        [&](int64_t thread) {
          return reinterpret_cast<Acc *>(scratch) + thread * scratchOfPart();
        },
        [&](Acc *own, int64_t part) {
          int64_t first[3];
          const LoopNest<3> nest = parts.part(part, first);
          return runProducts(nest, a + first[1], b + first[2], c + first[0],
                             alpha, beta, own);
        });
  }

private:
  /// Of products that have their operands to themselves.
  SplitNest<3> split() const {
    return {batches, packedB ? 0
                             : (layoutC.rows + 4) * layoutC.columns *
                                   layoutA.columns / 8};
  }
  int64_t scratchOfPart() const {
    return sizeOfA() + (packedB ? 0 : packedSize<T>(layoutB)) + packedSizeC();
  }

  /// What was packed for one product serves those behind it that read the same.
  Status runProducts(const LoopNest<3> &nest, const T *a, const T *b, T *c,
                     Acc alpha, Acc beta, Acc *packedA) const {
    Acc *rowsB = packedA + packedSize<T>(layoutA);
    Acc *packedC = rowsB + packedSize<T>(layoutB);
    const T *lastA = nullptr, *lastB = nullptr;
    Matrix<Acc> left, right;
    Status status;
    forEachIndex(nest, [&](const int64_t (&at)[3]) {
      if (!status.isOk())
        return;
      if (a + at[1] != std::exchange(lastA, a + at[1]))
        left = asMatrix(layoutA, a + at[1], packedA);
      if (b + at[2] != std::exchange(lastB, b + at[2]))
        right = asMatrix(layoutB, b + at[2], rowsB);
      status = runOne(left, right, c + at[0], alpha, beta, packedC);
    });
    return status;
  }

  bool packsC() const {
    return !std::is_same_v<T, Acc> || !layoutC.hasDenseRows();
  }
  int64_t packedSizeC() const { return packsC() ? layoutC.size() : 0; }
  /// A packed B takes an A of any strides.
  int64_t sizeOfA() const {
    const int64_t size =
        packedB && std::is_same_v<T, Acc> ? 0 : packedSize<T>(layoutA);
    return mayUseTiles && (packedB || packsTiles())
               ? std::max(size, sizeOfTiledRows())
               : size;
  }

  static constexpr bool mayUseTiles = std::is_same_v<T, BFloat16>;
  /// In floats.
  int64_t sizeOfTiledRows() const {
    return layoutA.rows * tiledDepth(layoutA.columns) / 2;
  }

  /// A constant B is multiplied in tiles: in a fixed order so is any other.
  bool packsTiles() const {
    return mayUseTiles && order == SumOrder::Fixed && !packedB &&
           areBFloat16InTiles();
  }
  int64_t bytesBeforeTiles() const {
    const int64_t bytes = (sizeOfA() + packedSizeC()) * int64_t(sizeof(float));
    return (bytes + 63) / 64 * 64;
  }
  TensorView matrixB(const T *b) const {
    TensorView view;
    view.data = reinterpret_cast<std::byte *>(const_cast<T *>(b));
    view.element = elementTypeOf<T>();
    view.rank = 2;
    view.dims[0] = layoutB.rows;
    view.dims[1] = layoutB.columns;
    view.strides[0] = layoutB.rowStride;
    view.strides[1] = layoutB.columnStride;
    return view;
  }

  /// B lies in tiles, or is put there, in scratch.
  Status runTiles(const BFloat16 *a, const BFloat16 *b, BFloat16 *c,
                  float alpha, float beta, std::byte *scratch) const {
    std::byte *tiles = scratch + bytesBeforeTiles();
    const BFloat16 *lastB = nullptr;
    auto *rowsA = reinterpret_cast<BFloat16 *>(scratch);
    auto *rowsC = rowsA + 2 * sizeOfA();
    const bool isInPlace = layoutC.columnStride == 1 || layoutC.columns <= 1;
    TileProduct product;
    product.m = layoutC.rows;
    product.n = layoutC.columns;
    product.k = layoutA.columns;
    product.b = packedB ? packedB : tiles;
    product.leadingC = isInPlace ? layoutC.rowStride : layoutC.columns;
    product.alpha = alpha;
    product.beta = beta;
    forEachIndex(batches, [&](const int64_t (&at)[3]) {
      if (!packedB && b + at[2] != std::exchange(lastB, b + at[2]))
        packTiles(matrixB(lastB), tiles);
      setTiledRows(product, a + at[1], rowsA);
      product.c = isInPlace ? c + at[0] : rowsC;
      if (!isInPlace && beta != 0)
        packRows(layoutC, c + at[0], rowsC);
      multiplyBFloat16(product);
      if (!isInPlace)
        unpackC(rowsC, c + at[0]);
    });
    return Status::ok();
  }

  /// In place where they are dense and fill their tiles.
  void setTiledRows(TileProduct &product, const BFloat16 *a,
                    BFloat16 *rows) const {
    const int64_t k = layoutA.columns, depth = tiledDepth(k);
    const bool isInPlace = layoutA.columnStride == 1 && depth == k;
    product.a = isInPlace ? a : rows;
    product.rowStepA = isInPlace ? layoutA.rowStride : depth;
    for (int64_t i = 0; i < layoutA.rows && !isInPlace; ++i, rows += depth) {
      const BFloat16 *from = a + i * layoutA.rowStride;
      for (int64_t j = 0; j < k; ++j)
        rows[j] = from[j * layoutA.columnStride];
      std::fill(rows + k, rows + depth, BFloat16());
    }
  }

  Status runPacked(const T *a, T *c, float alpha, float beta,
                   std::byte *scratch) const {
    if constexpr (mayUseTiles)
      if (areBFloat16InTiles())
        return runTiles(a, nullptr, c, alpha, beta, scratch);
    PackedProduct product;
    product.k = layoutA.columns;
    product.setPacked(packedB, elementTypeOf<T>());
    product.alpha = alpha;
    product.beta = beta;
    forEachProduct(product, a, c, scratch, multiplyPacked);
    return Status::ok();
  }

  template <typename Multiply>
  void forEachProduct(PackedProduct product, const T *a, T *c,
                      std::byte *scratch, Multiply &&multiply) const {
    float *rowsA = reinterpret_cast<float *>(scratch);
    float *rowsC = rowsA + sizeOfA();
    product.m = layoutC.rows;
    product.n = layoutC.columns;
    product.k = layoutA.columns;
    forEachIndex(batches, [&](const int64_t (&at)[3]) {
      setA(product, a + at[1], rowsA);
      if constexpr (std::is_same_v<T, float>)
        product.c = c + at[0];
      product.leadingC = layoutC.rowStride;
      if (packsC()) {
        product.c = rowsC;
        product.leadingC = layoutC.columns;
        if (product.beta != 0)
          packRows(layoutC, c + at[0], rowsC);
      }
      multiply(product);
      if (packsC())
        unpackC(rowsC, c + at[0]);
    });
  }

  void setA(PackedProduct &product, const T *a, float *rows) const {
    if constexpr (std::is_same_v<T, float>) {
      product.a = a;
      product.rowStepA = layoutA.rowStride;
      product.depthStepA = layoutA.columnStride;
    } else {
      shareRows(layoutA, [&](const MatrixLayout &some, int64_t first) {
        packRows(some, a + first * layoutA.rowStride,
                 rows + first * layoutA.columns);
      });
      product.a = rows;
      product.rowStepA = layoutA.columns;
    }
  }

  /// Calls work(some rows, the first) on the threads of the rank.
  template <typename Work>
  static void shareRows(const MatrixLayout &layout, Work work) {
    const int64_t units = std::max<int64_t>(layout.rows, 1);
    shareRanges(layout.rows, threadsFor(units, layout.size()),
                unitsAtOnce(units, layout.size()),
                [&](int64_t begin, int64_t end) {
                  MatrixLayout some = layout;
                  some.rows = end - begin;
                  work(some, begin);
                });
  }

  template <typename From> void unpackC(const From *packed, T *c) const {
    shareRows(layoutC, [&](const MatrixLayout &some, int64_t first) {
      unpackRows(some, packed + first * layoutC.columns,
                 c + first * layoutC.rowStride);
    });
  }

  template <typename From>
  static void unpackRows(const MatrixLayout &layoutC, const From *packed,
                         T *c) {
    for (int64_t i = 0; i < layoutC.rows; ++i) {
      T *row = c + i * layoutC.rowStride;
      const From *from = packed + i * layoutC.columns;
      if constexpr (isHalf<T> && std::is_same_v<From, float>)
        if (layoutC.columnStride == 1) {
          narrowRow(from, layoutC.columns, row);
          continue;
        }
      for (int64_t j = 0; j < layoutC.columns; ++j)
        row[j * layoutC.columnStride] = T(Compute<T>(from[j]));
    }
  }

  Status runOne(const Matrix<Acc> &a, const Matrix<Acc> &b, T *c, Acc alpha,
                Acc beta, Acc *packed) const {
    const int64_t m = layoutC.rows, n = layoutC.columns, k = layoutA.columns;
    if constexpr (std::is_same_v<T, Acc>)
      if (!packsC())
        return multiply(m, n, k, alpha, a, b, beta, c,
                        std::max<int64_t>(m > 1 ? layoutC.rowStride : n, 1),
                        order);
    if (beta != Acc(0))
      packRows(layoutC, c, packed);
    SHARDC_RETURN_IF_ERROR(multiply(m, n, k, alpha, a, b, beta, packed,
                                    std::max<int64_t>(n, 1), order));
    unpackC(packed, c);
    return Status::ok();
  }

  LoopNest<3> batches; ///< C, A, B
  MatrixLayout layoutA, layoutB, layoutC;
  SumOrder order;
  bool isSwapped = false;
  const std::byte *packedB = nullptr;
};

/// Scratch of one product of inputs 0 and 1 into output 0, for operands that
/// the kernel has checked; 0 for element types that it refuses when it runs.
inline int64_t productScratchBytes(const KernelCall &call, const char *kernel) {
  int64_t bytes = 0;
  const Status known =
      dispatch(NumericTypes(), call.inputs[0].element, kernel, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const BatchedProduct<T> product(call.inputs[0], call.inputs[1],
                                        call.outputs[0], call.packed[0],
                                        sumOrderOf(call));
        bytes = product.scratchBytes();
      });
  return known.isOk() ? bytes : 0;
}

/// The same of a call whose operands nobody has checked; 0 for any but
/// MatMul's, which run reports.
inline int64_t matMulScratchBytes(const KernelCall &call) {
  constexpr char kName[] = "MatMul";
  return expectMatMul(call, kName).isOk() ? productScratchBytes(call, kName)
                                          : 0;
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_PRODUCT_BATCHEDPRODUCT_H
