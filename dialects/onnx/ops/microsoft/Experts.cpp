//===- Experts.cpp - com.microsoft: mixtures of experts -------------------===//
//
// Every expert computes every token, and those that were not chosen have the
// weight 0:
//
//   hidden [E, t, n] = activation(x [1, t, h] fc1 [E, h, n] + bias)
//   y      [t, h]    = sum over E of weights [E, t, 1] * (hidden fc2 [E, n, h])
//
// The n of each expert is split like that of any other MLP. The sum over n is
// one of parts until after that over E, so that one collective of [t, h] is all
// that it takes; biases of fc2 are added behind it.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Experts.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/microsoft/Quantization.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Experts.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

namespace {

/// One of the projections of all experts; null: absent.
struct Projection {
  Value weights; ///< numbers, [E, n, h]
  Value bias;    ///< [E, n]
};

template <typename OpTy> class Experts {
public:
  Experts(OpTy op, Decomposition &d) : op(op), d(d) {}

  Projection fc1, fc2, fc3;
  Value mixingLogits; ///< null: the router's own

  LogicalResult replace() {
    if (!fc1.weights || !fc2.weights)
      return failure();
    Decomposition::Dims dims = d.dims(op.getInput());
    DimExpr hidden = dims.back();
    dims.pop_back();
    tokens = dist::product(dims);
    x = d.reshape(op.getInput(), {tokens, hidden});
    Value weights = routing();
    Value inner = activate(project(fc1));
    Value result =
        combine(d.matmul(inner, d.transposeLast(fc2.weights)), weights);
    if (fc2.bias)
      result = d.add(result, d.matmul(weights, fc2.bias));
    return d.replaceBy(
        {result ? d.reshape(result, d.dims(op.getInput())) : Value()});
  }

private:
  /// [E, tokens, n].
  Value project(const Projection &fc) {
    Value result = d.matmul(x, d.transposeLast(fc.weights));
    if (!fc.bias)
      return result;
    Decomposition::Dims dims = d.dims(fc.bias);
    return d.add(result, d.reshape(fc.bias, {dims[0], 1, dims[1]}));
  }

  /// [tokens, E]: 0 for experts that were not chosen.
  Value routing();
  Value activate(Value inner);
  Value swiglu(Value gate, Value linear);

  /// [E, tokens, h] to [tokens, h].
  Value combine(Value results, Value weights) {
    Decomposition::Dims dims = d.dims(weights);
    if (!results || !weights)
      return {};
    Value factors = d.reshape(d.transposeLast(weights), {dims[1], dims[0], 1});
    return d.make<ReduceSumOp>(
        {d.mul(results, factors), d.integers({DimExpr()})},
        d.attribute("keepdims", 0));
  }

  OpTy op;
  Decomposition &d;
  DimExpr tokens;
  Value x; ///< [tokens, h]
};

} // namespace

/// Normalised, the softmax is over the chosen experts, else over all.
template <typename OpTy> Value Experts<OpTy>::routing() {
  Value logits = op.getRouterProbs();
  Decomposition::Dims dims = d.dims(logits);
  auto chosen = d.inference.create<TopKOp>(
      op, {logits, d.integers({DimExpr(int64_t(op.getK()))})},
      {d.attribute("axis", -1)}, 2);
  if (!chosen)
    return {};
  NamedAttribute last = d.attribute("axis", -1);
  auto pick = [&](Value values) {
    return d.make<GatherElementsOp>({values, chosen.getIndices()}, last);
  };
  bool isNormalized = op.getNormalizeRoutingWeights() != 0;
  Value weights;
  if (mixingLogits) {
    weights = pick(mixingLogits);
    if (isNormalized)
      weights = d.make<DivOp>(
          {weights, d.make<ReduceSumOp>({weights, d.integers({DimExpr(1)})})});
  } else {
    weights = isNormalized ? d.make<SoftmaxOp>({chosen.getValues()}, last)
                           : pick(d.make<SoftmaxOp>({logits}, last));
  }
  Value none = d.expand(d.number(d.element(logits), 0), dims);
  return d.make<ScatterElementsOp>({none, chosen.getIndices(), weights}, last);
}

