//===- BroadcastProfiles.h - Functions for sizes that broadcast -----------===//
//
// Sizes n and m of `a[n] + b[m]` broadcast if they are equal or one of them is
// 1. One function takes them as equal, which is what exporters of transformers
// mean; each symbol that may be 1 has a function of its own, in which it is:
//
//   @main_broadcast1   onnx.when = {a = {dim = 0, size = 1}}    1 and m
//   @main_broadcast2   onnx.when = {b = {dim = 0, size = 1}}    n and 1
//   @main              every other request                      n, guarded: m
//
// Those with more conditions come first. Of a request whose sizes broadcast, the
// first one that fits has no dim of 1 left that it takes to equal another: else
// the function with that condition, too, would have come before.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_BROADCASTPROFILES_H
#define SHARDC_PASSES_IMPORT_BROADCASTPROFILES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace shardc::import {

/// Infers a function's types; gives the symbols of its inputs that it took to
/// be equal to others so that they broadcast.
using InferFunction =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<std::string>>(
        mlir::func::FuncOp)>;

/// Infers `function`, and beside it the functions in which symbols are 1. None
/// if all of them together would have more than `maxOps` ops.
mlir::FailureOr<unsigned> inferProfiles(mlir::func::FuncOp function,
                                        unsigned maxOps, InferFunction infer);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_BROADCASTPROFILES_H
