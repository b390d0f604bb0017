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

/// `v` as an element of that type has it; f32 only where `roundsSingle`.
double roundedTo(mlir::Type type, double v, bool roundsSingle = true);

class RowReference {
public:
  /// Without `roundsSingle`, what is computed in f32 is not rounded: where that
  /// makes a difference, so may any order of additions.
  RowReference(KernelOp kernel, bool roundsSingle)
      : kernel(kernel), roundsSingle(roundsSingle) {}

  /// Of inputs with `columns` numbers each. Emits an error at an op that it
  /// does not know.
  llvm::LogicalResult run(llvm::ArrayRef<RowValues> inputs, size_t columns);

  const RowValues &output(unsigned number) const { return outputs[number]; }
  /// The largest finite number on the way to a column's results.
  double magnitude(size_t column) const { return magnitudes[column]; }

private:
  llvm::LogicalResult evaluate(mlir::Operation &op, size_t columns);
  RowValues reduce(ReduceOp op);

  KernelOp kernel;
  const bool roundsSingle;
  llvm::DenseMap<mlir::Value, RowValues> values;
  std::vector<RowValues> outputs;
  RowValues magnitudes;
};

/// A number of row `row` of kRowSamples. Row 0 is ordinary; then large, tiny,
/// few values with ties and zeros of both signs, and what is not finite.
constexpr int64_t kRowSamples = 5;
double rowSample(int64_t row, std::mt19937 &random);

/// A row's results with and without rounding to f32. What is like either of
/// them is right: where a comparison or a step to the next integer makes them
/// differ, both are. Where they have nothing in common, anything is.
class RowResults {
public:
  explicit RowResults(KernelOp kernel)
      : single(kernel, /*roundsSingle=*/true),
        exact(kernel, /*roundsSingle=*/false) {}

  llvm::LogicalResult run(llvm::ArrayRef<RowValues> inputs, size_t columns);
  bool allows(unsigned output, size_t column, double found,
              mlir::Type type) const;
  double expected(unsigned output, size_t column) const {
    return single.output(output)[column];
  }

private:
  bool isLeftToRounding(double a, double b, size_t column) const;
  bool isNear(double found, double expected, double slack, size_t column,
              mlir::Type type) const;

  RowReference single, exact;
};

} // namespace shardc::rt

#endif // SHARDC_DIALECTS_RT_ROWREFERENCE_H
