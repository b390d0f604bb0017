//===- RowReference.h - What a kernel computes of a row, plainly ----------===//
//
// The body of an rt.kernel op by op, column by column, on doubles. It is between
// the ops of a model that a kernel stands for and the code that is generated
// for it, and each is compared with it. Nothing is shared with the code
// generator, whose vectors, phases, slots, masks and expansions of exp and tanh
// are what it is there to check.
//
//   %sum = rt.reduce "sum" %x : f32      sums[j] = x[0] + x[1] + ...
//   %y = arith.divf %x, %sum : f32       y[j] = x[j] / sums[j]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_RT_ROWREFERENCE_H
#define SHARDC_DIALECTS_RT_ROWREFERENCE_H

#include "dialects/rt/Rt.h"

#include <random>
#include <vector>

namespace shardc::rt {

/// One number a column; booleans are 0 and 1.
using RowValues = std::vector<double>;

/// `v` as an element of that type has it.
double roundedTo(mlir::Type type, double v);

/// Code that rounds each step may give anything from value - error to value +
/// error. Infinite where neither tells anything of the other: what is left of a
/// sum that cancels was divided by, or sums overflow in one order alone.
struct Bounded {
  double value = 0, error = 0;
};

/// Evaluates a body with bounds that follow each rounding through it (running
/// error analysis: Higham, Accuracy and Stability of Numerical Algorithms, 3.3).
/// Of x / sqrt(mean(x x) + eps) with a tiny x nearly all is eps, and bounds are
/// some 1e-6 of the result: another eps is seen there.
class RowReference {
public:
  explicit RowReference(KernelOp kernel) : kernel(kernel) {}

  /// Of inputs with `columns` numbers each. Emits an error at an op that it
  /// does not know.
  llvm::LogicalResult run(llvm::ArrayRef<RowValues> inputs, size_t columns);

  double expected(unsigned output, size_t column) const {
    return outputs[output][column].value;
  }
  /// Whether a result of that type is what the body computes.
  bool allows(unsigned output, size_t column, double found,
              mlir::Type type) const;

private:
  using Row = std::vector<Bounded>;

  llvm::LogicalResult evaluate(mlir::Operation &op, size_t columns);
  Bounded reduce(ReduceOp op);

  KernelOp kernel;
  llvm::DenseMap<mlir::Value, Row> values;
  std::vector<Row> outputs;
  RowValues largest; ///< finite input of a column
};

/// A number of row `row` of kRowSamples. Row 0 is ordinary; then large, tiny,
/// few values with ties and zeros of both signs, what is not finite, and tinier
/// than the square root of any epsilon.
constexpr int64_t kRowSamples = 6;
double rowSample(int64_t row, std::mt19937 &random);

} // namespace shardc::rt

#endif // SHARDC_DIALECTS_RT_ROWREFERENCE_H
