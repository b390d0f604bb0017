//===- CheckRule.h - Do these shardings satisfy an op's rule? -------------===//
//
// The trusted base of verify-phase: given an op's rule and the shardings that
// its operands and results claim, finds how each factor is split and accepts
// only if all its occurrences agree, factors that need replication are whole,
// no axis is used twice, and the result is partial exactly over what was
// summed.
//
//   Reshape (h d) -> h d, h = 6, d = 16, operand [(6:"tp"=2, 16)]
//   factor h is split over tp = 2, d is whole; a result [{"tp"=2}, {}] fits,
//   a result [{}, {"tp"=2}] does not.
//
// It shares nothing with propagation but the rules.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_CHECKRULE_H
#define SHARDC_PASSES_VERIFY_CHECKRULE_H

#include "dialects/onnx/ShardingRule.h"

namespace shardc::verify {

/// "" if they do, else what is wrong. Shardings of operands that the rule
/// leaves out must be replicated.
std::string checkRule(const onnx::ShardingRule &rule,
                      onnx::PartialRule partialRule,
                      llvm::ArrayRef<dist::Sharding> operands,
                      llvm::ArrayRef<dist::Sharding> results,
                      const dist::Mesh &mesh);

/// How each factor of a dim is split: `dim` cut at the pattern's segments and
/// factors. Nothing where a cut goes through a split factor unevenly.
///
///   (4:"tp"=4, 32) as factors 8, 16  =  (4:"tp"=4, 2) and {}
///
/// `known` is how other tensors hold the factors, of those that are known.
std::optional<llvm::SmallVector<std::pair<unsigned, dist::DimSharding>, 4>>
matchDim(const dist::DimSharding &dim, const onnx::RuleDim &pattern,
         llvm::ArrayRef<onnx::RuleFactor> factors, const dist::Mesh &mesh,
         llvm::ArrayRef<std::optional<dist::DimSharding>> known = {});

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_CHECKRULE_H
