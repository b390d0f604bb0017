//===- CallForm.h - The call that an op becomes ---------------------------===//
//
// What is expected of the call that computes an op: its kernel, what the
// kernel is told, and which element of which operand each of its inputs shows.
// Most ops are a kernel of their name, with their own attributes, on their
// operands, broadcast; what is otherwise is said here once more, apart from
// the lowering.
//
//   onnx.Gemm %a, %b {transB = 1}     the kernel "Gemm"; element [k, n] of its
//                                     second input is element [n, k] of %b
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_CALLFORM_H
#define SHARDC_PASSES_VERIFY_LOWERED_CALLFORM_H

#include "passes/verify/lowered/Reference.h"

namespace shardc::verify {

/// A call, or one of those that it stands for.
struct CallText {
  llvm::StringRef kernel;
  mlir::DictionaryAttr config;
  llvm::SmallVector<bool, 6> isThere; ///< of its inputs; absent ones are false
  int64_t rank = 0;                   ///< of what it makes
  Index element = {};                 ///< of the op's result, that it makes
};

struct CallForm {
  std::string problem; ///< why it is not the call of the op, or ""
  /// Whether each row and column of the result is computed by itself, from a
  /// row of input 0 and a column of the others.
  bool isProduct = false;
  /// Whether element by element.
  bool isElementwise = false;
  struct Input {
    /// Of what the call sees; nothing where it sees what is not there.
    std::function<std::optional<ReferenceElement>(llvm::ArrayRef<int64_t>)>
        element;
    bool isColumn = false; ///< of a product: [..., depth, column]
  };
  llvm::SmallVector<Input, 6> inputs; ///< as many as the call has
};

/// Why one of these entries does not say what the op does, or "".
std::string problemOfConfig(mlir::Operation *op, const CallText &call,
                            const Point &point);

CallForm callFormOf(mlir::Operation *op, const CallText &call,
                    Reference &reference);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_CALLFORM_H
