//===- FunctionInfo.h - What is known of a function beside its body -------===//
//
// The attributes of functions, their arguments and results, and of the module,
// by their types. No other place knows their names.
//
//   func.func @main_decode(
//       %0: ... {onnx.name = "ids"},
//       %1: ... {onnx.name = "past", onnx.given = f32})
//       -> (... {onnx.name = "present", onnx.given = f32,
//                onnx.cache = {input = 1, kind = "append", dim = 2},
//                onnx.declared = tensor<?x8xf32>})      as read from a file
//       attributes {onnx.when = {ids = {dim = 1, size = 1}},
//                   onnx.profile = "decode",      see Profiles.h
//                   onnx.fingerprint = "...",     see verify/Terms.h
//                   onnx.page = 64, onnx.causal,  of a step of rows
//                   dist.stage = 1,               absent where there is one
//                   dist.outputs = [0],           of the model, its results
//                   dist.batch_inputs = [0],      see AxisRoles.h
//                   dist.sharded = @main.sharded} what it computes a part of
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_FUNCTIONINFO_H
#define SHARDC_DIALECTS_ONNX_FUNCTIONINFO_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>

namespace shardc::onnx {

/// An output that is present of a cache whose past is an input. `kind` says
/// what the function does with it: append, set, keep or write, see rt.cache.
struct CacheInfo {
  mlir::StringAttr kind;
  int64_t input = 0, output = 0;
  std::optional<int64_t> dim; ///< that grows
};

/// View on a func.func, or on the rt.program that it became, which has no ports
/// of its own.
class FunctionInfo {
public:
  /*implicit*/ FunctionInfo(mlir::Operation *function) : function(function) {}

  /// Emits an error where an attribute is not of the form that the others here
  /// rely on, as in text that nobody checked.
  llvm::LogicalResult verify() const;

  //===--- Ports ----------------------------------------------------------===//

  /// Null where it has none.
  mlir::StringAttr inputName(unsigned input) const;
  mlir::StringAttr outputName(unsigned output) const;
  void setInputName(unsigned input, const llvm::Twine &name);
  void setOutputName(unsigned output, const llvm::Twine &name);
  /// The type in which callers hand it in or take it, where that differs.
  mlir::TypeAttr inputGiven(unsigned input) const;
  mlir::TypeAttr outputGiven(unsigned output) const;
  void setInputGiven(unsigned input, mlir::TypeAttr type);
  void setOutputGiven(unsigned output, mlir::TypeAttr type);
  /// The type that the file says an output has; null once it was compared with
  /// the inferred one.
  mlir::TypeAttr outputDeclared(unsigned output) const;
  void setOutputDeclared(unsigned output, mlir::Type type);
  void removeOutputDeclared(unsigned output);
  std::optional<CacheInfo> cache(unsigned output) const;
  /// In the order of the outputs.
  llvm::SmallVector<CacheInfo> caches() const;
  void setCache(const CacheInfo &cache);

  //===--- Profile --------------------------------------------------------===//

  /// See Profiles.h; null where it is for every request.
  mlir::DictionaryAttr when() const;
  void setWhen(mlir::DictionaryAttr when);
  mlir::StringAttr profile() const;
  void setProfile(llvm::StringRef profile);
  /// Of what the imported model computes.
  mlir::StringAttr fingerprint() const;
  /// Positions of a page of its caches, of a step of rows; 0: for requests.
  int64_t page() const;
  void setPage(int64_t positions);
  /// Of a step of rows: what a position has follows from it and those before it,
  /// however they are spread over steps.
  bool isCausal() const;
  void setCausal(bool isCausal);
  void setFingerprint(llvm::StringRef fingerprint);

  //===--- Place ----------------------------------------------------------===//

  bool isStage() const;
  /// 0 where there is one stage.
  int64_t stage() const;
  void setStage(int64_t stage);
  /// The output of the model that is result `index`.
  int64_t modelOutput(unsigned index) const;
  void setModelOutputs(llvm::ArrayRef<int64_t> outputs);
  /// Inputs whose first dim is a batch of which each row is computed by itself.
  std::optional<llvm::ArrayRef<int64_t>> batchInputs() const;
  void setBatchInputs(llvm::ArrayRef<int64_t> inputs);
  void removeBatchInputs();
  /// The function that a rank's program computes its part of; null of others.
  mlir::FlatSymbolRefAttr sharded() const;
  bool isProgram() const { return sharded() != nullptr; }
  void setSharded(mlir::SymbolOpInterface sharded);

  /// What every program made of it keeps: requests, stage, batch.
  void copyTo(mlir::Operation *program) const;
  /// The first of these in which a program made of it differs.
  std::optional<llvm::StringRef> firstNotCopied(mlir::Operation *program) const;
  /// The first of these in which `other` differs, or which outputs it has.
  std::optional<llvm::StringRef> firstOtherPlace(FunctionInfo other) const;

private:
  mlir::FunctionOpInterface ports() const {
    return llvm::cast<mlir::FunctionOpInterface>(function);
  }

  mlir::Operation *function;
};

/// Where a module's model comes from.
struct ModelInfo {
  std::optional<int64_t> opset; ///< nothing where no importer said it
  std::string folder = ".", file;
};
ModelInfo modelInfo(mlir::ModuleOp module);
void setModelInfo(mlir::ModuleOp module, const ModelInfo &info);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_FUNCTIONINFO_H
