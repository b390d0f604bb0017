//===- Indexing.cpp - Elements chosen by data, caches ---------------------===//

#include "dialects/onnx/ops/Indexing.h"

#include "compiler/ranks/RankProgram.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Dynamic.h"

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;

static int64_t axisOf(Operation *op, size_t rank) {
  const int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  return axis < 0 ? axis + int64_t(rank) : axis;
}

/// Rows of a table of which the rank has some: those of others are zeros.
///
///   own = rows - first; y = own in [0, count) ? table[clip(own)] : 0
static void writeLookup(onnx::GatherOp op, const dist::DimSharding &rows,
                        int64_t axis, RankProgram &program) {
  GraphWriter &writer = program.writer;
  if (!rows.isOneRange())
    return writer.fail("looks up rows of a table that a rank holds in several "
                       "pieces");
  const Tensor table = program.tensor(op.getData());
  const Dims dims = program.localDims(op.getResult());
  if (table.dims[axis].isConstant(0))
    return program.bind(op.getResult(), writer.zeros(dims, table.element));
  Tensor index = writer.cast(program.tensor(op.getIndices()), writer.i64());
  auto number = [&](DimExpr value) {
    return writer.reshape(writer.sizes(program.rank.size(value)), {});
  };
  // Negative ones count from the back of the whole table.
  index = writer.where(writer.binary("Less", index, number(0), writer.i1()),
                       writer.binary("Add", index, number(rows.size())), index);
  const Tensor own =
      writer.binary("Sub", index, number(rows.lowerBound(program.rank.mesh)));
  const Tensor count = number(table.dims[axis]);
  const Tensor isHere = writer.binary(
      "And", writer.binary("GreaterOrEqual", own, number(0), writer.i1()),
      writer.binary("Less", own, count, writer.i1()));
  const Tensor clipped =
      writer.binary("Min", writer.binary("Max", own, number(0)),
                    number(table.dims[axis] - 1));
  const Tensor found = writer.make("Gather", {table, clipped}, dims,
                                   table.element, {{"axis", axis}});
  // The index' dims take the place of the axis.
  Dims shape = isHere.dims;
  shape.append(dims.size() - axis - shape.size(), DimExpr(1));
  program.bind(op.getResult(),
               writer.where(writer.reshape(isHere, shape), found,
                            writer.scalar(table.element, 0)));
}

static void writeGather(onnx::GatherOp op, RankProgram &program) {
  const dist::Sharding sharding = dist::getSharding(op.getData().getType());
  const int64_t axis = axisOf(op, sharding.dims.size());
  if (sharding.dims[axis].isSplit())
    return writeLookup(op, sharding.dims[axis], axis, program);
  program.makeNode(op, program.operands(op), {"axis"});
}

/// Row i is past[i, :, :lengths[i]], then added[i], then zeros: at place p the
/// element p of past or p - length of what is added.
static void writeCacheAppend(onnx::CacheAppendOp op, RankProgram &program) {
  GraphWriter &writer = program.writer;
  const Tensor past = program.tensor(op.getPast());
  const Tensor added = program.tensor(op.getAdded());
  const Dims dims = program.localDims(op.getResult());
  const Tensor length =
      writer.reshape(writer.cast(program.tensor(op.getLengths()), writer.i64()),
                     {dims[0], 1, 1, 1});
  const Tensor place =
      writer.reshape(writer.range(0, dims[2]), {1, 1, dims[2], 1});
  const Tensor behind = writer.binary("Sub", place, length);
  const Tensor last = writer.sizes(added.dims[2] - 1);
  const Tensor index = writer.binary(
      "Min", writer.binary("Max", behind, writer.integers(0)), last);
  const Tensor moved =
      writer.make("GatherElements", {added, writer.expand(index, dims)}, dims,
                  added.element, {{"axis", int64_t(2)}});
  const Tensor isOld =
      writer.binary("Less", behind, writer.integers(0), writer.i1());
  const Tensor isNew = writer.binary("LessOrEqual", behind, last, writer.i1());
  program.bind(op.getResult(),
               writer.where(isOld, writer.padTo(past, 2, dims[2]),
                            writer.where(isNew, moved,
                                         writer.scalar(added.element, 0))));
}

static void writeTopK(onnx::TopKOp op, RankProgram &program) {
  const Tensor x = program.tensor(op.getData());
  const int64_t axis = axisOf(op, x.dims.size());
  program.makeNode(
      op, {x, program.writer.sizes(program.localDims(op.getValues())[axis])},
      {"axis", "largest", "sorted"});
}

static void writeTrilu(onnx::TriluOp op, RankProgram &program) {
  SmallVector<Tensor, 2> inputs{program.tensor(op.getData())};
  if (auto bounds = op.getBoundsAttr())
    inputs.push_back(program.writer.reshape(
        program.writer.sizes(program.rank.sizes(bounds.getValues())), {}));
  program.makeNode(op, inputs, {"upper"});
}

bool writeIndexingOp(Operation *op, RankProgram &program) {
  if (auto gather = dyn_cast<onnx::GatherOp>(op))
    writeGather(gather, program);
  else if (auto append = dyn_cast<onnx::CacheAppendOp>(op))
    writeCacheAppend(append, program);
  else if (auto top = dyn_cast<onnx::TopKOp>(op))
    writeTopK(top, program);
  else if (auto trilu = dyn_cast<onnx::TriluOp>(op))
    writeTrilu(trilu, program);
  else if (isa<onnx::GatherElementsOp, onnx::GatherNDOp,
               onnx::ScatterElementsOp, onnx::ScatterNDOp, onnx::NonZeroOp>(op))
    program.makeNode(op, program.operands(op),
                     {"axis", "batch_dims", "reduction"});
  else
    return false;
  return true;
}

} // namespace shardc::ranks
