//===- Attention.cpp - Attention and rotary embedding ---------------------===//
//
// Spelled as evaluate/Attention.cpp says, with the rank's queries at their places:
//
//   s = cap(scale Q K^T) + mask, -inf where a query does not see a key
//   Y = softmax(s, sink) V
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Attention.h"

#include "compiler/ranks/RankProgram.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;
using onnx::AttentionOperand;

namespace {

class AttentionWriter {
public:
  AttentionWriter(onnx::AttentionOp op, RankProgram &program)
      : op(op), program(program), writer(program.writer),
        operands(program.operands(op)),
        element(program.elementOf(op->getResult(0))) {}

  void write() {
    for (unsigned i : {AttentionOperand::PastKey, AttentionOperand::PastValue,
                       AttentionOperand::Lengths})
      if (!operand(i).isAbsent() || op->getNumResults() != 1)
        return writer.fail("has more operands or results than query, key, "
                           "value, mask, sinks and output");
    wide = element.isF64() ? element : writer.f32();
    const Tensor query = writer.cast(operands[0], wide);
    Tensor scores = scoresOf(query);
    if (!operand(AttentionOperand::Mask).isAbsent())
      scores = masked(scores);
    if (op.getIsCausal())
      scores = causal(scores);
    const Tensor weights = softmax(scores);
    const Tensor values = repeated(writer.cast(operands[2], wide));
    Dims dims = operands[0].dims;
    dims.back() = values.dims.back();
    program.bind(
        op->getResult(0),
        writer.cast(writer.make("MatMul", {weights, values}, dims, wide),
                    element));
  }

private:
  Tensor operand(unsigned i) const {
    return i < operands.size() ? operands[i] : Tensor();
  }

  /// [b, kv, t, d] for all query heads.
  Tensor repeated(const Tensor &x) {
    const DimExpr heads = operands[0].dims[1], own = x.dims[1];
    std::optional<DimExpr> times = heads.exactDiv(own);
    if (heads == own || own.isConstant(0))
      return x;
    if (!times) {
      writer.fail("has a number of query heads that key heads do not divide");
      return x;
    }
    Dims dims{x.dims[0], own, *times, x.dims[2], x.dims[3]};
    return writer.reshape(writer.expand(writer.unsqueeze(x, 2), dims),
                          {x.dims[0], heads, x.dims[2], x.dims[3]});
  }

  Tensor scoresOf(const Tensor &query) {
    const Tensor key = repeated(writer.cast(operands[1], wide));
    Dims dims = query.dims;
    dims.back() = key.dims[2];
    Tensor scores = writer.make(
        "MatMul", {query, writer.transpose(key, {0, 1, 3, 2})}, dims, wide);
    const std::optional<int64_t> size = query.dims.back().asConstant();
    if (!op.getScale() && !size)
      writer.fail("has no scale, and heads of a size that is not known");
    const double scale = op.getScale()
                             ? op.getScale()->convertToFloat()
                             : 1 / std::sqrt(double(size.value_or(1)));
    scores = writer.binary("Mul", scores, writer.scalar(wide, scale));
    const double cap = op.getSoftcap().convertToFloat();
    if (cap == 0)
      return scores;
    const Tensor limit = writer.scalar(wide, cap);
    return writer.binary(
        "Mul", limit,
        writer.unary("Tanh", writer.binary("Div", scores, limit)));
  }

  Tensor minusInfinity() {
    return writer.scalar(wide, -std::numeric_limits<double>::infinity());
  }

  Tensor masked(const Tensor &scores) {
    const Tensor mask = operand(AttentionOperand::Mask);
    if (mask.element.isInteger(1))
      return writer.where(mask, scores, minusInfinity());
    return writer.binary("Add", scores, writer.cast(mask, wide));
  }

  /// Places of the rank's queries among all, [s, 1].
  Tensor queryPlaces() {
    const dist::DimSharding rows =
        dist::getSharding(op->getOperand(0).getType()).dims[2];
    SmallVector<Tensor> pieces;
    for (const dist::Range &range : rows.ranges(program.rank.mesh))
      pieces.push_back(writer.range(program.rank.size(range.start),
                                    program.rank.size(range.size)));
    Tensor all = writer.concat(pieces, 0);
    if (auto offset = op.getCausalOffsetAttr())
      all = writer.binary(
          "Add", all,
          writer.sizes(program.rank.size(offset.getValues().front())));
    return writer.reshape(all, {operands[0].dims[2], 1});
  }

  Tensor causal(const Tensor &scores) {
    const Tensor query = queryPlaces();
    const Tensor key = writer.range(0, scores.dims.back());
    Tensor sees = writer.binary("LessOrEqual", key, query, writer.i1());
    if (op.getWindow() != 0) {
      const Tensor first =
          writer.binary("Sub", query, writer.integers(int64_t(op.getWindow())));
      sees = writer.binary("And", sees,
                           writer.binary("Greater", key, first, writer.i1()));
    }
    return writer.where(sees, scores, minusInfinity());
  }

  Tensor softmax(const Tensor &scores) {
    const Tensor sinks = operand(AttentionOperand::Sinks);
    Tensor all = scores;
    const DimExpr keys = scores.dims.back();
    if (!sinks.isAbsent()) {
      Dims dims = scores.dims;
      dims.back() = 1;
      all = writer.concat(
          {scores, writer.expand(writer.reshape(writer.cast(sinks, wide),
                                                {1, dims[1], 1, 1}),
                                 dims)},
          3);
    }
    Tensor weights =
        writer.make("Softmax", {all}, all.dims, wide, {{"axis", int64_t(-1)}});
    const Tensor zero = writer.scalar(wide, 0);
    if (op.getZeroRows() == "nan") {
      weights = writer.where(
          writer.make("IsNaN", {weights}, weights.dims, writer.i1()), zero,
          weights);
    } else if (op.getZeroRows() == "hidden" && mayHide() && sinks.isAbsent()) {
      const Tensor most = writer.reduce("ReduceMax", all, 3, /*keepsDim=*/true);
      weights = writer.where(
          writer.binary("Equal", most, minusInfinity(), writer.i1()), zero,
          weights);
    }
    return writer.slice(weights, 3, 0, keys);
  }

  /// Whether a query may see no key.
  bool mayHide() {
    return op.getIsCausal() || !operand(AttentionOperand::Mask).isAbsent();
  }

  onnx::AttentionOp op;
  RankProgram &program;
  GraphWriter &writer;
  const SmallVector<Tensor, 4> operands;
  const Type element;
  Type wide; ///< in which scores are computed
};

} // namespace

static void writeRotary(onnx::RotaryEmbeddingOp op, RankProgram &program) {
  SmallVector<Tensor, 4> inputs = program.operands(op);
  if (inputs.size() > 3)
    return program.writer.fail("still has position_ids");
  // cos and sin may be shared by all of the batch.
  for (unsigned i : {1, 2})
    inputs[i] = program.writer.expand(
        inputs[i], {inputs[0].dims[0], inputs[i].dims[1], inputs[i].dims[2]});
  program.makeNode(op, inputs, {"interleaved", "rotary_embedding_dim"});
}

bool writeAttentionOp(Operation *op, RankProgram &program) {
  if (auto attention = dyn_cast<onnx::AttentionOp>(op))
    AttentionWriter(attention, program).write();
  else if (auto rotary = dyn_cast<onnx::RotaryEmbeddingOp>(op))
    writeRotary(rotary, program);
  else
    return false;
  return true;
}

} // namespace shardc::ranks
