//===- QuantizedFile.h - Makes the file of quantised weights --------------===//
//
// Of all matrices that a module lists (dialects/onnx/QuantizedMatrix.h), one
// after the other: in memory there is what one of them becomes, and a few rows
// of its source.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_QUANTIZE_QUANTIZEDFILE_H
#define SHARDC_COMPILER_QUANTIZE_QUANTIZEDFILE_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace shardc::quantize {

/// Whether the module has any.
bool hasQuantizedWeights(mlir::ModuleOp module);

/// "" or what went wrong. `progress`, if there is one, gets which part is done.
std::string
writeQuantizedFile(mlir::ModuleOp module, const std::string &modelFolder,
                   const std::string &path,
                   const std::function<void(double)> &progress = {});

/// Where a file of weights is: in the model's folder, or the one made here.
std::string pathOf(llvm::StringRef file, const std::string &modelFolder,
                   const std::string &quantizedFile);

} // namespace shardc::quantize

#endif // SHARDC_COMPILER_QUANTIZE_QUANTIZEDFILE_H