/// G * sigmoid(alpha * G) * (L + beta) of clamped G and L.
template <typename OpTy> Value Experts<OpTy>::swiglu(Value gate, Value linear) {
  Type element = d.element(gate);
  if (op.getSwigluLimit()) {
    double limit = op.getSwigluLimit()->convertToDouble();
    Value high = d.number(element, limit);
    gate = d.make<MinOp>({gate, high});
    linear = d.make<ClipOp>({linear, d.number(element, -limit), high});
  }
  double alpha = op.getActivationAlpha().convertToDouble();
  double beta = op.getActivationBeta().convertToDouble();
  Value scaled = alpha == 1 ? gate : d.mul(gate, d.number(element, alpha));
  Value gated = d.mul(gate, d.make<SigmoidOp>({scaled}));
  if (beta != 0)
    linear = d.add(linear, d.number(element, beta));
  return d.mul(gated, linear);
}

template <typename OpTy> Value Experts<OpTy>::activate(Value inner) {
  StringRef type = op.getActivationType();
  Decomposition::Dims dims = d.dims(inner);
  if (!inner)
    return {};
  if (type == "swiglu") {
    if (op.getSwigluFusion() == 0)
      return swiglu(inner, project(fc3));
    std::optional<DimExpr> half = dims[2].exactDiv(2);
    if (!half) {
      op.emitOpError("has a fused swiglu of ") << dims[2].str() << " columns";
      return {};
    }
    if (op.getSwigluFusion() == 2) { // g g g l l l
      SmallVector<Value, 4> halves = d.split(inner, 2, {*half, *half});
      return swiglu(halves[0], halves[1]);
    }
    Value pairs = d.reshape(inner, {dims[0], dims[1], *half, 2}); // g l g l
    return swiglu(d.row(pairs, 3, 0), d.row(pairs, 3, 1));
  }
  Value result;
  if (type == "relu")
    result = d.make<ReluOp>({inner});
  else if (type == "gelu")
    result = d.make<GeluOp>({inner}, d.attribute("approximate", "tanh"));
  else if (type == "silu")
    result = d.mul(inner, d.make<SigmoidOp>({inner}));
  else if (type == "identity")
    result = inner;
  else
    (void)d.refuse("activation " + type, "export without fused experts");
  return result && fc3.weights ? d.mul(result, project(fc3)) : result;
}

template <typename OpTy>
static LogicalResult checkSupported(OpTy op, Decomposition &d) {
  if (op.getUseSparseMixer() != 0)
    return d.refuse("use_sparse_mixer", "export without fused experts");
  if (failed(d.expectRank(op.getInput(), "an input", {2, 3})) ||
      failed(d.expectRank(op.getRouterProbs(), "router_probs", 2)))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// MoE
//===----------------------------------------------------------------------===//

/// [E, n, h]; older releases wrote [E, h, n].
static Value columnsLast(Decomposition &d, Value weights, DimExpr inputs) {
  if (!weights || failed(d.expectRank(weights, "weights", 3)))
    return {};
  return d.dims(weights)[2] == inputs ? weights : d.transposeLast(weights);
}

LogicalResult MicrosoftMoEOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Experts<MicrosoftMoEOp> experts(*this, d);
  if (failed(checkSupported(*this, d)))
    return failure();
  DimExpr hidden = d.dims(getInput()).back();
  Value fc2 = d.operand(4);
  if (!d.operand(2) || !fc2 || failed(d.expectRank(fc2, "weights", 3)))
    return emitOpError("has no weights of fc1 or fc2");
  experts.fc1 = {columnsLast(d, d.operand(2), hidden), d.operand(3)};
  bool isOld = d.dims(fc2)[1] != hidden;
  experts.fc2 = {isOld ? d.transposeLast(fc2) : fc2, d.operand(5)};
  if (d.operand(6))
    experts.fc3 = {columnsLast(d, d.operand(6), hidden), d.operand(7)};
  return experts.replace();
}

