//===- Programs.h - Which program runs when, and what it keeps ------------===//
//
// What a program says of itself beside its instructions, against the function
// that it was made of:
//
//   func.func @step.partitioned(...)              rt.program @step
//     -> (... {onnx.cache = {input = 2,             rt.cache "append" %present
//              kind = "append", dim = 2}})            {input = 2, output = 0, ..}
//     attributes {onnx.when = {...}, ...}           attributes {onnx.when = ...}
//
// Each function is that of one program, in the same order: of several profiles
// the first one whose condition holds is run. All programs of a stage keep the
// same caches, and hold each of them alike.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_PROGRAMS_H
#define SHARDC_PASSES_VERIFY_LOWERED_PROGRAMS_H

#include "mlir/IR/BuiltinOps.h"

namespace shardc::verify {

/// Emits an error where they differ. Programs that come without a function
/// (rt.partitioned) are compared with none.
llvm::LogicalResult verifyPrograms(mlir::ModuleOp module);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_PROGRAMS_H
