//===- Layout.cpp - Ops that arrange elements -----------------------------===//

#include "dialects/onnx/ops/Layout.h"

#include "compiler/ranks/RankProgram.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/lower/StridedLayout.h"

#include <limits>

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;

/// Where a slice ends, exclusive; ONNX counts a negative number from the back.
static DimExpr endOf(DimExpr start, DimExpr size, int64_t step) {
  const DimExpr end = start + size * step;
  const std::optional<int64_t> known = end.asConstant();
  return known && *known < 0 ? DimExpr(std::numeric_limits<int64_t>::min())
                             : end;
}

static void writeSlice(onnx::SliceOp op, RankProgram &program) {
  GraphWriter &writer = program.writer;
  auto bounds = op.getBoundsAttr();
  if (!bounds)
    return writer.fail("has bounds that only the data knows");
  const dist::Sharding sharding = dist::getSharding(op.getData().getType());
  const Tensor x = program.tensor(op.getData());
  const Dims dims = program.localDims(op.getResult());
  Dims starts, ends;
  std::vector<int64_t> axes, steps;
  for (auto [d, start] : llvm::enumerate(bounds.getValues())) {
    const int64_t step = op.getSteps() ? (*op.getSteps())[d] : 1;
    if (start.isConstant(0) && step == 1 && dims[d] == x.dims[d])
      continue;
    std::optional<DimExpr> offset =
        lower::localOffset(sharding.dims[d], start, program.rank.mesh);
    if (!offset)
      return writer.fail("cuts inside a part that is split");
    starts.push_back(program.rank.size(*offset));
    ends.push_back(endOf(starts.back(), dims[d], step));
    axes.push_back(d);
    steps.push_back(step);
  }
  if (axes.empty())
    return program.bind(op.getResult(), x);
  program.makeNode(op, {x, writer.sizes(starts), writer.sizes(ends),
                        writer.integers(axes), writer.integers(steps)});
}

static void writeTile(onnx::TileOp op, RankProgram &program) {
  const Tensor x = program.tensor(op.getData());
  Dims repeats;
  for (auto [d, size] : llvm::enumerate(program.localDims(op.getResult()))) {
    std::optional<DimExpr> times = size.exactDiv(x.dims[d]);
    if (!times)
      return program.writer.fail("has a number of repeats that is not known");
    repeats.push_back(*times);
  }
  program.makeNode(op, {x, program.writer.sizes(repeats)});
}

static void writeSplit(onnx::SplitOp op, RankProgram &program) {
  Dims sizes;
  for (Value part : op->getResults())
    sizes.push_back(program.localDims(part)[op.getAxis()]);
  program.makeNode(op,
                   {program.tensor(op.getData()), program.writer.sizes(sizes)},
                   {"axis"});
}

static void writeSymbols(onnx::SymbolsOp op, RankProgram &program) {
  const Tensor all =
      program.writer.sizes(program.rank.sizes(op.getValues().getValues()));
  const Value result = op.getResult();
  program.bind(result, program.writer.cast(program.writer.reshape(
                                               all, program.localDims(result)),
                                           program.elementOf(result)));
}

static void writeRange(onnx::RangeOp op, RankProgram &program) {
  GraphWriter &writer = program.writer;
  const Type element = program.elementOf(op.getResult());
  auto scalar = [&](Tensor x) {
    return writer.cast(writer.reshape(x, {}), element);
  };
  if (!op.getBounds()) {
    SmallVector<Tensor, 3> inputs;
    for (const Tensor &operand : program.operands(op))
      inputs.push_back(scalar(operand));
    return program.makeNode(op, inputs);
  }
  const auto bounds = program.rank.sizes(op.getBounds()->getValues());
  const DimExpr count = program.localDims(op.getResult()).front();
  program.makeNode(op, {scalar(writer.sizes(bounds[0])),
                        scalar(writer.sizes(bounds[0] + count * bounds[1])),
                        scalar(writer.sizes(bounds[1]))});
}

static void writePad(onnx::PadOp op, RankProgram &program) {
  SmallVector<Tensor, 4> inputs = program.operands(op);
  const Dims bounds = program.rank.sizes(op.getBoundsAttr().getValues());
  SmallVector<Tensor, 3> all{inputs[0], program.writer.sizes(bounds)};
  if (inputs.size() > 1 && !inputs[1].isAbsent())
    all.push_back(program.writer.reshape(inputs[1], {}));
  program.makeNode(op, all, {"mode"});
}

static void writeCast(onnx::CastOp op, RankProgram &program) {
  const Type element = program.elementOf(op.getResult());
  const bool isFloat8 =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  if (!isFloat8)
    return program.bind(
        op.getResult(),
        program.writer.cast(program.tensor(op.getInput()), element));
  const Tensor x = program.tensor(op.getInput());
  Tensor made = program.writer.cast(x, element);
  program.bind(op.getResult(), made);
}

bool writeLayoutOp(Operation *op, RankProgram &program) {
  GraphWriter &writer = program.writer;
  if (auto slice = dyn_cast<onnx::SliceOp>(op))
    writeSlice(slice, program);
  else if (auto tile = dyn_cast<onnx::TileOp>(op))
    writeTile(tile, program);
  else if (auto split = dyn_cast<onnx::SplitOp>(op))
    writeSplit(split, program);
  else if (auto symbols = dyn_cast<onnx::SymbolsOp>(op))
    writeSymbols(symbols, program);
  else if (auto range = dyn_cast<onnx::RangeOp>(op))
    writeRange(range, program);
  else if (auto pad = dyn_cast<onnx::PadOp>(op))
    writePad(pad, program);
  else if (auto cast = dyn_cast<onnx::CastOp>(op))
    writeCast(cast, program);
  else if (isa<onnx::ReshapeOp>(op))
    program.bind(op->getResult(0),
                 writer.reshape(program.tensor(op->getOperand(0)),
                                program.localDims(op->getResult(0))));
  else if (isa<onnx::ExpandOp>(op))
    program.bind(op->getResult(0),
                 writer.expand(program.tensor(op->getOperand(0)),
                               program.localDims(op->getResult(0))));
  else if (isa<onnx::TransposeOp>(op))
    program.makeNode(op, program.operands(op), {"perm"});
  else if (isa<onnx::ConcatOp>(op))
    program.makeNode(op, program.operands(op), {"axis"});
  else
    return false;
  return true;
}

} // namespace shardc::ranks
