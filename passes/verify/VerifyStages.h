//===- VerifyStages.h - The stages of a pipeline fit together -------------===//
#ifndef SHARDC_PASSES_VERIFY_VERIFYSTAGES_H
#define SHARDC_PASSES_VERIFY_VERIFYSTAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace shardc::verify {

/// Functions of a module that are stages of the same profile, in order.
using Pipeline = llvm::SmallVector<mlir::func::FuncOp, 4>;

/// By profile, of the functions that `isPart` says; those without a stage's
/// attributes are pipelines of one.
std::vector<Pipeline>
pipelinesOf(mlir::ModuleOp module,
            llvm::function_ref<bool(mlir::func::FuncOp)> isPart);

/// Each transfer is one send and one receive of the same type, from an earlier
/// stage to a later one; every output of the model has one stage, every input
/// all of them.
llvm::LogicalResult verifyTransfers(llvm::ArrayRef<mlir::func::FuncOp> stages);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_VERIFYSTAGES_H
