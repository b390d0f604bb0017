//===- Experts.cpp - Mixtures of experts ----------------------------------===//
//
// Every expert of the rank computes every token, and what was not chosen counts
// nothing: ONNX has no product of groups.
//
//   y[t] = sum over e of (sum over k of indices[t, k] == e ? weights[t, k] : 0)
//          * (act(x up[e] + bias[e]) down[e])[t]
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Experts.h"

#include "compiler/ranks/RankProgram.h"

#include <cmath>

using namespace mlir;

namespace shardc::ranks {

namespace {

class ExpertsWriter {
public:
  ExpertsWriter(onnx::MixtureOfExpertsOp op, RankProgram &program)
      : op(op), program(program), writer(program.writer) {}

  void write() {
    const Tensor tokens = program.tensor(op.getTokens());
    element = tokens.element;
    const Tensor up = program.tensor(op.getUp());
    const Tensor down = program.tensor(op.getDown());
    const dist::DimExpr experts = up.dims[0], count = tokens.dims[0];
    Tensor hidden = writer.make("MatMul", {writer.unsqueeze(tokens, 0), up},
                                {experts, count, up.dims[2]}, element);
    if (!op.getBias().empty())
      hidden = writer.binary(
          "Add", hidden,
          writer.unsqueeze(program.tensor(op.getBias().front()), 1));
    const Tensor out = writer.make("MatMul", {activated(hidden), down},
                                   {experts, count, down.dims[2]}, element);
    const Tensor shares = writer.unsqueeze(sharesOf(experts), 2);
    program.bind(op.getResult(),
                 writer.reduce("ReduceSum", writer.binary("Mul", out, shares),
                               0, /*keepsDim=*/false));
  }

private:
  /// How much of each token an expert of the rank has, [e, n].
  Tensor sharesOf(dist::DimExpr experts) {
    Tensor indices = writer.cast(program.tensor(op.getIndices()), writer.i64());
    const Tensor weights = program.tensor(op.getWeights());
    const Type down = op.getDown().getType();
    const dist::DimExpr all = dist::getDims(down)[0];
    const Tensor zero = writer.scalar(writer.i64(), 0);
    indices =
        writer.where(writer.binary("Less", indices, zero, writer.i1()),
                     writer.binary("Add", indices, writer.sizes(all)), indices);
    const dist::DimExpr first = program.rank.size(
        dist::getSharding(down).dims[0].lowerBound(program.rank.mesh));
    const Tensor own =
        writer.reshape(writer.range(first, experts), {experts, 1, 1});
    const Tensor isChosen =
        writer.binary("Equal", writer.unsqueeze(indices, 0), own, writer.i1());
    const Tensor chosen = writer.where(isChosen, writer.unsqueeze(weights, 0),
                                       writer.scalar(weights.element, 0));
    return writer.cast(writer.reduce("ReduceSum", chosen, 2, false), element);
  }

  Tensor number(double value) { return writer.scalar(element, value); }

  Tensor sigmoidProduct(const Tensor &x, double alpha) {
    const Tensor scaled =
        alpha == 1 ? x : writer.binary("Mul", x, number(alpha));
    return writer.binary("Mul", x, writer.unary("Sigmoid", scaled));
  }

  Tensor activation(const Tensor &x) {
    const StringRef name = op.getActivation();
    if (name == "silu")
      return sigmoidProduct(x, op.getAlpha().convertToFloat());
    if (name == "gelu" || name == "gelu_tanh")
      return writer.make(
          "Gelu", {x}, x.dims, element,
          {{"approximate", std::string(name == "gelu" ? "none" : "tanh")}});
    return name == "relu" ? writer.unary("Relu", x) : x;
  }

  Tensor activated(const Tensor &hidden) {
    if (op.getGate() == "none")
      return activation(hidden);
    auto [gate, up] = halves(hidden);
    if (auto limit = op.getLimit()) {
      const double most = limit->convertToFloat();
      gate = writer.binary("Min", gate, number(most));
      up = writer.binary("Max", writer.binary("Min", up, number(most)),
                         number(-most));
    }
    const double shift = op.getShift().convertToFloat();
    if (shift != 0)
      up = writer.binary("Add", up, number(shift));
    return writer.binary("Mul", activation(gate), up);
  }

  /// Gate and rest: halves of the rank's numbers, or every second of them.
  std::pair<Tensor, Tensor> halves(const Tensor &hidden) {
    std::optional<dist::DimExpr> half = hidden.dims[2].exactDiv(2);
    if (!half) {
      writer.fail("has an odd number of gates and values");
      return {hidden, hidden};
    }
    if (op.getGate() == "halves")
      return {writer.slice(hidden, 2, 0, *half),
              writer.slice(hidden, 2, *half, *half)};
    const Tensor pairs =
        writer.reshape(hidden, {hidden.dims[0], hidden.dims[1], *half, 2});
    const Dims dims{hidden.dims[0], hidden.dims[1], *half};
    return {writer.reshape(writer.slice(pairs, 3, 0, 1), dims),
            writer.reshape(writer.slice(pairs, 3, 1, 1), dims)};
  }

  onnx::MixtureOfExpertsOp op;
  RankProgram &program;
  GraphWriter &writer;
  Type element;
};

} // namespace

bool writeExpertsOp(Operation *op, RankProgram &program) {
  auto experts = dyn_cast<onnx::MixtureOfExpertsOp>(op);
  if (experts)
    ExpertsWriter(experts, program).write();
  return bool(experts);
}

} // namespace shardc::ranks
