//===- BatchFactor.cpp - May a request run in parts? ----------------------===//

#include "passes/shard/BatchFactor.h"

#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::shard {

using dist::DimExpr;
using onnx::FactorClass;
using plan::FactorNode;
using plan::GraphOp;
using plan::GraphValue;

namespace {

class BatchFinder {
public:
  BatchFinder(func::FuncOp function, const FunctionGraph &source)
      : function(function), source(source), graph(source.graph) {}

  BatchFactor run() {
    // Arguments are the graph's first values.
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (std::optional<FactorNode> first = firstDim(graph.values[i]);
          first && !batch && graph.space.size(*first).asSymbol())
        batch = first;
    if (!batch)
      return failed("no input has a batch of a size that is left open");
    symbol = *graph.space.size(*batch).asSymbol();
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!holds(graph.values[i].dims))
        continue;
      if (!isOnlyFirst(graph.values[i]))
        return failed("an input has the batch in another dim than its first");
      found.inputs.push_back(i);
    }
    for (const GraphValue &value : graph.values)
      if (value.isReturned && !isOnlyFirst(value))
        return failed("an output has the batch in another dim than its first, "
                      "or none");
    for (Operation &op : function.front())
      if (needsWhole(op)) {
        found.obstacle = &op;
        return failed("this op needs all of the batch");
      }
    return found;
  }

private:
  BatchFactor failed(const char *why) {
    found.why = why;
    return found;
  }

  std::optional<FactorNode> firstDim(const GraphValue &value) {
    if (value.dims.empty() || !graph.space.isLeaf(value.dims[0]))
      return std::nullopt;
    return graph.space.find(value.dims[0]);
  }

  bool holds(ArrayRef<FactorNode> dims) {
    return graph.space.holds(dims, *batch);
  }

  bool isOnlyFirst(const GraphValue &value) {
    return firstDim(value) == batch &&
           !holds(ArrayRef(value.dims).drop_front());
  }

  /// Whether what an op without operands gives depends on how many rows there
  /// are: it counts them.
  bool countsRows(Operation &op) {
    bool counts = false;
    onnx::forEachSize(&op, [&](DimExpr size) { counts |= mentionsRows(size); });
    return counts;
  }

  bool mentionsRows(DimExpr size) {
    bool mentions = false;
    size.forEachSymbol(
        [&](StringRef name, bool) { mentions |= name == symbol; });
    return mentions;
  }

  /// A table of 50 rows whose first `batch` are taken is [batch | 50 - batch], and
  /// has no batch.
  bool hasBatch(FactorNode dim) {
    return mentionsRows(graph.space.size(dim)) && holds(dim);
  }

  bool readsBatch(const GraphOp &op) {
    return llvm::any_of(op.operandValues, [&](unsigned value) {
      return value != plan::kNoValue &&
             llvm::any_of(graph.values[value].dims,
                          [&](FactorNode dim) { return hasBatch(dim); });
    });
  }

  /// Whether an op with operands counts rows other than by the batch that it reads:
  /// what it takes the first `batch` rows of is another table for each part. A value
  /// that is repeated for each row is the same for all of them.
  bool countsRowsBeside(Operation &op, const GraphOp &graphOp) {
    for (NamedAttribute attribute : op.getAttrs())
      if (auto sizes = dyn_cast<dist::DimsAttr>(attribute.getValue()))
        for (DimExpr size : sizes.getValues())
          if (mentionsRows(size))
            return true;
    const bool mayHold = isa<onnx::ExpandOp>(op) || readsBatch(graphOp);
    for (unsigned value : graphOp.resultValues) {
      unsigned count = 0, others = 0;
      for (FactorNode dim : graph.values[value].dims)
        graph.space.forEachLeaf(dim, [&](FactorNode leaf, bool) {
          const bool isBatch = graph.space.find(leaf) == *batch;
          count += isBatch;
          others += !isBatch && mentionsRows(graph.space.size(leaf));
        });
      if (others > 0 || count > (mayHold ? 1u : 0u))
        return true;
    }
    return false;
  }

  bool needsWhole(Operation &op) {
    if (isa<func::ReturnOp, onnx::GuardOp>(op))
      return false;
    if (isa<onnx::ReadSizesOp>(op) || op.getNumRegions() > 0)
      return true; // what the data decide may differ between the parts
    if (op.getNumOperands() == 0)
      return countsRows(op);
    const GraphOp *graphOp = numberOf(op);
    if (!graphOp || countsRowsBeside(op, *graphOp))
      return true;
    const plan::OpLeaf *leaf = graphOp->find(*batch);
    if (leaf && leaf->factorClass != FactorClass::PassThrough)
      return true;
    for (auto [i, value] : llvm::enumerate(graphOp->operandValues))
      if (value != plan::kNoValue && holds(graph.values[value].dims) &&
          !holds(graphOp->operands[i]))
        return true;
    return false;
  }

  const GraphOp *numberOf(Operation &op) {
    if (ops.empty())
      for (auto [known, graphOp] : llvm::zip(source.ops, graph.ops))
        ops[known] = &graphOp;
    return ops.lookup(&op);
  }

  func::FuncOp function;
  const FunctionGraph &source;
  const plan::Graph &graph;
  std::optional<FactorNode> batch;
  StringRef symbol;
  BatchFactor found;
  llvm::DenseMap<Operation *, const GraphOp *> ops;
};

} // namespace

BatchFactor findBatch(func::FuncOp function, const FunctionGraph &graph) {
  return BatchFinder(function, graph).run();
}

} // namespace shardc::shard
