//===- Profiles.h - Which requests a function is for ----------------------===//
//
// A model may have several functions, its profiles. `onnx.when` of one says by
// the names of inputs which requests it is for: a boolean one has this value, a
// dim of one has this size. The first profile whose conditions hold is run; the
// last one has none, or the values of a branch that nothing else covers.
//
//   @main_decode   onnx.when = {ids = {dim = 1 : i64, size = 1 : i64}}
//   @main_prefill  no onnx.when: every other request
//
// Several sizes of one input are a list.
//
// `onnx.profile` is the word for those of a decoder: "decode" or "prefill".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_PROFILES_H
#define SHARDC_DIALECTS_ONNX_PROFILES_H

#include "dialects/dist/algebra/DimExpr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace shardc::onnx {

inline constexpr llvm::StringLiteral kDecode = "decode";
inline constexpr llvm::StringLiteral kPrefill = "prefill";

struct Condition {
  llvm::StringRef input;
  std::optional<bool> value; ///< of the input's one element; else:
  int64_t dim = 0, size = 0;
};

/// Why an `onnx.when` says nothing, or "".
std::string findProblem(mlir::DictionaryAttr when);

/// What an `onnx.when` without problem says; null says nothing.
llvm::SmallVector<Condition, 2> conditionsOf(mlir::DictionaryAttr when);

/// The attribute for "this dim of the input has this size".
mlir::DictionaryAttr sizeCondition(mlir::MLIRContext *context, int64_t dim,
                                   int64_t size);

/// Adds to what must hold of a request for the function; the input has no
/// condition on its value.
void addCondition(mlir::Operation *function, mlir::StringAttr input,
                  mlir::DictionaryAttr condition);

/// The name of an input that has a dim of just this size, and which.
std::optional<std::pair<mlir::StringAttr, int64_t>>
inputWithSize(mlir::FunctionOpInterface function, dist::DimExpr size);

/// The symbols of its inputs that a function's conditions say, with their sizes.
llvm::StringMap<int64_t> boundSymbols(mlir::FunctionOpInterface function);

/// Whether a function is for one position at a time.
bool isDecode(mlir::Operation *function);

/// Whether a function is for some sizes alone: another one is for all others.
bool isForSizes(mlir::Operation *function);

/// "use_cache=true, decode": what people call the profile; "" for the only one.
std::string profileText(mlir::Operation *function);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_PROFILES_H
