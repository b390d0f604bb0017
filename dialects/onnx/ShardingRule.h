//===- ShardingRule.h - How the dims of an op may be split ----------------===//
//
// A rule names the factors that an op's dims are made of, einsum-like. A dim of
// an operand or result is a list of segments, each a row-major product of
// factors. Splitting a factor splits every dim in which it occurs; what the
// result then is follows from the factor's class:
//
//   MatMul       b m k, b k n -> b m n     k: reduce(sum), others pass through
//   Reshape      (h d) -> h d              [b, s, 96] -> [b, s, 6, 16]
//   Split        [q | k | v] -> q, k, v    segments with factors of their own
//   Softmax      b !a -> b !a              a: needs replication
//   Gather       v d, i -> i d             v: lookup, the result is partial
//   Expand       h 1 d -> h g d            g: pass through, free (no operand)
//
// A factor may itself be made of finer ones elsewhere in the graph (the n of a
// MatMul is heads x head dim for the Reshape behind it); propagation finds the
// finest common factorisation.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_SHARDINGRULE_H
#define SHARDC_DIALECTS_ONNX_SHARDINGRULE_H

#include "dialects/dist/algebra/Sharding.h"

namespace mlir {
class Operation;
}

namespace shardc::onnx {

enum class FactorClass : uint8_t {
  PassThrough,      ///< split where it occurs, nothing else changes
  Reduce,           ///< in operands only; the result is partial
  NeedsReplication, ///< may not be split at this op
  Lookup            ///< rows of a table; the result is a partial sum
};

/// What an op can do with which elements of a dim a rank has, if it must know.
enum class RankParts : uint8_t {
  Any,
  RangePerSegment, ///< DimSharding::isRangePerSegment
  OneRange         ///< DimSharding::isOneRange
};

struct RuleFactor {
  dist::DimExpr size;
  FactorClass factorClass = FactorClass::PassThrough;
  dist::ReduceKind reduceKind = dist::ReduceKind::Sum;
  bool isExperts = false; ///< only expert parallelism splits it
  RankParts rankParts = RankParts::Any;
  bool isInTurn = false; ///< its parts may come one after the other: dist.ring
};

/// Segments of factor numbers. No segment at all: a dim of size 1 that is
/// broadcast, or has nothing to split.
struct RuleDim {
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1> segments;

  static RuleDim none() { return {}; }
  static RuleDim factor(unsigned number) { return {{{number}}}; }
};

using RuleTensor = llvm::SmallVector<RuleDim, 4>;

struct ShardingRule {
  llvm::SmallVector<RuleFactor, 6> factors;
  /// One per operand and result; empty for operands of none type and scalars.
  llvm::SmallVector<RuleTensor, 3> operands, results;

  unsigned addFactor(dist::DimExpr size,
                     FactorClass factorClass = FactorClass::PassThrough,
                     dist::ReduceKind kind = dist::ReduceKind::Sum) {
    factors.push_back({size, factorClass, kind});
    return factors.size() - 1;
  }
  /// A dim of one new factor; none for a size of 1.
  RuleDim addDim(dist::DimExpr size,
                 FactorClass factorClass = FactorClass::PassThrough,
                 dist::ReduceKind kind = dist::ReduceKind::Sum) {
    return size.isConstant(1)
               ? RuleDim::none()
               : RuleDim::factor(addFactor(size, factorClass, kind));
  }
  /// New dims that need replication.
  RuleTensor addBlocked(llvm::ArrayRef<dist::DimExpr> dims) {
    RuleTensor tensor;
    for (dist::DimExpr dim : dims)
      tensor.push_back(addDim(dim, FactorClass::NeedsReplication));
    return tensor;
  }
};

/// When operands are partial (each rank holds a summand), is f of the summands
/// a summand of the result? See partialResult for the whole table.
enum class PartialRule : uint8_t {
  None,        ///< no operand may be partial
  Moves,       ///< operand 0 only; elements are moved, any kind of partial
  Linear,      ///< operand 0 only; sums stay sums
  Additive,    ///< all operands, partial over the same axes: Add, Sub
  MovesAll,    ///< as Additive, for any kind of partial: Concat
  Multilinear, ///< exactly one of the operands 0 and 1: Mul, MatMul
  Affine,      ///< Gemm: one of 0 and 1, and then 2 (if there is one) as well
  Branches,    ///< Where: operands 1 and 2, both, any kind
  KeepsMax,    ///< operand 0 only, partial by max: ReduceMax
  KeepsMin     ///< operand 0 only, partial by min: ReduceMin
};

/// The partial axes of an op's result given its operands', before what the op
/// reduces itself; nothing where the rule forbids the combination.
///
///   Additive     ({tp: sum}, {tp: sum}) = {tp: sum}
///   Additive     ({tp: sum}, {})        = nothing: `dist.once` first
///   Multilinear  ({tp: sum}, {})        = {tp: sum}
///   Multilinear  ({tp: sum}, {tp: sum}) = nothing
std::optional<llvm::SmallVector<dist::PartialAxis, 1>>
partialResult(PartialRule rule,
              llvm::ArrayRef<llvm::ArrayRef<dist::PartialAxis>> operands);

//===----------------------------------------------------------------------===//
// Rules that many ops share
//===----------------------------------------------------------------------===//

/// Right-aligned broadcasting of all operands to result 0; operand dims of
/// size 1 under a larger result dim take no part.
ShardingRule elementwiseRule(mlir::Operation *op);

/// Operand 0 and every result have the same dims; those of `axes` need
/// replication. Further operands need to be whole.
ShardingRule blockedAxesRule(mlir::Operation *op, llvm::ArrayRef<int64_t> axes);

/// Everything needs replication, for ops that look at all elements.
ShardingRule replicatedRule(mlir::Operation *op);

/// "... m k, k n -> ... m n": a letter a dim; '...' stands for leading dims
/// that are broadcast as in MatMul; letters that no result has are reduced by a
/// sum; a leading '!' marks a letter that needs replication; '1' a dim without
/// factor. "()" is a scalar or an absent operand.
ShardingRule einsumRule(mlir::Operation *op, llvm::StringRef text);

/// Factors of a reshape between two lists of dims with the same product.
/// Example: [b, s, 96] -> [b * s, 6, 16] has factors b, s, 6, 16 and dims
/// (b)(s)(6 16) -> (b s)(6)(16). What has no common factorisation (6 -> 4 with
/// a rest of both) becomes one factor per side that needs replication.
struct ReshapeFactors {
  llvm::SmallVector<RuleFactor, 6> factors;
  RuleTensor from, to;
};
ReshapeFactors reshapeFactors(llvm::ArrayRef<dist::DimExpr> from,
                              llvm::ArrayRef<dist::DimExpr> to);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_SHARDINGRULE_H
