//===- Terms.h - What a value means, independent of where it lives --------===//
//
// The term of a value is a fingerprint of the computation that gives its global
// value: the op with its attributes, the terms of its operands, its global
// type. Collectives and reshards have the term of their operand.
//
//   %p = onnx.MatMul %a, %w          term H("MatMul", term(a), term(w), f32 b s
//   96) %y = dist.all_reduce %p          term(p)
//
// Names of values, locations and the order of independent ops do not count.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_TERMS_H
#define SHARDC_PASSES_VERIFY_TERMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MD5.h"

#include <array>

namespace shardc::verify {

using Term = std::array<uint8_t, 16>;

class Terms {
public:
  /// Terms of all values of a function.
  explicit Terms(mlir::func::FuncOp function);

  Term of(mlir::Value value) const { return terms.lookup(value); }
  llvm::SmallVector<Term> outputs() const { return returned; }
  /// Over all outputs, names of inputs and outputs, and guards, as hex digits.
  std::string fingerprint() const;

private:
  void addOp(mlir::Operation &op);
  /// What a body computes of its arguments.
  Term bodyTerm(mlir::Region &body);
  /// Text of an attribute; the same few attributes occur at many ops.
  llvm::StringRef text(mlir::Attribute attribute);
  Term hash(llvm::ArrayRef<llvm::StringRef> parts) const;
  /// Element type and global dims.
  std::string typeText(mlir::Type type);

  llvm::DenseMap<mlir::Value, Term> terms;
  llvm::DenseMap<mlir::Attribute, std::string> texts;
  llvm::DenseMap<mlir::Type, std::string> typeTexts;
  llvm::SmallVector<Term> returned;
  llvm::SmallVector<llvm::StringRef> names; ///< of outputs
  llvm::SmallVector<std::string> guards;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_TERMS_H
