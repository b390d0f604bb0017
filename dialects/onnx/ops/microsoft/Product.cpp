//===- Product.cpp - com.microsoft: fused matrix products -----------------===//

#include "dialects/onnx/ops/microsoft/Product.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Normalization.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Product.cpp.inc"

namespace shardc::onnx {

/// The operand as it enters the product: [m, b..., k] where the batch is
/// transposed becomes [b..., m, k], and then maybe [b..., k, m].
static Value arrange(Decomposition &d, Value operand, bool isTransposed,
                     bool isBatchTransposed) {
  if (d.rank(operand) < 2)
    return operand; // a vector has nothing to transpose
  if (isBatchTransposed) {
    SmallVector<int64_t> perm;
    for (int64_t i = 1, e = d.rank(operand) - 1; i < e; ++i)
      perm.push_back(i);
    perm.append({0, d.rank(operand) - 1});
    operand = d.transpose(operand, perm);
  }
  return isTransposed ? d.transposeLast(operand) : operand;
}

template <typename OpTy> static Value product(Decomposition &d, OpTy op) {
  Value lhs = arrange(d, op.getLhs(), op.getTransA(), op.getTransBatchA());
  Value rhs = arrange(d, op.getRhs(), op.getTransB(), op.getTransBatchB());
  Value result = d.matmul(lhs, rhs);
  double alpha = op.getAlpha().convertToDouble();
  return alpha == 1 ? result
                    : d.mul(result, d.number(d.element(op.getLhs()), alpha));
}

LogicalResult MicrosoftFusedMatMulOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return d.replaceBy({product(d, *this)});
}

LogicalResult
MicrosoftTransposeMatMulOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return d.replaceBy({product(d, *this)});
}

/// ONNX's activation of that name; an error if there is none.
static Value activate(Decomposition &d, Value input, StringRef activation,
                      std::optional<APFloat> alpha,
                      std::optional<APFloat> beta) {
  SmallVector<NamedAttribute, 2> attributes;
  if (alpha)
    attributes.push_back(d.attribute("alpha", *alpha));
  if (activation == "" || !input)
    return input;
  if (activation == "Relu")
    return d.make<ReluOp>({input});
  if (activation == "Sigmoid")
    return d.make<SigmoidOp>({input});
  if (activation == "Tanh")
    return d.make<TanhOp>({input});
  if (activation == "LeakyRelu")
    return d.make<LeakyReluOp>({input}, attributes);
  if (activation == "HardSigmoid") {
    if (beta)
      attributes.push_back(d.attribute("beta", *beta));
    return d.make<HardSigmoidOp>({input}, attributes);
  }
  (void)d.refuse("activation " + activation,
                 "export again without ONNX Runtime's optimizer");
  return {};
}

LogicalResult
MicrosoftFusedMatMulActivationOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value result = product(d, *this);
  if (getActivation() == "Softmax" && result)
    return d.replaceBy({d.make<SoftmaxOp>(
        {result}, d.attribute("axis", getActivationAxis()))});
  return d.replaceBy({activate(d, result, getActivation(), getActivationAlpha(),
                               getActivationBeta())});
}

LogicalResult MicrosoftFusedGemmOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<Value, 3> operands = {getLhs(), getRhs()};
  if (Value addend = d.operand(2))
    operands.push_back(addend);
  Value result = d.make<GemmOp>(operands, {d.attribute("alpha", getAlpha()),
                                           d.attribute("beta", getBeta()),
                                           d.attribute("transA", getTransA()),
                                           d.attribute("transB", getTransB())});
  return d.replaceBy({activate(d, result, getActivation(), getActivationAlpha(),
                               getActivationBeta())});
}

} // namespace shardc::onnx
