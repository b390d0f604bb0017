//===- WeightNames.h - One name for each weight of a program --------------===//
//
// The program's table and the rank files of --weights copy find each other by
// name, so both take it from here. A weight keeps the model's name; one that is
// split in two ways, or meets a constant of that name, gets a number: "w#1".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_WEIGHTNAMES_H
#define SHARDC_COMPILER_PACKAGE_WEIGHTNAMES_H

#include "dialects/rt/Rt.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace shardc::package {

/// Names of all rt.weight and rt.constant of a program, each different.
llvm::DenseMap<mlir::Operation *, std::string>
weightNames(rt::ProgramOp program);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_WEIGHTNAMES_H
