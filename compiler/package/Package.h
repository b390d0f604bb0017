//===- Package.h - Writes the artifact folder -----------------------------===//
//
// The folder appears complete or not at all: it is written under a temporary
// name beside its place and renamed at the end. Its format is Format.h's.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_PACKAGE_H
#define SHARDC_COMPILER_PACKAGE_PACKAGE_H

#include "mlir/IR/BuiltinOps.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace shardc::package {

struct PackageOptions {
  std::string output;      ///< folder; an artifact that is there is replaced
  std::string modelFolder; ///< where the module's weights are
  bool copyWeights = false;
  int64_t microBatches = 1;    ///< where all programs know their batch
  std::string target = "host"; ///< backend that runs it unless told otherwise
  std::string modelFile = {};  ///< ONNX model, in that folder; may be empty
  /// Gets what takes long, and which part of it is done; may be empty.
  std::function<void(llvm::StringRef what, double done)> progress = {};
};

/// Writes a module of phase lowered. `report` is added to the manifest for
/// people. Errors are emitted at the module.
llvm::LogicalResult writeArtifact(mlir::ModuleOp module,
                                  const PackageOptions &options,
                                  const nlohmann::json &report);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_PACKAGE_H
