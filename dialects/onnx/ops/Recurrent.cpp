//===- Recurrent.cpp - Networks with a state, step by step ----------------===//
//
// x [s, b, i] times the weights of all gates is one product for all steps; what
// depends on the state before, h [b, n], is written step after step, or is the
// body of a Loop where the number of steps is not known:
//
//   RNN    h' = tanh(x W + h R)
//   GRU    h' = (1 - z) n + z h      gates z, r; n = tanh(x W + (r h) R)
//   LSTM   h' = o tanh(c')           gates i, o, f;
//                                    c' = f c + i tanh(x W + h R)
//
// tanh and sigmoid stand for what `activations` says.
//
// Rows that are shorter than the others keep their state behind their end.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Recurrent.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/RecurrentActivations.h"

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
  ArrayRef<Activation> activations; ///< of gates, of what is new, of the cell
  Value lengths;                    ///< i64 [b, 1], if rows end early
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
  /// The same by a Loop, for a number of steps that is not known.
  std::pair<Value, State> loop(int64_t direction, bool isReversed);
  Value finishLoop(LoopOp loop, bool isReversed);
  State step(const State &before, ArrayRef<Value> inputs, const Parameters &p);
  State stepGru(const State &before, ArrayRef<Value> inputs,
                const Parameters &p);
  State stepLstm(const State &before, ArrayRef<Value> inputs,
                 const Parameters &p);
  /// Rows [b, gates n] of one step, with the bias, and the state behind it.
  State advance(Value row, Value index, const State &before, Value lengths,
                const Parameters &p, Value &output);
  /// `clip` bounds what goes into gates and what is new, not the cell.
  Value activateClipped(const Activation &activation, Value x);
  Value number(double value) { return at->number(at->element(input), value); }

  Decomposition build;
  Decomposition *at = &build; ///< where steps are written
  int64_t gates;
  bool isBatchFirst, hasCell;
  SmallVector<Activation> activations; ///< of all directions
  Value input;                         ///< [s, b, i]
  DimExpr steps, batch, size;
};

} // namespace

