//===- VerifyImported.h - What holds before anything is split -------------===//
#ifndef SHARDC_PASSES_VERIFY_VERIFYIMPORTED_H
#define SHARDC_PASSES_VERIFY_VERIFYIMPORTED_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::verify {

/// Every op is one of ours, every size a constant or an expression over
/// symbols.
llvm::LogicalResult verifyImported(mlir::func::FuncOp function);

/// Every symbol is an input's, or bound by an op before its first use. In all
/// phases.
llvm::LogicalResult verifySymbols(mlir::func::FuncOp function);

/// The bodies of control flow, of an op without any too: they take what the op
/// gives them, and are programs of their own. In all phases.
llvm::LogicalResult verifyBodies(mlir::Operation &op);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_VERIFYIMPORTED_H
