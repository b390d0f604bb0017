//===- Product.cpp - com.microsoft: fused products ------------------------===//

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
  if (activation == "Clip" && alpha && beta) {
    auto bound = [&](const APFloat &value) {
      return d.number(d.element(input), value.convertToDouble());
    };
    return d.make<ClipOp>({input, bound(*alpha), bound(*beta)});
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

LogicalResult MicrosoftFusedConvOp::inferTypes(ShapeInference &inference) {
  enum Input { kBias = 2, kAddend };
  Decomposition d(*this, inference);
  SmallVector<Value, 3> operands = {getInput(), getFilter()};
  if (Value bias = d.operand(kBias))
    operands.push_back(bias);
  SmallVector<NamedAttribute, 6> attributes;
  for (NamedAttribute attribute : (*this)->getAttrs())
    if (!attribute.getName().strref().starts_with("activation"))
      attributes.push_back(attribute);
  Value result = d.make<ConvOp>(operands, attributes);
  if (Value addend = d.operand(kAddend))
    result = d.add(result, addend);
  SmallVector<APFloat, 2> params;
  if (ArrayAttr given = getActivationParamsAttr())
    for (FloatAttr number : given.getAsRange<FloatAttr>())
      params.push_back(number.getValue());
  auto param = [&](size_t i) {
    return i < params.size() ? std::optional(params[i]) : std::nullopt;
  };
  return d.replaceBy(
      {activate(d, result, getActivation(), param(0), param(1))});
}

} // namespace shardc::onnx
