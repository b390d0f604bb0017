//===- Recurrent.cpp - Unrolls networks with a state ----------------------===//
//
// x [s, b, i] times the weights of all gates is one product for all steps; what
// depends on the state before, h [b, n], is written step after step:
//
//   RNN    h' = tanh(x W + h R)
//   GRU    h' = (1 - z) n + z h      gates z, r; n = tanh(x W + (r h) R)
//   LSTM   h' = o tanh(c')           gates i, o, f; c' = f c + i tanh(x W + h
//   R)
//
// Rows that are shorter than the others keep their state behind their end.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Recurrent.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Logic.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Recurrent.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerRecurrentOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Recurrent.cpp.inc"
      >();
}

namespace {

constexpr int64_t kMostSteps = 512;

enum RecurrentInput : unsigned {
  kBias = 3,
  kLengths = 4,
  kHidden = 5,
  kCell = 6,
  kPeepholes = 7
};

struct State {
  Value hidden, cell; ///< [b, n]; no cell but for LSTM
};

/// One direction's parameters, transposed for products from the left.
struct Parameters {
  Value weights;                     ///< [i, gates n]
  SmallVector<Value, 4> recurrences; ///< [n, n] of each gate
  SmallVector<Value, 4> inputBias, stateBias, peepholes; ///< [n] each
};

class Network {
public:
  Network(Operation *op, ShapeInference &inference, int64_t gates)
      : build(op, inference), gates(gates),
        isBatchFirst(op->getAttrOfType<IntegerAttr>("layout").getInt() != 0),
        hasCell(isa<LSTMOp>(op)) {}

  LogicalResult run(StringRef direction);

private:
  LogicalResult checkDims(int64_t directions);
  Parameters parametersOf(int64_t direction);
  State initialState(int64_t direction);
  /// All results of one direction: y [s, b, n], and the state at the end.
  std::pair<Value, State> unroll(int64_t direction, bool isReversed);
  State step(const State &before, ArrayRef<Value> inputs, const Parameters &p);
  State stepGru(const State &before, ArrayRef<Value> inputs,
                const Parameters &p);
  State stepLstm(const State &before, ArrayRef<Value> inputs,
                 const Parameters &p);
  Value sigmoid(Value x) { return build.make<SigmoidOp>({x}); }
  Value tanh(Value x) { return build.make<TanhOp>({x}); }
  Value number(double value) {
    return build.number(build.element(input), value);
  }

  Decomposition build;
  int64_t gates;
  bool isBatchFirst, hasCell;
  Value input; ///< [s, b, i]
  int64_t steps = 0;
  DimExpr batch, size;
};

} // namespace

LogicalResult Network::checkDims(int64_t directions) {
  Decomposition::Dims dims = build.dims(build.op->getOperand(0));
  Decomposition::Dims recurrence = build.dims(build.op->getOperand(2));
  if (dims.size() != 3 || recurrence.size() != 3 ||
      recurrence[0] != DimExpr(directions))
    return build.refuse("operands of other dims than x [s, b, i] and "
                        "recurrence [directions, gates n, n]",
                        "export the model again");
  input = build.op->getOperand(0);
  if (isBatchFirst)
    input = build.transpose(input, {1, 0, 2});
  dims = build.dims(input);
  auto count = dims[0].asConstant();
  if (!count || *count > kMostSteps)
    return build.refuse(dims[0].str() + " steps",
                        "export with a constant number of steps, at most " +
                            std::to_string(kMostSteps));
  steps = *count;
  batch = dims[1];
  size = recurrence[2];
  return success();
}

/// [gates n] as [n] for each gate.
static SmallVector<Value, 4> perGate(Decomposition &build, Value vector,
                                     DimExpr size, int64_t gates,
                                     int64_t from = 0) {
  SmallVector<Value, 4> parts(gates);
  for (int64_t gate = 0; gate < gates && vector; ++gate)
    parts[gate] = build.slice(vector, 0, size * (from + gate), size);
  return parts;
}

Parameters Network::parametersOf(int64_t direction) {
  Parameters p;
  auto own = [&](unsigned operand) {
    Value value = build.operand(operand);
    return value ? build.row(value, 0, direction) : Value();
  };
  p.weights = build.transposeLast(own(1));
  Value recurrence = own(2);
  for (int64_t gate = 0; gate < gates; ++gate)
    p.recurrences.push_back(
        build.transposeLast(build.slice(recurrence, 0, size * gate, size)));
  Value bias = own(kBias);
  p.inputBias = perGate(build, bias, size, gates);
  p.stateBias = perGate(build, bias, size, gates, gates);
  p.peepholes = perGate(build, hasCell ? own(kPeepholes) : Value(), size, 3);
  return p;
}

State Network::initialState(int64_t direction) {
  auto own = [&](unsigned operand) {
    Value value = build.operand(operand);
    if (!value)
      return build.expand(number(0), {batch, size});
    return build.row(value, isBatchFirst ? 1 : 0, direction);
  };
  return {own(kHidden), hasCell ? own(kCell) : Value()};
}

