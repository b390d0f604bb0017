//===- FactorSpace.h - Finest common factorisation of all dims ------------===//
//
// Every dim of every value is a node: a leaf (a factor that nothing divides
// further), a row-major product, or a concatenation. Ops tie dims together;
// unify refines both sides until they agree, so that afterwards equal leaves
// are the same factor all over the graph.
//
//   k_proj      n = 64            leaf 64
//   Reshape     64 -> (4, 16)     leaf 64 becomes product(4, 16)
//   Reshape     (4, 2) -> 8       repeated KV heads: product(4, 2)
//   Reshape     8, 16 <- 128      q_proj's n becomes product(4, 2, 16)
//
// Splitting the leaf of 4 then splits KV heads and query heads alike.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_FACTORSPACE_H
#define SHARDC_PASSES_PLAN_FACTORSPACE_H

#include "dialects/dist/algebra/Sharding.h"

#include <vector>

namespace shardc::plan {

using FactorNode = unsigned;

class FactorSpace {
public:
  /// Dims that would get more are not unified: each segment is a factor of
  /// each op on such a dim.
  static constexpr size_t kMaxSegments = 256;

  FactorNode leaf(dist::DimExpr size);
  /// Children major to minor; those of size 1 are dropped.
  FactorNode product(llvm::ArrayRef<FactorNode> children);
  FactorNode concat(llvm::ArrayRef<FactorNode> children);

  /// Makes both the same node. False where they have no common factorisation
  /// (6 x 2 against 4 x 3); what could be shared is shared all the same.
  bool unify(FactorNode lhs, FactorNode rhs);

  FactorNode find(FactorNode node) const;
  dist::DimExpr size(FactorNode node) const { return nodes[find(node)].size; }
  bool isLeaf(FactorNode node) const {
    return nodes[find(node)].kind == Kind::Leaf;
  }
  unsigned numNodes() const { return nodes.size(); }

  /// Segments of a dim, each a product or a leaf; the dim itself if it is one.
  llvm::SmallVector<FactorNode, 8> segments(FactorNode node) const {
    return parts(node, Kind::Concat);
  }

  /// Calls visit(leaf, isBuried) for each leaf below; buried are those inside a
  /// concatenation that is a factor of a product: they cannot be split.
  void forEachLeaf(FactorNode node,
                   llvm::function_ref<void(FactorNode, bool)> visit) const;
  /// Whether the leaf is somewhere below one of these dims.
  bool holds(llvm::ArrayRef<FactorNode> dims, FactorNode leaf) const;
  /// The leaf that follows `leaf` in a product below `node`, if one does.
  std::optional<FactorNode> minorNeighbour(FactorNode node,
                                           FactorNode leaf) const;

  /// The sharding of a dim, given the axes of each leaf.
  dist::DimSharding
  sharding(FactorNode node,
           llvm::function_ref<llvm::ArrayRef<dist::AxisRef>(FactorNode)> axesOf)
      const;

private:
  enum class Kind : uint8_t { Leaf, Product, Concat };
  struct Node {
    Kind kind = Kind::Leaf;
    dist::DimExpr size = 1;
    FactorNode parent; ///< itself, or what it was unified with
    llvm::SmallVector<FactorNode, 2> children;
  };
  using List = llvm::SmallVector<FactorNode, 8>;

  FactorNode add(Kind kind, dist::DimExpr size,
                 llvm::ArrayRef<FactorNode> children);
  /// Flattened children of that kind, or the node itself.
  List parts(FactorNode node, Kind kind) const;
  /// Turns a leaf into product(major, rest); the two parts.
  std::optional<std::pair<FactorNode, FactorNode>>
  splitProduct(FactorNode node, dist::DimExpr major);
  /// Turns a node into concat(first, rest); the two parts.
  std::optional<std::pair<FactorNode, FactorNode>>
  splitConcat(FactorNode node, dist::DimExpr first);
  void flatten(List &list, size_t i, Kind kind);
  bool alignProducts(List lhs, List rhs);
  bool alignConcats(List lhs, List rhs);

  /// Paths are shortened, and lists of parts flattened, where they are walked.
  mutable std::vector<Node> nodes;
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_FACTORSPACE_H
