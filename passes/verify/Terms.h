//===- Terms.h - What a value means, independent of where it lives --------===//
//
// The term of a value is a fingerprint of the computation that gives its global
// value: the op with its attributes, the terms of its operands, its global
// type. Collectives and reshards have the term of their operand.
//
//   %p = onnx.MatMul %a, %w     H("MatMul", term(a), term(w), f32 b s 96)
//   %y = dist.all_reduce %p     term(p)
//
// Names of values, locations and the order of independent ops do not count. A
// size that a profile's condition says is its number: whether it is bound
// already (lower/BindSizes.cpp) makes no difference.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_TERMS_H
#define SHARDC_PASSES_VERIFY_TERMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MD5.h"

#include <array>
#include <map>

namespace shardc::verify {

using Term = std::array<uint8_t, 16>;

class Terms {
public:
  /// Terms of all values of a function. What it receives from another stage has
  /// a term of its own; what it sends counts like an output.
  explicit Terms(mlir::func::FuncOp function);
  /// Of all stages of a pipeline, in order: what is received is what was sent.
  explicit Terms(llvm::ArrayRef<mlir::func::FuncOp> stages);

  Term of(mlir::Value value) const { return terms.lookup(value); }
  llvm::SmallVector<Term> outputs() const { return returned; }
  /// Over all outputs, all inputs (of the first stage), with their names, the
  /// types in which callers hand them in and the caches that they are, and
  /// guards, as hex digits. Of a model with several profiles, the first one
  /// whose condition holds is run: their order counts.
  std::string fingerprint(size_t profile = 0, size_t numProfiles = 1) const;

private:
  void bindSizes(mlir::func::FuncOp function);
  void addFunction(mlir::func::FuncOp function);
  void addOp(mlir::Operation &op);
  void addTransfer(mlir::Operation &op);
  void finish();
  /// What a body computes of its arguments.
  Term bodyTerm(mlir::Region &body);
  llvm::StringRef attributesOf(mlir::Operation &op);
  /// Text of an attribute; the same few attributes occur at many ops.
  llvm::StringRef text(mlir::Attribute attribute);
  Term hash(llvm::ArrayRef<llvm::StringRef> parts) const;
  /// Element type and global dims.
  std::string typeText(mlir::Type type);

  llvm::DenseMap<mlir::Value, Term> terms;
  llvm::DenseMap<mlir::Attribute, std::string> texts;
  llvm::DenseMap<mlir::Type, std::string> typeTexts;
  llvm::StringMap<int64_t> bound; ///< symbols that a condition says
  mlir::AttrTypeReplacer replacer;
  bool isPipeline = false;
  llvm::DenseMap<int64_t, Term> sent; ///< in a pipeline, by transfer
  /// What is known of an output beside its term: name, given type, cache.
  std::string port(mlir::DictionaryAttr attributes);
  std::map<int64_t, std::pair<Term, std::string>> results; ///< with their ports
  llvm::SmallVector<Term> inputs, returned;
  llvm::SmallVector<std::string> guards;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_TERMS_H
