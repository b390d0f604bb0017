//===- RowReference.h - What a kernel computes of a row, plainly ----------===//
//
// The body of an rt.kernel op by op, column by column, on doubles: nothing is
// shared with the code generator, whose vectors, phases, slots, masks and
// expansions of exp and tanh are what it is there to check.
//
//   %sum = rt.reduce "sum" %x : f32      sums[j] = x[0] + x[1] + ...
//   %y = arith.divf %x, %sum : f32       y[j] = x[j] / sums[j]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_CHECK_ROWREFERENCE_H
#define SHARDC_COMPILER_CODEGEN_CHECK_ROWREFERENCE_H

#include "dialects/rt/Rt.h"

#include <vector>

namespace shardc::codegen {

/// One number a column; booleans are 0 and 1.
using RowValues = std::vector<double>;

/// `v` as an element of that type has it; f32 only where `roundsSingle`.
double roundedTo(mlir::Type type, double v, bool roundsSingle = true);

class RowReference {
public:
  /// Without `roundsSingle`, what is computed in f32 is not rounded: where that
  /// makes a difference, so may any order of additions.
  RowReference(rt::KernelOp kernel, bool roundsSingle)
      : kernel(kernel), roundsSingle(roundsSingle) {}

  /// Of inputs with `columns` numbers each. Emits an error at an op that it
  /// does not know.
  llvm::LogicalResult run(llvm::ArrayRef<RowValues> inputs, size_t columns);

  const RowValues &output(unsigned number) const { return outputs[number]; }
  /// The largest finite number on the way to a column's results.
  double magnitude(size_t column) const { return magnitudes[column]; }

private:
  llvm::LogicalResult evaluate(mlir::Operation &op, size_t columns);
  RowValues reduce(rt::ReduceOp op);

  rt::KernelOp kernel;
  const bool roundsSingle;
  llvm::DenseMap<mlir::Value, RowValues> values;
  std::vector<RowValues> outputs;
  RowValues magnitudes;
};

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_CHECK_ROWREFERENCE_H
