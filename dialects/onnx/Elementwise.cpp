//===- Elementwise.cpp - Shape functions of elementwise ops ---------------===//

#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Arithmetic.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// Element by element, broadcast; nothing unless every element folds.
static std::optional<KnownValue> foldUnary(Operation *op,
                                           ShapeInference &inference,
                                           UnaryFold fold, Type element) {
  const KnownValue *operand = inference.known(op->getOperand(0));
  if (!fold || !operand)
    return std::nullopt;
  FoldSite site{op, inference, operand->element};
  KnownValue result{element, operand->shape, {}};
  for (const KnownScalar &scalar : operand->elements) {
    std::optional<KnownScalar> folded = fold(site, scalar);
    folded = folded ? storeAs(element, *folded) : std::nullopt;
    if (!folded)
      return std::nullopt;
    result.elements.push_back(*folded);
  }
  return result;
}

LogicalResult inferUnary(Operation *op, ShapeInference &inference,
                         UnaryFold fold, bool isPredicate) {
  Value operand = op->getOperand(0);
  Type element =
      isPredicate ? inference.builder.getI1Type() : inference.element(operand);
  if (std::optional<KnownValue> value = foldUnary(op, inference, fold, element))
    inference.setKnown(op->getResult(0), std::move(*value));
  else
    inference.setType(op->getResult(0), element, inference.dims(operand));
  return success();
}

static std::optional<KnownValue> foldBinary(Operation *op,
                                            ShapeInference &inference,
                                            BinaryFold fold, Type element,
                                            ArrayRef<DimExpr> dims) {
  const KnownValue *lhs = inference.known(op->getOperand(0));
  const KnownValue *rhs = inference.known(op->getOperand(1));
  std::optional<SmallVector<int64_t, 4>> shape = asConstants(dims);
  if (!fold || !lhs || !rhs || !shape ||
      numElements(*shape) > ShapeInference::kMaxKnownElements)
    return std::nullopt;
  FoldSite site{op, inference, lhs->element};
  KnownValue result{element, SmallVector<int64_t, 4>(*shape), {}};
  bool folds = true;
  forEachIndex(*shape, [&](ArrayRef<int64_t> index) {
    if (!folds)
      return;
    std::optional<KnownScalar> folded =
        fold(site, lhs->elements[broadcastPosition(index, lhs->shape)],
             rhs->elements[broadcastPosition(index, rhs->shape)]);
    folded = folded ? storeAs(element, *folded) : std::nullopt;
    folds = folded.has_value();
    if (folds)
      result.elements.push_back(*folded);
  });
  return folds ? std::optional<KnownValue>(std::move(result)) : std::nullopt;
}

LogicalResult inferBinary(Operation *op, ShapeInference &inference,
                          BinaryFold fold, bool isPredicate) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  // Pow alone takes exponents of another type.
  if (!isa<PowOp>(op) && inference.element(lhs) != inference.element(rhs))
    return op->emitOpError("has operands of different types: ")
           << inference.element(lhs) << " and " << inference.element(rhs);
  FailureOr<SmallVector<DimExpr, 4>> dims =
      inference.broadcast(op, inference.dims(lhs), inference.dims(rhs));
  if (failed(dims))
    return failure();
  Type element =
      isPredicate ? inference.builder.getI1Type() : inference.element(lhs);
  if (std::optional<KnownValue> value =
          foldBinary(op, inference, fold, element, *dims))
    inference.setKnown(op->getResult(0), std::move(*value));
  else
    inference.setType(op->getResult(0), element, *dims);
  return success();
}

} // namespace shardc::onnx
