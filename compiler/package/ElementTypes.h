//===- ElementTypes.h - MLIR's types as the artifact has them -------------===//
#ifndef SHARDC_COMPILER_PACKAGE_ELEMENTTYPES_H
#define SHARDC_COMPILER_PACKAGE_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include "runtime/artifact/Format.h"

#include <optional>

namespace shardc::package {

/// The artifact's element type; nothing for types that it does not have.
std::optional<artifact::ElementType> elementType(mlir::Type type);

/// The same, or an error at `op`.
llvm::FailureOr<artifact::ElementType> elementType(mlir::Operation *op,
                                                   mlir::Type type);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_ELEMENTTYPES_H
