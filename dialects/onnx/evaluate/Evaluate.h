//===- Evaluate.h - What an op computes, on numbers -----------------------===//
//
// The reference that recovery is checked against: plain, in double, and without
// a line of the runtime's kernels. Each family of ops has a file of the same
// stem that says what its ops compute; what an op of several others computes is
// written in terms of those (`Attention.cpp`: products, softmax), with the
// precision that its kernels have. Operators of com.microsoft are defined apart
// (microsoft/Definition.h).
//
//   %y = onnx.Add %x, %c : tensor<seq x 2 x f16>   with seq = 1
//   x = [[1, 2]], c = [65504, 0]  ->  y = [[65505 or 65504, 2]]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_EVALUATE_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_EVALUATE_H

#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/evaluate/Sizes.h"

namespace shardc::onnx::evaluate {

enum class Outcome {
  Done,
  Unknown, ///< there is no evaluation of this op, or of this form of it
  Unfit,   ///< sizes do not fit each other
  Invalid, ///< ONNX gives no meaning to these operands: an index too large
};

/// One op on numbers.
struct Call {
  mlir::Operation *op;
  llvm::ArrayRef<const Tensor *> operands;
  Sizes &sizes;
  Precision precision;
  /// Whether a product of finite operands was out of its type's range.
  bool &overflows;
  llvm::SmallVector<Tensor, 2> results = {};

  const Tensor &operand(unsigned i) const { return *operands[i]; }
  bool has(unsigned i) const {
    return i < operands.size() && operands[i]->element;
  }
  mlir::Type resultElement(unsigned i = 0) const;
  /// The sizes of a result's type.
  std::optional<Shape> resultShape(unsigned i = 0) const;
  /// Adds a result of zeros, of that type, for a function to fill.
  Tensor *addResult(unsigned i = 0);
  Outcome finish(Tensor result);
};

using EvaluateOp = Outcome (*)(Call &);

/// How ops are evaluated, by op.
class Evaluators {
public:
  static const Evaluators &get();

  /// Null if it is not known.
  EvaluateOp find(mlir::Operation *op) const {
    return functions.lookup(op->getName().getTypeID());
  }
  template <typename OpTy> void add(EvaluateOp function) {
    functions[mlir::TypeID::get<OpTy>()] = function;
  }

private:
  Evaluators();
  llvm::DenseMap<mlir::TypeID, EvaluateOp> functions;
};

/// Evaluates an op, and binds symbols of its results' types that only its data
/// knows.
Outcome evaluateOp(Call &call);

/// One function a family, as the ops are.
void addActivation(Evaluators &all);
void addArithmetic(Evaluators &all);
void addAttention(Evaluators &all);
void addBitwise(Evaluators &all);
void addCache(Evaluators &all);
void addContraction(Evaluators &all);
void addDynamic(Evaluators &all);
void addExperts(Evaluators &all);
void addIndexing(Evaluators &all);
void addLayout(Evaluators &all);
void addLogic(Evaluators &all);
void addMath(Evaluators &all);
void addNormalization(Evaluators &all);
void addPages(Evaluators &all);
void addQuantization(Evaluators &all);
void addReduction(Evaluators &all);
void addSource(Evaluators &all);
void addWindows(Evaluators &all);
/// Operators of com.microsoft (microsoft/Definition.h).
void addMicrosoft(Evaluators &all);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_EVALUATE_H
