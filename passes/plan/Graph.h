//===- Graph.h - A program as planning sees it ----------------------------===//
//
// Ops with their rules, values with the factors of their dims, all factors
// unified over the whole graph; no IR. It is built once and not changed by what
// is decided on it (Plan.h), so that many plans may be tried.
//
//   x [b, 64]   w [64, 256]      y = product(x, w), rule "m k, k n -> m n"
//   dims of x: b, 64   of w: 64, 256   of y: b, 256    three leaves
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_GRAPH_H
#define SHARDC_PASSES_PLAN_GRAPH_H

#include "dialects/onnx/ShardingRule.h"
#include "passes/plan/FactorSpace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>
#include <optional>

namespace shardc::plan {

/// A leaf as it occurs at one op.
struct OpLeaf {
  FactorNode leaf;
  onnx::FactorClass factorClass;
  dist::ReduceKind reduceKind;
  bool isExperts = false;
  onnx::RankParts rankParts = onnx::RankParts::Any;
};

using DimNodes = llvm::SmallVector<FactorNode, 4>;

/// What planning must know of an op beyond its rule.
enum class OpKind : uint8_t {
  Other,
  Weight,      ///< a tensor of the model's files
  Constant,    ///< one of the graph itself, or of its sizes
  Dequantize,  ///< numbers of what is held in fewer bits
  CacheAppend, ///< new keys or values behind those of earlier positions
  Attention    ///< operands: queries, keys, values
};

inline constexpr unsigned kNoValue = ~0u;

struct GraphOp {
  OpKind kind = OpKind::Other;
  bool isCausal = false; ///< of an attention
  /// Of an attention: keys are in pages, of which operand 3 has those of each row.
  bool isPaged = false;
  onnx::PartialRule partialRule = onnx::PartialRule::None;
  dist::DimExpr work = 0; ///< multiply-adds
  /// Ops that it stands for: of equal layers some are enough to plan by.
  double count = 1;
  /// Of the model, where the op is in one that is known.
  std::optional<unsigned> layer;
  /// Operand number in the graph's values; kNoValue if it takes no part.
  llvm::SmallVector<unsigned, 3> operandValues, resultValues;

  //===--- Found by the graph ---------------------------------------------===//
  /// Dims of operands and results as this op sees them; empty where the rule
  /// leaves an operand out.
  llvm::SmallVector<DimNodes, 3> operands, results;
  llvm::SmallVector<OpLeaf, 6> leaves; ///< sorted by leaf
  double multiplyAdds = 0;             ///< at nominal sizes
  /// What a product with a lookup's table would take; 0 for other ops.
  double lookupMultiplyAdds = 0;
  bool usesWeight = false;                 ///< as matrix of a product
  llvm::SmallVector<unsigned, 1> matrices; ///< operands that are such weights

  const OpLeaf *find(FactorNode leaf) const;
};

struct GraphValue {
  llvm::SmallVector<dist::DimExpr, 4> sizes; ///< of its dims
  int64_t bits = 32;                         ///< of an element
  DimNodes dims;
  unsigned producer = kNoValue; ///< op number, kNoValue for inputs
  llvm::SmallVector<unsigned, 2> consumers;
  bool isWeightDerived = false; ///< elements of a matrix in the model
  bool isDequantized = false;   ///< of such a one, which is held in fewer bits
  bool isLoadTime = false;      ///< depends on no input
  bool isReturned = false;
  bool isCache = false; ///< is returned as present of one
  double elements = 0;  ///< at nominal sizes
};

class Graph {
public:
  /// `nominal` gives a value for each symbol; used for weighing choices only.
  explicit Graph(std::function<int64_t(llvm::StringRef)> nominal)
      : nominal(std::move(nominal)) {}

  //===--- Building, in the program's order -------------------------------===//
  unsigned addValue(llvm::ArrayRef<dist::DimExpr> sizes, int64_t bits);
  /// An op whose operands and results are there.
  void addOp(GraphOp op, const onnx::ShardingRule &rule);
  void markReturned(unsigned value, bool isCache);
  /// Behind the last op: finds what the ops have in common.
  void finish();

  FactorSpace space;
  std::vector<GraphOp> ops;
  std::vector<GraphValue> values;
  /// Ops at which a leaf occurs.
  llvm::DenseMap<FactorNode, llvm::SmallVector<unsigned, 8>> opsOfLeaf;
  /// Leaves of the model's own matrices: batch and sequence are none, even
  /// where a gather of experts makes them dims of a product's weight.
  llvm::DenseSet<FactorNode> weightLeaves;
  /// Some op's sums may not be shared out: matrices are split by columns.
  bool keepsSumsWhole = false;
  /// Mean multiply-adds of the products with weights.
  double meanProduct = 0;

  /// At nominal sizes.
  double evaluate(dist::DimExpr size) const;
  llvm::ArrayRef<unsigned> opsWith(FactorNode leaf) const;

private:
  bool isSplitPerUse(unsigned value) const;
  bool movesWeight(const GraphOp &op, bool isLoadTime) const;
  void tieDims(GraphOp &op, const onnx::ShardingRule &rule);
  void findWeightLeaves(llvm::DenseSet<FactorNode> &buried);
  void collectLeaves(unsigned number, const llvm::DenseSet<FactorNode> &buried);
  llvm::DenseSet<FactorNode> leavesUsedTwice(const GraphOp &op) const;
  bool isSummedInPart(FactorNode dim, const onnx::RuleFactor &factor,
                      FactorNode leaf) const;
  void weighProducts();

  std::function<int64_t(llvm::StringRef)> nominal;
  /// Factors of each op's rule, until leaves are collected.
  std::vector<llvm::SmallVector<std::pair<FactorNode, onnx::RuleFactor>, 6>>
      ruleFactors;
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_GRAPH_H
