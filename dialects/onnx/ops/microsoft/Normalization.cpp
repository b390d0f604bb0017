//===- Normalization.cpp - com.microsoft: norms ---------------------------===//

#include "dialects/onnx/ops/microsoft/Normalization.h"

#include "dialects/onnx/BroadcastTo.h"
#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Reduction.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Normalization.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

LogicalResult
SimplifiedLayerNormalizationOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(d.refuseResult(1, "inv_std_var")))
    return failure();
  return d.replaceBy({d.make<RMSNormalizationOp>(
      {getInput(), getScale()},
      {d.attribute("axis", getAxis()), d.attribute("epsilon", getEpsilon())})});
}

//===----------------------------------------------------------------------===//
// Norms of a sum
//===----------------------------------------------------------------------===//

/// input + skip + bias; the results are its norm, (mean, inverse deviation,)
/// and the sum.
template <typename NormOp>
static LogicalResult replaceSkipNorm(Decomposition &d, Value bias,
                                     ArrayRef<Value> parameters,
                                     const APFloat &epsilon) {
  if (failed(d.refuseResult(1, "mean")) ||
      failed(d.refuseResult(2, "inv_std_var")))
    return failure();
  const Decomposition::Dims dims = d.dims(d.operand(0));
  if (dims.empty())
    return d.op->emitOpError("has an input without dims");
  for (Value vector : parameters)
    if (failed(d.expectDims(vector, dims.back(), "a gamma or beta")))
      return failure();
  if (failed(d.expectDims(bias, dims.back(), "a bias")) ||
      failed(
          broadcastTo(d.inference, d.op, dims, d.dims(d.operand(1)), "a skip")))
    return failure();
  Value sum = d.add(d.operand(0), d.operand(1));
  if (bias)
    sum = d.add(sum, bias);
  SmallVector<Value, 3> operands = {sum};
  llvm::append_range(operands, parameters);
  Value norm = d.make<NormOp>(
      operands, {d.attribute("axis", -1), d.attribute("epsilon", epsilon)});
  return d.replaceBy({norm, Value(), Value(), sum});
}

LogicalResult
MicrosoftSkipLayerNormalizationOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<Value, 2> parameters = {getGamma()};
  if (Value beta = d.operand(3))
    parameters.push_back(beta);
  return replaceSkipNorm<LayerNormalizationOp>(d, d.operand(4), parameters,
                                               getEpsilon());
}

LogicalResult MicrosoftSkipSimplifiedLayerNormalizationOp::inferTypes(
    ShapeInference &inference) {
  Decomposition d(*this, inference);
  return replaceSkipNorm<RMSNormalizationOp>(d, d.operand(3), {getGamma()},
                                             getEpsilon());
}

//===----------------------------------------------------------------------===//
// EmbedLayerNormalization
//===----------------------------------------------------------------------===//

/// i32 [batch]: how many tokens each row has; 0 without a mask.
static Value maskLengths(Decomposition &d, Value mask, DimExpr batch) {
  Type i32 = d.inference.builder.getI32Type();
  if (!mask)
    return d.expand(d.number(i32, 0), {batch});
  Value isToken = d.make<EqualOp>({mask, d.number(d.element(mask), 1)});
  return d.make<ReduceSumOp>({d.cast(isToken, i32), d.integers({DimExpr(1)})},
                             d.attribute("keepdims", 0));
}

LogicalResult
MicrosoftEmbedLayerNormalizationOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (failed(d.expectRank(getInputIds(), "input_ids", 2)))
    return failure();
  Decomposition::Dims ids = d.dims(getInputIds());
  auto rows = [&](Value table, Value indices) {
    return d.make<GatherOp>({table, indices}, d.attribute("axis", 0));
  };
  Value positions = d.operand(8);
  if (failed(d.expectDims(d.operand(1), ids, "segment_ids")) ||
      failed(d.expectDims(d.operand(7), ids, "a mask")) ||
      failed(d.expectRank(positions, "position_ids", 2)) ||
      failed(d.expectSize(positions, 1, ids[1], "position_ids")))
    return failure();
  Value sum =
      d.add(rows(getWords(), getInputIds()),
            rows(getPositions(), positions ? positions : d.range(0, ids[1])));
  if (Value segments = d.operand(1)) {
    if (!d.operand(4))
      return emitOpError("has segment_ids, but no segment_embedding");
    sum = d.add(sum, rows(d.operand(4), segments));
  }
  Value norm = d.make<LayerNormalizationOp>(
      {sum, getGamma(), getBeta()},
      {d.attribute("axis", -1), d.attribute("epsilon", getEpsilon())});
  Value lengths;
  if (d.usedResult(1))
    lengths = maskLengths(d, d.operand(7), ids[0]);
  return d.replaceBy({norm, lengths, sum});
}

} // namespace shardc::onnx
