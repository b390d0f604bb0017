//===- Attention.cpp - Lowering of attention ------------------------------===//
//
// Keys and values that are all there go to one kernel. Those of a dist.ring
// come in parts: what each query has seen so far is kept beside the result, and
// the parts move on between two calls. On rank 1 of "cp" = 2, 8 keys, zig-zag:
//
//   AttentionPart q, k, v -> state       keys 2 3 4 5, its own
//   shift k, shift v                     those of rank 0
//   AttentionPart q, k', v', state       keys 0 1 6 7
//   AttentionFinish state -> y
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Attention.h"

#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

using dist::DimExpr;
using onnx::AttentionOperand;

namespace {

class AttentionLowering {
public:
  AttentionLowering(Operation *op, Lowering &lowering)
      : op(op), lowering(lowering) {
    for (Value operand : op->getOperands())
      operands.push_back(lowering.view(operand));
    config = lowering.order(
        op, {"scale", "is_causal", "softcap", "window", "zero_rows"});
    if (!lowering.isInOrder) // in a fixed order nothing is rounded
      llvm::append_range(config, Lowering::attributes(op, {"operand_bits"}));
  }

  LogicalResult lower() {
    if (hasPast())
      return op->emitError("has more operands or results than query, key, "
                           "value, mask, sinks and output, which no kernel "
                           "supports yet");
    placeQueries();
    auto keyRing = op->getOperand(1).getDefiningOp<dist::RingOp>();
    auto valueRing = op->getOperand(2).getDefiningOp<dist::RingOp>();
    if (bool(keyRing) != bool(valueRing))
      return op->emitError("gets only one of keys and values in turn, expected "
                           "both or none");
    if (keyRing) {
      lowerInTurn(keyRing, valueRing);
      return success();
    }
    call("Attention", {operands[0], operands[1], operands[2], mask(), sinks()},
         {lowering.allocate(op, op->getResult(0))}, config);
    return success();
  }

private:
  void call(StringRef kernel, SmallVector<ValueView, 6> inputs,
            ArrayRef<ValueView> outputs, const Lowering::Config &with) {
    while (inputs.back().isAbsent())
      inputs.pop_back();
    lowering.call(op, kernel, inputs, outputs, with);
  }

  bool hasPast() const {
    return op->getNumResults() > 1 ||
           llvm::any_of(llvm::seq<size_t>(AttentionOperand::PastKey,
                                          AttentionOperand::Sinks),
                        [&](size_t i) {
                          return i < operands.size() && !operands[i].isAbsent();
                        });
  }

  ValueView sinks() const {
    return operands.size() > AttentionOperand::Sinks
               ? operands[AttentionOperand::Sinks]
               : ValueView();
  }

  /// Broadcast to the scores' dims [b, h, s, t].
  ValueView mask() const {
    if (operands.size() <= AttentionOperand::Mask ||
        operands[AttentionOperand::Mask].isAbsent())
      return ValueView();
    const ValueView &view = operands[AttentionOperand::Mask];
    const Sizes &q = operands[0].layout.dims;
    return view.with(view.layout.broadcast(
        {q[0], q[1], q[2], dist::getDims(op->getOperand(1).getType())[2]}));
  }

  NamedAttribute pieces(StringRef name, ArrayRef<dist::Range> ranges) {
    SmallVector<DimExpr, 4> pairs;
    for (const dist::Range &range : ranges)
      pairs.append({range.start, range.size});
    return lowering.scalars(name, pairs);
  }

  /// Which of all queries this rank has: causality asks for that, and that some
  /// ranks may have more than others.
  void placeQueries() {
    dist::DimSharding rows =
        dist::getSharding(op->getOperand(0).getType()).dims[2];
    if (rows.isSplit())
      config.push_back(lowering.ints("split_rows", {1}));
    if (op->getAttrOfType<IntegerAttr>("is_causal").getInt() == 0)
      return;
    if (auto offset = op->getAttrOfType<dist::DimsAttr>("causal_offset"))
      config.push_back(
          lowering.scalars("causal_offset", offset.getValues().front()));
    if (rows.isSplit())
      config.push_back(pieces("query_pieces", rows.ranges(lowering.mesh)));
  }

  void lowerInTurn(dist::RingOp keyRing, dist::RingOp valueRing) {
    ValueView result = lowering.allocate(op, op->getResult(0));
    ValueView values = result;
    if (!result.element.isF32() && !result.element.isF64())
      values = lowering.allocate(op, Float32Type::get(op->getContext()),
                                 result.layout.dims, /*isReplicated=*/false);
    Sizes dims = result.layout.dims;
    dims.back() = 2;
    ValueView stats =
        lowering.allocate(op, values.element, dims, /*isReplicated=*/false);
    ValueView key = lowering.view(keyRing.getOperand());
    ValueView value = lowering.view(valueRing.getOperand());
    ArrayRef<int64_t> steps = keyRing.getSteps();
    for (size_t s = 0; s < steps.size(); ++s) {
      if (s > 0) {
        key = moveOn(keyRing, key, s);
        value = moveOn(valueRing, value, s);
      }
      Lowering::Config here = config;
      here.push_back(pieces("key_pieces", rangesAt(keyRing, steps[s])));
      call("AttentionPart",
           {operands[0], key, value, mask(), s == 0 ? ValueView() : values,
            s == 0 ? ValueView() : stats},
           {values, stats}, here);
    }
    call("AttentionFinish", {values, stats, sinks()}, {result},
         Lowering::attributes(op, {"zero_rows"}));
  }

  /// What a rank has while it sees the part of the one `step` further on.
  SmallVector<dist::Range, 2> rangesAt(dist::RingOp ring, int64_t step) const {
    const dist::Sharding split = dist::getSharding(ring.getOperand().getType());
    return split.dims[ring.getDim()].rangesAt(
        [&](ArrayRef<dist::AxisRef> axes) {
          return dist::partAt(
              axes,
              DimExpr::mod(dist::flatIndex(axes, lowering.mesh) + step,
                           dist::numWays(axes)),
              lowering.mesh);
        });
  }

  /// The part of step number `s`, from the rank that had it in the one before.
  ValueView moveOn(dist::RingOp ring, const ValueView &part, size_t s) {
    ArrayRef<int64_t> steps = ring.getSteps();
    const int64_t ways = steps.size();
    Sizes dims = part.layout.dims;
    dims[ring.getDim()] = 0;
    for (const dist::Range &range : rangesAt(ring, steps[s]))
      dims[ring.getDim()] = dims[ring.getDim()] + range.size;
    ValueView next = lowering.allocate(op, part.element, dims,
                                       /*isReplicated=*/false);
    rt::CollectiveOp made =
        lowering.collective(op, "shift", part, next, ring.getAxes());
    made.setDistance((steps[s] - steps[s - 1] + ways) % ways);
    if (ring.getWhyAttr())
      made.setWhyAttr(ring.getWhyAttr());
    return next;
  }

  Operation *op;
  Lowering &lowering;
  SmallVector<ValueView, 4> operands;
  Lowering::Config config;
};

} // namespace

LogicalResult AttentionOp::lower(Lowering &lowering) {
  return AttentionLowering(*this, lowering).lower();
}

} // namespace shardc::onnx
