//===- WeightNames.h - One name for each weight of an artifact ------------===//
//
// The programs' tables and the rank files of --weights copy find each other by
// name, so both take it from here. A weight keeps the model's name; one that is
// split in two ways, or meets a constant of that name, gets a number: "w#1".
// Profiles that hold the same part of a weight call it the same.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_WEIGHTNAMES_H
#define SHARDC_COMPILER_PACKAGE_WEIGHTNAMES_H

#include "dialects/rt/Rt.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace shardc::package {

/// By rt.weight and rt.constant; within one program each is different.
using WeightNames = llvm::DenseMap<mlir::Operation *, std::string>;
WeightNames weightNames(mlir::ModuleOp module);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_WEIGHTNAMES_H
