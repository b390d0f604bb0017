//===- Tensor.h - Concrete values at compile time -------------------------===//
//
// What the reference evaluator computes with: each element a double, whatever
// its type, in row-major order.
//
//   f16 [2] = 65504, 1     times 2     -> inf, 2
//
// Rounding to the element type is apart from its range: what does not fit is
// infinite in any case, but only Rounded cuts digits off. Integers are exact up
// to 2^53.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_TENSOR_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc::onnx::evaluate {

using Shape = llvm::SmallVector<int64_t, 4>;

struct Tensor {
  mlir::Type element; ///< null: absent
  Shape shape;
  std::vector<double> data;

  Tensor() = default;
  /// All zeros.
  Tensor(mlir::Type element, llvm::ArrayRef<int64_t> shape);

  int64_t size() const { return int64_t(data.size()); }
  int64_t rank() const { return int64_t(shape.size()); }
};

/// The integer that it is; nothing for what 64 bits do not hold.
std::optional<int64_t> integerOf(double value);

/// How many digits the evaluation keeps.
enum class Precision { Exact, Rounded };

/// More elements than are ever evaluated; sums of so many are numbers still.
inline constexpr int64_t kMostElements = int64_t(1) << 40;
/// How many elements there are, at most kMostElements.
int64_t countOf(llvm::ArrayRef<int64_t> shape);

/// Elements from one index to the next, for each dim.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

/// Strides of `shape` in a walk over the dims of `whole`, which it broadcasts
/// to: 0 along what is repeated.
Shape broadcastStrides(llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> whole);

/// False if the shapes do not broadcast to each other.
bool broadcast(Shape &shape, llvm::ArrayRef<int64_t> other);

/// Calls visit(positions) for each index of `shape` in row-major order, with
/// the position that each of the strides leads to.
template <size_t N, typename Visit>
void forEachPosition(llvm::ArrayRef<int64_t> shape, const Shape (&strides)[N],
                     Visit visit) {
  const int64_t count = countOf(shape);
  Shape index(shape.size(), 0);
  int64_t at[N] = {};
  for (int64_t i = 0; i < count; ++i) {
    visit(at);
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      for (size_t n = 0; n < N; ++n)
        at[n] += strides[n][d];
      if (++index[d] < shape[d])
        break;
      for (size_t n = 0; n < N; ++n)
        at[n] -= strides[n][d] * shape[d];
      index[d] = 0;
    }
  }
}

/// The number as an element of that type.
double stored(mlir::Type element, double value, Precision precision);

/// All elements as elements of the tensor's type.
void store(Tensor &tensor, Precision precision);

/// Largest finite number and largest relative rounding error of a float type.
double largestOf(mlir::Type element);
double roundingOf(mlir::Type element);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_TENSOR_H
