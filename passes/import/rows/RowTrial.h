//===- RowTrial.h - Does a row get what its request gets? -----------------===//
//
// Each op of a step stands for one of a request. Both are evaluated, on small
// sizes and random numbers: a step of two rows, and each of these as a request
// of its own, whose operands are the row's part of the step's:
//
//   row 0: past 3, 2 new    row 1: past 1, 3 new      tokens [0 0 1 1 1]
//   MatMul [1, 5, 8], w     == MatMul [1, 2, 8], w  and  MatMul [1, 3, 8], w
//
// Where a step has one row only, one is tried. So a step computes what requests compute, op by op. Equal ops are tried once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWTRIAL_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWTRIAL_H

#include "dialects/onnx/evaluate/Evaluate.h"
#include "passes/import/rows/RowBuilder.h"
#include "passes/import/rows/RowKind.h"

#include "llvm/ADT/StringSet.h"

namespace shardc::import {

class RowTrial {
public:
  /// A value of a request, and what it is in a step.
  struct Port {
    mlir::Value old, made;
    RowKind kind;
  };

  RowTrial(const RowSizes &sizes, const RowInputs &inputs)
      : sizes(sizes), inputs(inputs) {}

  /// Where a result of the op is not what its row of the step has; empty if
  /// nowhere. What the step makes of `any`, if it is not null, is tried for any
  /// numbers of it.
  std::string differenceOf(mlir::Operation *op, llvm::ArrayRef<Port> operands,
                           llvm::ArrayRef<Port> results, mlir::Value any = {});

  unsigned numTried = 0;   ///< distinct ops
  unsigned numUnknown = 0; ///< of which there is no evaluation: believed

private:
  const RowSizes &sizes;
  const RowInputs &inputs;
  llvm::StringSet<> seen;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWTRIAL_H
