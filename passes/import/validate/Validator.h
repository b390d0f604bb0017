//===- Validator.h - Does a recovery compute what it replaces? ------------===//
//
// Asked by each pass that recovers a structure, before it replaces a value:
//
//   Validator validator;
//   validator.enter(block);
//   ...
//   if (!validator.allows(old, made, "attention"))
//     return false;            // a warning says where they differ
//   old.replaceAllUsesWith(made);
//
// Both values are evaluated on small sizes and on numbers that show differences
// (SmallSizes.h, Samples.h), by a reference that shares nothing with the
// runtime (dialects/onnx/evaluate). Equal structures are evaluated once.
//
// First both are functions of what they have in common; if they differ as such,
// more and more of what that is made of is looked at, and sizes are the
// model's own.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_VALIDATOR_H
#define SHARDC_PASSES_IMPORT_VALIDATE_VALIDATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/import/validate/SmallSizes.h"

#include <map>

namespace shardc::import {

struct Verdict {
  enum Kind {
    Same,
    Different,
    Unknown, ///< not all of it can be evaluated
  } kind = Unknown;
  std::string sizes, difference; ///< where they differ
  unsigned which = 0;            ///< of several values
};

class Validator {
public:
  /// Recoveries in `block` follow; none of its ops may be erased until the
  /// last of them.
  void enter(mlir::Block &block);
  /// What is assumed of sizes in it from now on, in place of its guards.
  void assume(llvm::ArrayRef<SizeGuard> assumed) { guards.assign(assumed); }
  /// An op was put in, maybe where one was that is erased.
  void insert(mlir::Operation *op) { order.insert(op); }

  /// Whether `made` may replace `old`; else warns at the node of `old`.
  bool allows(mlir::Value old, mlir::Value made, llvm::StringRef what);

  Verdict verdictOn(mlir::Value old, mlir::Value made);
  /// Of several results of an op that has a definition; `prepare` says what is
  /// known of the region's leaves.
  using Prepare = llvm::function_ref<void(Region &)>;
  Verdict verdictOnDefined(llvm::ArrayRef<mlir::Value> old,
                           llvm::ArrayRef<mlir::Value> made, Prepare prepare);

  unsigned numEvaluated = 0; ///< distinct structures
  unsigned numUndone = 0;    ///< recoveries
  unsigned numUnknown = 0;   ///< recoveries that are believed

private:
  using Key = std::vector<const void *>;

  Verdict verdictOn(llvm::ArrayRef<mlir::Value> old,
                    llvm::ArrayRef<mlir::Value> made, bool isDefined,
                    Prepare prepare);
  static Key keyOf(const Region &region, const SizeFacts &facts);

  OpOrder order;
  SizeGuards guards; ///< in the block
  std::map<Key, Verdict> verdicts;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_VALIDATOR_H