//===----------------------------------------------------------------------===//
// QMoE
//===----------------------------------------------------------------------===//

namespace {
enum QMoEInput { kWeights = 2, kZeroPoints = 11, kRouterWeights = 14 };
}

/// Numbers [E, n, inputs] of one projection, from bytes [E, n, inputs / pack],
/// scales [E, n] or [E, n, blocks], and zero points packed along the last dim.
static Value dequantize(MicrosoftQMoEOp op, Decomposition &d, unsigned number,
                        DimExpr inputs, int64_t bits) {
  Value bytes = d.operand(kWeights + 3 * number);
  Value scales = d.operand(kWeights + 3 * number + 1);
  if (!bytes || !scales) {
    op.emitOpError("has no weights or no scales of fc") << number + 1;
    return {};
  }
  if (failed(d.expectRank(bytes, "weights", 3)))
    return {};
  if (bits != 4 && bits != 8) {
    (void)d.refuse("weights of " + Twine(bits) + " bits",
                   "quantise to 4 or 8 bits");
    return {};
  }
  Decomposition::Dims dims = {d.dims(bytes)[0], d.dims(bytes)[1], inputs};
  if (d.dims(bytes)[2] * (8 / bits) != inputs) {
    (void)d.refuse("weights in a layout of one device",
                   "export for the CPU, or with weights_prepacked=0");
    return {};
  }
  auto unpack = [&](Value packed, Decomposition::Dims wanted) {
    if (bits == 8)
      return d.reshape(packed, wanted);
    Decomposition::Dims padded = wanted;
    padded.back() = 2 * DimExpr::floorDiv(wanted.back() + 1, 2);
    return d.slice(asHalves(d, packed, padded), wanted.size() - 1, 0,
                   wanted.back());
  };
  Decomposition::Dims scaleDims = d.dims(scales);
  Decomposition::Dims aligned = scaleDims;
  if (aligned.size() == 2)
    aligned.push_back(1);
  Value data = unpack(bytes, dims);
  Value zeros =
      d.operand(kZeroPoints + number)
          ? d.reshape(unpack(d.operand(kZeroPoints + number), scaleDims),
                      aligned)
          : d.number(d.element(data), 1 << (bits - 1));
  scales = d.cast(d.reshape(scales, aligned), d.element(op.getInput()));
  return d.make<DequantizeLinearOp>(
      {data, scales, zeros},
      {d.attribute("axis", 2),
       d.attribute("block_size",
                   scaleDims.size() == 3 ? int64_t(op.getBlockSize()) : 0)});
}

LogicalResult MicrosoftQMoEOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(checkSupported(*this, d)))
    return failure();
  if (getQuantType() != "int")
    return d.refuse("weights of quant_type " + getQuantType(),
                    "quantise to integers");
  Experts<MicrosoftQMoEOp> experts(*this, d);
  int64_t bits = getExpertWeightBits();
  DimExpr hidden = d.dims(getInput()).back();
  Value fc2 = d.operand(kWeights + 3);
  if (!fc2)
    return emitOpError("has no weights of fc2");
  if (failed(d.expectRank(fc2, "weights", 3)))
    return failure();
  int64_t bits2 = getFc2ExpertWeightBits().value_or(bits);
  DimExpr inner = d.dims(fc2)[2] * (8 / std::max<int64_t>(bits2, 1));
  experts.fc1 = {
      dequantize(*this, d, 0, hidden, getFc1ExpertWeightBits().value_or(bits)),
      d.operand(kWeights + 2)};
  experts.fc2 = {dequantize(*this, d, 1, inner, bits2),
                 d.operand(kWeights + 5)};
  if (d.operand(kWeights + 6))
    experts.fc3 = {dequantize(*this, d, 2, hidden,
                              getFc3ExpertWeightBits().value_or(bits)),
                   d.operand(kWeights + 8)};
  experts.mixingLogits = d.operand(kRouterWeights);
  return experts.replace();
}

} // namespace shardc::onnx
