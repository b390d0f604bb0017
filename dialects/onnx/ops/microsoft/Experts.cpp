//===- Experts.cpp - com.microsoft: mixtures of experts -------------------===//
//
//   indices, weights [t, k] = the k best of router_probs, their softmax
//   y [t, h] = MixtureOfExperts(x, indices, weights, up [E, h, n], down)
//            + sum over k of weights[t, k] * bias2[indices[t, k]]
//
// A gate that is apart, fc3, becomes the second half of `up`'s columns. Biases
// of fc2 are added behind, since the op's result is one of parts.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Experts.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Experts.h"
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
  Value weights; ///< numbers, [E, inputs, outputs]
  Value bias;    ///< [E, outputs]
};

template <typename OpTy> class Experts {
public:
  Experts(OpTy op, Decomposition &d) : op(op), d(d) {}

  Projection fc1, fc2, fc3;
  Value mixingLogits; ///< null: the router's own

  LogicalResult replace();

private:
  /// The k experts of each token, [tokens, k], and what each counts.
  std::pair<Value, Value> route();
  /// fc1, and fc3 beside it.
  Projection columns();
  /// What is between the products; fails for what the op does not know.
  FailureOr<SmallVector<NamedAttribute>> activation();
  Value weightedBias(Value indices, Value weights);

  OpTy op;
  Decomposition &d;
};

} // namespace

/// Normalised, the softmax is over the chosen experts, else over all.
template <typename OpTy> std::pair<Value, Value> Experts<OpTy>::route() {
  Value logits = op.getRouterProbs();
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
      weights = d.make<DivOp>({weights, d.reduce<ReduceSumOp>(weights, {1})});
  } else {
    weights = isNormalized ? d.make<SoftmaxOp>({chosen.getValues()}, last)
                           : pick(d.make<SoftmaxOp>({logits}, last));
  }
  return {chosen.getIndices(), d.cast(weights, d.element(op.getInput()))};
}

template <typename OpTy> Projection Experts<OpTy>::columns() {
  if (!fc3.weights)
    return fc1;
  Projection both = {d.concat({fc1.weights, fc3.weights}, 2), Value()};
  auto biasOf = [&](const Projection &fc) {
    if (fc.bias)
      return fc.bias;
    Decomposition::Dims dims = d.dims(fc.weights);
    return d.expand(d.number(d.element(fc.weights), 0), {dims[0], dims[2]});
  };
  if (fc1.bias || fc3.bias)
    both.bias = d.concat({biasOf(fc1), biasOf(fc3)}, 1);
  return both;
}

template <typename OpTy>
FailureOr<SmallVector<NamedAttribute>> Experts<OpTy>::activation() {
  StringRef type = op.getActivationType();
  SmallVector<NamedAttribute> attributes;
  auto gate = [&](StringRef name) {
    attributes.push_back(d.attribute("gate", name));
  };
  if (type == "swiglu") {
    if ((op.getSwigluFusion() == 0) != bool(fc3.weights))
      return d.refuse("swiglu_fusion " + Twine(op.getSwigluFusion()) +
                          (fc3.weights ? " with" : " without") + " fc3",
                      "export without fused experts");
    gate(op.getSwigluFusion() == 1 ? "interleaved" : "halves");
    attributes.push_back(d.attribute("alpha", op.getActivationAlpha()));
    attributes.push_back(d.attribute("shift", op.getActivationBeta()));
    if (op.getSwigluLimit())
      attributes.push_back(d.attribute("limit", *op.getSwigluLimit()));
    return attributes;
  }
  if (!llvm::is_contained({"relu", "gelu", "silu", "identity"}, type))
    return d.refuse("activation " + type, "export without fused experts");
  attributes.push_back(
      d.attribute("activation", type == "gelu" ? "gelu_tanh" : type));
  if (fc3.weights)
    gate("halves");
  return attributes;
}

/// sum over k of weights[t, k] * bias2[indices[t, k]]
template <typename OpTy>
Value Experts<OpTy>::weightedBias(Value indices, Value weights) {
  Value rows = d.make<GatherOp>({fc2.bias, indices}, d.attribute("axis", 0));
  Decomposition::Dims dims = d.dims(weights);
  dims.push_back(1);
  return d.reduce<ReduceSumOp>(d.mul(rows, d.reshape(weights, dims)), {1},
                               /*keepsDims=*/false);
}

template <typename OpTy> LogicalResult Experts<OpTy>::replace() {
  if (!fc1.weights || !fc2.weights)
    return failure();
  auto attributes = activation();
  auto [indices, weights] = route();
  if (failed(attributes) || !weights)
    return failure();
  Decomposition::Dims dims = d.dims(op.getInput());
  DimExpr hidden = dims.pop_back_val();
  Projection up = columns();
  SmallVector<Value, 6> operands = {
      d.reshape(op.getInput(), {dist::product(dims), hidden}), indices, weights,
      up.weights, fc2.weights};
  if (up.bias)
    operands.push_back(up.bias);
  Value result = d.make<MixtureOfExpertsOp>(operands, *attributes);
  if (result && fc2.bias)
    result = d.add(result, weightedBias(indices, weights));
  return d.replaceBy(
      {result ? d.reshape(result, d.dims(op.getInput())) : Value()});
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

/// [E, h, n] of [E, n, h], which older releases did not transpose.
static Value columnsLast(Decomposition &d, Value weights, DimExpr inputs) {
  if (!weights || failed(d.expectRank(weights, "weights", 3)))
    return {};
  return d.dims(weights)[2] == inputs ? d.transposeLast(weights) : weights;
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
  experts.fc2 = {isOld ? fc2 : d.transposeLast(fc2), d.operand(5)};
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

/// Numbers [E, inputs, n] of one projection, from bytes [E, n, inputs / pack],
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
    const int64_t each = 8 / bits;
    padded.back() = each * DimExpr::floorDiv(wanted.back() + (each - 1), each);
    return d.slice(asFields(d, packed, bits, padded), wanted.size() - 1, 0,
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
  return d.transposeLast(d.make<DequantizeLinearOp>(
      {data, scales, zeros},
      {d.attribute("axis", 2),
       d.attribute("block_size",
                   scaleDims.size() == 3 ? int64_t(op.getBlockSize()) : 0)}));
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
