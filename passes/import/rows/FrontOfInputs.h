//===- FrontOfInputs.h - Inputs of which only the front is read -----------===//
//
// A mask may be longer than the keys, as a file has it that slices it. In a
// step each row gives as much as is read:
//
//   mask [rows, all], Slice to [batch, past + seq]    mask [batch, past + seq]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_FRONTOFINPUTS_H
#define SHARDC_PASSES_IMPORT_ROWS_FRONTOFINPUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::import {

/// Sizes of inputs that nothing but such slices reads become what these leave; the
/// slices go. For requests that give no more.
void takeFrontOfInputs(mlir::func::FuncOp function);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_FRONTOFINPUTS_H
