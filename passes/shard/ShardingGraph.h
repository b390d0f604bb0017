//===- ShardingGraph.h - A function's ops and dims, ready for propagation -===//
//
// Built once from the IR: each op with its rule, each value with the factors of
// its dims, all factors unified over the whole graph. The search works on this
// alone; types are written once at the end.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_SHARDINGGRAPH_H
#define SHARDC_PASSES_SHARD_SHARDINGGRAPH_H

#include "dialects/onnx/Onnx.h"
#include "passes/shard/FactorSpace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace shardc::shard {

/// A leaf as it occurs at one op.
struct OpLeaf {
  FactorNode leaf;
  onnx::FactorClass factorClass;
  dist::ReduceKind reduceKind;
  bool isExperts = false;
  onnx::RankParts rankParts = onnx::RankParts::Any;
};

/// Major first.
using AxisList = llvm::SmallVector<dist::AxisRef, 1>;

/// Whether one of the axes distinguishes ways that `axis` does.
bool overlapsAny(llvm::ArrayRef<dist::AxisRef> axes, const dist::AxisRef &axis);

/// Axes that split a leaf, at one op.
struct LeafSplit {
  FactorNode leaf;
  AxisList axes;
  bool isZigZag = false; ///< only of dims that are this leaf
};

using DimNodes = llvm::SmallVector<FactorNode, 4>;

struct GraphOp {
  mlir::Operation *op = nullptr;
  onnx::PartialRule partialRule = onnx::PartialRule::None;
  /// Dims of operands and results as this op sees them; empty where the rule
  /// leaves an operand out.
  llvm::SmallVector<DimNodes, 3> operands, results;
  /// Operand number in the graph's values; kNoValue if it takes no part.
  llvm::SmallVector<unsigned, 3> operandValues, resultValues;
  llvm::SmallVector<OpLeaf, 6> leaves; ///< sorted by leaf
  double multiplyAdds = 0;             ///< at nominal sizes
  /// What a product with a lookup's table would take; 0 for other ops.
  double lookupMultiplyAdds = 0;
  bool usesWeight = false;                 ///< as matrix of a product
  llvm::SmallVector<unsigned, 1> matrices; ///< operands that are such weights

  const OpLeaf *find(FactorNode leaf) const;

  //===--- Decided by the search ------------------------------------------===//
  llvm::SmallVector<LeafSplit, 1> splits; ///< one for each leaf
  /// Axes over which operands and results are carried as partial sums.
  AxisList carried;
  /// Axes over which the ranks' parts of keys and values come in turn.
  AxisList inTurn;
  /// Whether one of these axes splits the op or is carried.
  bool uses(llvm::ArrayRef<dist::AxisRef> axes) const;
  /// Splits a leaf further; the axes that it has already stay major.
  void split(FactorNode leaf, llvm::ArrayRef<dist::AxisRef> axes);
};

inline constexpr unsigned kNoValue = ~0u;

struct GraphValue {
  mlir::Value value;
  DimNodes dims;
  unsigned producer = kNoValue; ///< op number, kNoValue for arguments
  llvm::SmallVector<unsigned, 2> consumers;
  bool isWeightDerived = false; ///< elements of a matrix in the model
  bool isLoadTime = false;      ///< depends on no input
  bool isReturned = false;
  bool isCache = false; ///< is returned as present of one
  double elements = 0;  ///< at nominal sizes
};

class ShardingGraph {
public:
  /// `nominal` gives a value for each symbol; used for weighing choices only.
  /// Ops without a rule are left out, with a warning at each.
  ShardingGraph(mlir::func::FuncOp function,
                std::function<int64_t(llvm::StringRef)> nominal);

  FactorSpace space;
  std::vector<GraphOp> ops;
  std::vector<GraphValue> values;
  /// Ops at which a leaf occurs.
  llvm::DenseMap<FactorNode, llvm::SmallVector<unsigned, 8>> opsOfLeaf;
  /// Leaves of the model's own matrices: batch and sequence are none, even
  /// where a gather of experts makes them dims of a product's weight.
  llvm::DenseSet<FactorNode> weightLeaves;
  /// Mean multiply-adds of the products with weights.
  double meanProduct = 0;

  double evaluate(dist::DimExpr size) const;
  /// Sharding that `op` wants for an operand, and gives a result, once split.
  dist::Sharding operandSharding(const GraphOp &op, unsigned index);
  dist::Sharding resultSharding(const GraphOp &op, unsigned index);

private:
  unsigned valueNumber(mlir::Value value);
  void addOp(onnx::OnnxOp op);
  void tieDims(GraphOp &graphOp, const onnx::ShardingRule &rule);
  void collectLeaves();
  llvm::DenseSet<FactorNode> leavesUsedTwice(const GraphOp &op);
  bool isSummedInPart(FactorNode dim, const onnx::RuleFactor &factor,
                      FactorNode leaf);
  void collectUses(mlir::func::FuncOp function);
  dist::Sharding sharding(const GraphOp &op, const DimNodes &dims,
                          mlir::Value value);

  std::function<int64_t(llvm::StringRef)> nominal;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  /// Factors of each op's rule, until leaves are collected.
  std::vector<llvm::SmallVector<std::pair<FactorNode, onnx::RuleFactor>, 6>>
      ruleFactors;
};

/// True if some segments of a dim are split and others are not: several ranks
/// then hold the same elements, which may not be put together into an output.
bool isSplitInPart(const dist::Sharding &sharding);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_SHARDINGGRAPH_H