State Network::step(const State &before, ArrayRef<Value> inputs,
                    const Parameters &p) {
  if (gates == 3)
    return stepGru(before, inputs, p);
  if (gates == 4)
    return stepLstm(before, inputs, p);
  Value state = build.matmul(before.hidden, p.recurrences[0]);
  if (p.stateBias[0])
    state = build.add(state, p.stateBias[0]);
  return {tanh(build.add(inputs[0], state)), {}};
}

/// Gates in ONNX's order: z, r, n.
State Network::stepGru(const State &before, ArrayRef<Value> inputs,
                       const Parameters &p) {
  auto recur = [&](Value state, int64_t gate) {
    Value product = build.matmul(state, p.recurrences[gate]);
    return p.stateBias[gate] ? build.add(product, p.stateBias[gate]) : product;
  };
  Value update = sigmoid(build.add(inputs[0], recur(before.hidden, 0)));
  Value reset = sigmoid(build.add(inputs[1], recur(before.hidden, 1)));
  bool isLinear = cast<GRUOp>(build.op).getLinearBeforeReset() != 0;
  Value state = isLinear ? build.mul(reset, recur(before.hidden, 2))
                         : recur(build.mul(reset, before.hidden), 2);
  Value fresh = tanh(build.add(inputs[2], state));
  Value kept = build.mul(update, before.hidden);
  return {build.add(build.mul(build.sub(number(1), update), fresh), kept), {}};
}

/// Gates in ONNX's order: i, o, f, c; peepholes i, o, f.
State Network::stepLstm(const State &before, ArrayRef<Value> inputs,
                        const Parameters &p) {
  auto gate = [&](int64_t index, Value cell) {
    Value sum = build.add(inputs[index],
                          build.matmul(before.hidden, p.recurrences[index]));
    if (p.stateBias[index])
      sum = build.add(sum, p.stateBias[index]);
    if (index < 3 && p.peepholes[index])
      sum = build.add(sum, build.mul(cell, p.peepholes[index]));
    return sum;
  };
  Value in = sigmoid(gate(0, before.cell));
  Value forget = sigmoid(gate(2, before.cell));
  Value cell = build.add(build.mul(forget, before.cell),
                         build.mul(in, tanh(gate(3, {}))));
  Value out = sigmoid(gate(1, cell));
  return {build.mul(out, tanh(cell)), cell};
}

std::pair<Value, State> Network::unroll(int64_t direction, bool isReversed) {
  Parameters p = parametersOf(direction);
  State state = initialState(direction);
  Value all = build.matmul(input, p.weights);
  Value lengths = build.operand(kLengths);
  if (lengths)
    lengths = build.reshape(build.cast(lengths, build.i64()), {batch, 1});
  SmallVector<Value> outputs(steps);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t t = isReversed ? steps - 1 - i : i;
    SmallVector<Value, 4> inputs =
        build.split(build.row(all, 0, t), 1, SmallVector<DimExpr>(gates, size));
    for (int64_t gate = 0; gate < gates; ++gate)
      if (p.inputBias[gate])
        inputs[gate] = build.add(inputs[gate], p.inputBias[gate]);
    State next = step(state, inputs, p);
    Value output = next.hidden;
    if (lengths) {
      Value isInside = build.make<LessOp>(
          {build.number(build.i64(), static_cast<double>(t)), lengths});
      auto choose = [&](Value inside, Value outside) {
        return build.make<WhereOp>({isInside, inside, outside});
      };
      output = choose(output, number(0));
      next.hidden = choose(next.hidden, state.hidden);
      if (hasCell)
        next.cell = choose(next.cell, state.cell);
    }
    outputs[t] = build.reshape(output, {1, batch, size});
    state = next;
  }
  return {build.concat(outputs, 0), state};
}

LogicalResult Network::run(StringRef direction) {
  bool isBoth = direction == "bidirectional";
  if (!isBoth && direction != "forward" && direction != "reverse")
    return build.refuse("direction " + direction, "export the model again");
  if (failed(checkDims(isBoth ? 2 : 1)))
    return failure();
  SmallVector<Value> outputs, hidden, cells;
  for (int64_t d = 0; d < (isBoth ? 2 : 1); ++d) {
    auto [all, last] = unroll(d, direction == "reverse" || d == 1);
    outputs.push_back(build.reshape(all, {steps, 1, batch, size}));
    hidden.push_back(build.reshape(last.hidden, {1, batch, size}));
    if (hasCell)
      cells.push_back(build.reshape(last.cell, {1, batch, size}));
  }
  Value y = build.concat(outputs, 1), h = build.concat(hidden, 0);
  Value c = hasCell ? build.concat(cells, 0) : Value();
  if (isBatchFirst) {
    y = build.transpose(y, {2, 0, 1, 3});
    h = build.transpose(h, {1, 0, 2});
    c = build.transpose(c, {1, 0, 2});
  }
  return build.replaceBy({y, h, c});
}

LogicalResult RNNOp::inferTypes(ShapeInference &inference) {
  return Network(*this, inference, 1).run(getDirection());
}

LogicalResult GRUOp::inferTypes(ShapeInference &inference) {
  return Network(*this, inference, 3).run(getDirection());
}

LogicalResult LSTMOp::inferTypes(ShapeInference &inference) {
  if (getInputForget() != 0)
    return emitOpError("has input_forget, which is not supported");
  return Network(*this, inference, 4).run(getDirection());
}

} // namespace shardc::onnx