LogicalResult Network::checkDims(int64_t directions) {
  Decomposition::Dims dims = build.dims(build.op->getOperand(0));
  Decomposition::Dims recurrence = build.dims(build.op->getOperand(2));
  if (dims.size() != 3 || recurrence.size() != 3)
    return build.refuse("operands of other dims than x [s, b, i] and "
                        "recurrence [directions, gates n, n]",
                        "export the model again");
  input = build.op->getOperand(0);
  if (isBatchFirst)
    input = build.transpose(input, {1, 0, 2});
  dims = build.dims(input);
  steps = dims[0];
  batch = dims[1];
  size = recurrence[2];
  const Decomposition::Dims state =
      isBatchFirst ? Decomposition::Dims{batch, directions, size}
                   : Decomposition::Dims{directions, batch, size};
  auto expect = [&](unsigned operand, ArrayRef<DimExpr> sizes, StringRef name) {
    return build.expectDims(build.operand(operand), sizes, name);
  };
  const DimExpr all = gates * size;
  return success(
      succeeded(expect(1, {directions, all, dims[2]}, "weights")) &&
      succeeded(expect(2, {directions, all, size}, "recurrence weights")) &&
      succeeded(expect(kBias, {directions, 2 * all}, "a bias")) &&
      succeeded(expect(kLengths, {batch}, "sequence_lens")) &&
      succeeded(expect(kHidden, state, "an initial state")) &&
      (!hasCell ||
       (succeeded(expect(kCell, state, "an initial cell")) &&
        succeeded(expect(kPeepholes, {directions, 3 * size}, "peepholes")))));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

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
  size_t perDirection = gates == 1 ? 1 : gates - 1;
  p.activations =
      ArrayRef(activations).slice(direction * perDirection, perDirection);
  p.lengths = build.operand(kLengths);
  if (p.lengths)
    p.lengths = build.reshape(build.cast(p.lengths, build.i64()), {batch, 1});
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

Value Network::activateClipped(const Activation &activation, Value x) {
  if (auto clip = build.op->getAttrOfType<FloatAttr>("clip"))
    x = at->make<ClipOp>(
        {x, number(-clip.getValueAsDouble()), number(clip.getValueAsDouble())});
  return activate(*at, activation, x);
}

State Network::step(const State &before, ArrayRef<Value> inputs,
                    const Parameters &p) {
  if (gates == 3)
    return stepGru(before, inputs, p);
  if (gates == 4)
    return stepLstm(before, inputs, p);
  Value state = at->matmul(before.hidden, p.recurrences[0]);
  if (p.stateBias[0])
    state = at->add(state, p.stateBias[0]);
  return {activateClipped(p.activations[0], at->add(inputs[0], state)), {}};
}

/// Gates in ONNX's order: z, r, n.
State Network::stepGru(const State &before, ArrayRef<Value> inputs,
                       const Parameters &p) {
  auto recur = [&](Value state, int64_t gate) {
    Value product = at->matmul(state, p.recurrences[gate]);
    return p.stateBias[gate] ? at->add(product, p.stateBias[gate]) : product;
  };
  auto gate = [&](int64_t index) {
    return activateClipped(p.activations[0],
                           at->add(inputs[index], recur(before.hidden, index)));
  };
  Value update = gate(0), reset = gate(1);
  bool isLinear = cast<GRUOp>(build.op).getLinearBeforeReset() != 0;
  Value state = isLinear ? at->mul(reset, recur(before.hidden, 2))
                         : recur(at->mul(reset, before.hidden), 2);
  Value fresh = activateClipped(p.activations[1], at->add(inputs[2], state));
  Value kept = at->mul(update, before.hidden);
  return {at->add(at->mul(at->sub(number(1), update), fresh), kept), {}};
}

/// Gates in ONNX's order: i, o, f, c; peepholes i, o, f.
State Network::stepLstm(const State &before, ArrayRef<Value> inputs,
                        const Parameters &p) {
  auto gate = [&](int64_t index, Value cell) {
    Value sum =
        at->add(inputs[index], at->matmul(before.hidden, p.recurrences[index]));
    if (p.stateBias[index])
      sum = at->add(sum, p.stateBias[index]);
    if (index < 3 && p.peepholes[index])
      sum = at->add(sum, at->mul(cell, p.peepholes[index]));
    return sum;
  };
  auto open = [&](int64_t index, Value cell) {
    return activateClipped(p.activations[0], gate(index, cell));
  };
  bool isCoupled = cast<LSTMOp>(build.op).getInputForget() != 0;
  Value in = open(0, before.cell);
  Value forget = isCoupled ? at->sub(number(1), in) : open(2, before.cell);
  Value fresh = activateClipped(p.activations[1], gate(3, {}));
  Value cell = at->add(at->mul(forget, before.cell), at->mul(in, fresh));
  Value out = open(1, cell);
  return {at->mul(out, activate(*at, p.activations[2], cell)), cell};
}

State Network::advance(Value row, Value index, const State &before,
                       Value lengths, const Parameters &p, Value &output) {
  SmallVector<Value, 4> inputs =
      at->split(row, 1, SmallVector<DimExpr>(gates, size));
  for (int64_t gate = 0; gate < gates; ++gate)
    if (p.inputBias[gate])
      inputs[gate] = at->add(inputs[gate], p.inputBias[gate]);
  State next = step(before, inputs, p);
  output = next.hidden;
  if (!lengths)
    return next;
  Value isInside = at->make<LessOp>({index, lengths});
  auto choose = [&](Value inside, Value outside) {
    return at->make<WhereOp>({isInside, inside, outside});
  };
  output = choose(output, number(0));
  next.hidden = choose(next.hidden, before.hidden);
  if (hasCell)
    next.cell = choose(next.cell, before.cell);
  return next;
}

std::pair<Value, State> Network::unroll(int64_t direction, bool isReversed) {
  Parameters p = parametersOf(direction);
  State state = initialState(direction);
  Value all = build.matmul(input, p.weights);
  int64_t count = *steps.asConstant();
  SmallVector<Value> outputs(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t t = isReversed ? count - 1 - i : i;
    Value output;
    state = advance(build.row(all, 0, t),
                    build.number(build.i64(), static_cast<double>(t)), state,
                    p.lengths, p, output);
    outputs[t] = build.reshape(output, {1, batch, size});
  }
  return {build.concat(outputs, 0), state};
}

/// Rows are yielded in the order of the steps.
Value Network::finishLoop(LoopOp loop, bool isReversed) {
  Value rows = loop->getResults().back();
  if (!isReversed)
    return rows;
  Value order =
      build.sub(build.integer(build.i64(), steps - 1), build.range(0, steps));
  return build.make<GatherOp>({rows, order}, build.attribute("axis", 0));
}

std::pair<Value, State> Network::loop(int64_t direction, bool isReversed) {
  Parameters p = parametersOf(direction);
  State first = initialState(direction);
  Value all = build.matmul(input, p.weights);
  if (!all || !first.hidden || (hasCell && !first.cell))
    return {};
  SmallVector<Value> carried = {first.hidden};
  if (hasCell)
    carried.push_back(first.cell);
  OpBuilder &builder = build.inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(build.op);
  Location loc = build.op->getLoc();
  Type unknown = UnrankedTensorType::get(UnknownType::get(loc.getContext()));
  auto loop = LoopOp::create(builder, loc,
                             SmallVector<Type>(carried.size() + 1, unknown),
                             build.integer(build.i64(), steps), build.absent(),
                             carried, builder.getI64IntegerAttr(1));
  SmallVector<Type> types = {dist::makeType(build.i64(), {}),
                             dist::makeType(build.i1(), {})};
  for (Value value : carried)
    types.push_back(value.getType());
  Block *body = builder.createBlock(&loop.getBody(), {}, types,
                                    SmallVector<Location>(types.size(), loc));
  auto yield = YieldOp::create(builder, loc, ValueRange{});
  Decomposition inside(yield, build.inference);
  at = &inside;
  Value index = body->getArgument(0);
  if (isReversed)
    index = inside.sub(inside.integer(inside.i64(), steps - 1), index);
  State before = {body->getArgument(2),
                  hasCell ? Value(body->getArgument(3)) : Value()};
  Value output;
  State next =
      advance(inside.make<GatherOp>({all, index}, inside.attribute("axis", 0)),
              index, before, p.lengths, p, output);
  at = &build;
  SmallVector<Value> yielded = {body->getArgument(1), next.hidden};
  if (hasCell)
    yielded.push_back(next.cell);
  yielded.push_back(output);
  if (llvm::is_contained(yielded, Value()))
    return {};
  yield->setOperands(yielded);
  // Its users see what takes its place.
  auto users = YieldOp::create(builder, loc, loop->getResults());
  users->moveAfter(loop);
  if (failed(build.inference.inferOps({loop})))
    return {};
  State last = {users->getOperand(0), hasCell ? users->getOperand(1) : Value()};
  Value rows = finishLoop(loop, isReversed);
  users.erase();
  return {rows, last};
}

LogicalResult Network::run(StringRef direction) {
  bool isBoth = direction == "bidirectional";
  if (!isBoth && direction != "forward" && direction != "reverse")
    return build.refuse("direction " + direction, "export the model again");
  int64_t directions = isBoth ? 2 : 1;
  if (failed(checkDims(directions)))
    return failure();
  auto functions = readActivations(build, gates, directions);
  if (failed(functions))
    return failure();
  activations = *functions;
  auto count = steps.asConstant();
  bool isShort = count && *count <= kMostSteps;
  SmallVector<Value> outputs, hidden, cells;
  for (int64_t d = 0; d < directions; ++d) {
    bool isReversed = direction == "reverse" || d == 1;
    auto [all, last] = isShort ? unroll(d, isReversed) : loop(d, isReversed);
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
  return Network(*this, inference, 4).run(getDirection());
}

} // namespace shardc::onnx
