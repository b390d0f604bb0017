//===- RequestSymbols.h - What makes requests larger or smaller -----------===//
#ifndef SHARDC_DIALECTS_ONNX_REQUESTSYMBOLS_H
#define SHARDC_DIALECTS_ONNX_REQUESTSYMBOLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::onnx {

/// The symbols that "batch", "seq" and "past" mean: the first and second dim of
/// the first input, and how many positions the caches hold; "" where there is
/// none.
struct RequestSymbols {
  std::string batch, sequence, past;
};
RequestSymbols requestSymbols(mlir::ModuleOp imported);

/// Of a typical request, the prompt that comes first and a step behind it:
///
///   batch = 32, sequence = 1024, past = 8192
///   prompt   batch = 32, sequence = 1024, past = 0
///   step     batch = 32, sequence = 1,    past = 8192
struct RequestSizes {
  llvm::StringMap<int64_t> prompt, step;
  /// Whether steps come again and again: there is something in front of one.
  bool hasSteps = false;
};
RequestSizes requestSizes(const RequestSymbols &symbols,
                          const llvm::StringMap<int64_t> &typical);

/// What runs for them; no step where prompts run as steps, too.
struct RequestFunctions {
  mlir::func::FuncOp prompt, step;
};
RequestFunctions requestFunctions(mlir::ModuleOp imported);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_REQUESTSYMBOLS_H
