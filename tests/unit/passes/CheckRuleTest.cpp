//===- CheckRuleTest.cpp - Do shardings satisfy a rule? -------------------===//

#include "passes/verify/CheckRule.h"
#include "tests/unit/Shardings.h"

using namespace shardc;
using namespace shardc::testing;
using dist::DimExpr;
using dist::DimSharding;
using dist::ReduceKind;
using dist::Sharding;
using onnx::FactorClass;
using onnx::PartialRule;
using onnx::RuleDim;
using onnx::RuleFactor;
using onnx::ShardingRule;

namespace {

/// "0: (4:"tp"=4, 2); 1: {}" or "no".
std::string match(const DimSharding &dim, const RuleDim &pattern,
                  std::vector<RuleFactor> factors,
                  const dist::Mesh &mesh = {}) {
  auto found = verify::matchDim(dim, pattern, factors, mesh);
  if (!found)
    return "no";
  std::string all;
  for (auto &[factor, piece] : *found)
    all +=
        (all.empty() ? "" : "; ") + std::to_string(factor) + ": " + text(piece);
  return all;
}

TEST(MatchDim, CutsAtTheRulesFactors) {
  RuleDim heads{{{0, 1}}};
  EXPECT_EQ(match(dim({{{6, {axis(2)}}, {16}}}), heads, {{6}, {16}}),
            "0: {\"tp\"=2}; 1: {}");
  // Finer than the rule: KV heads and their groups are the query heads.
  EXPECT_EQ(match(dim({{{4, {axis(4)}}, {32}}}), heads, {{8}, {16}}),
            "0: (4:\"tp\"=4, 2); 1: {}");
  // Coarser: an even split is one of the major part.
  EXPECT_EQ(match(dim({{{96, {axis(2)}}}}), heads, {{6}, {16}}),
            "0: {\"tp\"=2}; 1: {}");
  EXPECT_EQ(match(dim({{{6}, {16, {axis(2)}}}}), heads, {{6}, {16}}),
            "0: {}; 1: {\"tp\"=2}");
}

TEST(MatchDim, RefusesUnevenCuts) {
  RuleDim heads{{{0, 1}}};
  EXPECT_EQ(match(dim({{{96, {axis(4)}}}}), heads, {{6}, {16}}), "no");
  EXPECT_EQ(match(dim({{{6}, {2, {axis(2)}}}}), heads, {{4}, {3}}), "no");
}

TEST(MatchDim, SharesAreEvenWhereTheirSumDivides) {
  const dist::Mesh mesh{{dist::Axis{"tp", 2, {3, 1}}}};
  RuleDim heads{{{0, 1}}};
  const DimSharding flat = dim({{{96, {axis(2)}}}});
  EXPECT_EQ(match(flat, heads, {{8}, {12}}, mesh), "0: {\"tp\"=2}; 1: {}");
  // 6 heads in shares of 3 and 1 are 4 and 2, 96 elements 72 and 24.
  EXPECT_EQ(match(flat, heads, {{6}, {16}}, mesh), "no");
  EXPECT_EQ(match(flat, heads, {{6}, {16}}), "0: {\"tp\"=2}; 1: {}");
}

TEST(MatchDim, WholeDimsFitWhateverTheirSizes) {
  RuleDim heads{{{0, 1}}};
  EXPECT_EQ(match(DimSharding::unsplit(12), heads, {{4}, {3}}), "0: {}; 1: {}");
  EXPECT_EQ(match(DimSharding::unsplit(1), RuleDim::none(), {}), "");
  EXPECT_EQ(match(dim({{{4, {axis(2)}}}}), RuleDim::none(), {}), "no");
}

TEST(MatchDim, TakesSegments) {
  RuleDim packed{{{0}, {1}}};
  DimSharding split = dim({{{6, {axis(2)}}, {16}}, {{2, {axis(2)}}, {16}}});
  EXPECT_EQ(match(split, packed, {{96}, {32}}),
            "0: (6:\"tp\"=2, 16); 1: (2:\"tp\"=2, 16)");
  // An unsplit neighbour may be cut, a split one may not.
  EXPECT_EQ(match(dim({{{128}}, {{32, {axis(2)}}}}), RuleDim{{{0}, {1}, {2}}},
                  {{100}, {28}, {32}}),
            "0: {}; 1: {}; 2: {\"tp\"=2}");
  EXPECT_EQ(match(split, packed, {{64}, {64}}), "no");
}

/// A table of 8 rows is cut behind `s` of them, which elsewhere are 1 | s - 1.
TEST(MatchDim, TakesSegmentsOfSymbolicSizes) {
  DimExpr s = DimExpr::symbol("s");
  DimSharding split = dim({{{1}}, {{s - 1, {axis(2)}}}, {{DimExpr(8) - s}}});
  EXPECT_EQ(match(split, RuleDim{{{0}, {1}}}, {{s}, {DimExpr(8) - s}}),
            "0: [1: (1) | s - 1: (s - 1:\"tp\"=2)]; 1: {}");
}

/// a [m, k] x b [k, n] -> [m, n] with m = 4, k = 6, n = 8.
ShardingRule matMul() {
  ShardingRule rule;
  unsigned m = rule.addFactor(4), n = rule.addFactor(8),
           k = rule.addFactor(6, FactorClass::Reduce);
  auto at = [](unsigned f) { return RuleDim::factor(f); };
  rule.operands = {{at(m), at(k)}, {at(k), at(n)}};
  rule.results = {{at(m), at(n)}};
  return rule;
}

Sharding sharding(std::vector<DimSharding> dims, bool isPartial = false,
                  ReduceKind kind = ReduceKind::Sum) {
  Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  if (isPartial)
    sharding.partial.push_back({axis(2), kind});
  sharding.normalize();
  return sharding;
}

DimSharding split(int64_t size) { return DimSharding::whole(size, {axis(2)}); }
DimSharding whole(int64_t size) { return DimSharding::unsplit(size); }

std::string check(std::vector<Sharding> operands, Sharding result) {
  return verify::checkRule(matMul(), PartialRule::Multilinear, operands, result,
                           dist::Mesh());
}

TEST(CheckRule, AcceptsMegatronsProducts) {
  EXPECT_EQ(
      check({sharding({whole(4), whole(6)}), sharding({whole(6), split(8)})},
            sharding({whole(4), split(8)})),
      "");
  EXPECT_EQ(
      check({sharding({whole(4), split(6)}), sharding({split(6), whole(8)})},
            sharding({whole(4), whole(8)}, true)),
      "");
  EXPECT_EQ(check({sharding({whole(4), whole(6)}, true),
                   sharding({whole(6), whole(8)})},
                  sharding({whole(4), whole(8)}, true)),
            "");
}

/// Of 6 = 2 | 4, both ranks hold the first 2 elements, and would add them.
TEST(CheckRule, RefusesSumsOfADimSplitInPart) {
  DimSharding part = dim({{{2}}, {{4, {axis(2)}}}}),
              all = dim({{{2, {axis(2)}}}, {{4, {axis(2)}}}});
  Sharding sum = sharding({whole(4), whole(8)}, true);
  EXPECT_NE(check({sharding({whole(4), part}), sharding({part, whole(8)})}, sum)
                .find("split in part"),
            std::string::npos);
  EXPECT_EQ(check({sharding({whole(4), all}), sharding({all, whole(8)})}, sum),
            "");
}

/// x[:, :end] of n elements, k of them over two ranks. That k is not beyond
/// `end` no size tells, only how the result is held.
std::string checkSlice(DimExpr end, DimSharding from, DimSharding kept) {
  const DimExpr n = DimExpr::symbol("n");
  ShardingRule slice;
  unsigned front = slice.addFactor(end), rest = slice.addFactor(n - end);
  slice.operands = {{RuleDim{{{front}, {rest}}}}};
  slice.results = {{RuleDim::factor(front)}};
  return verify::checkRule(slice, PartialRule::Linear, {sharding({from})},
                           {sharding({kept})}, dist::Mesh());
}

TEST(CheckRule, CutsADimAsOtherTensorsDo) {
  const DimExpr n = DimExpr::symbol("n"), k = DimExpr::symbol("k");
  const DimSharding from = dim({{{k, {axis(2)}}}, {{n - k}}});
  for (DimExpr end : {n - 1, DimExpr::max(n - 1, 0)}) {
    EXPECT_EQ(checkSlice(end, from, dim({{{k, {axis(2)}}}, {{end - k}}})), "");
    // Held whole, or another front of it over the ranks.
    for (const DimSharding &kept :
         {DimSharding::unsplit(end), DimSharding::whole(end, {axis(2)}),
          dim({{{k - 1, {axis(2)}}}, {{end - k + 1}}})})
      EXPECT_NE(checkSlice(end, from, kept), "");
  }
}

TEST(CheckRule, NamesWhatIsWrong) {
  Sharding lhs = sharding({whole(4), split(6)}),
           rhs = sharding({split(6), whole(8)});
  EXPECT_NE(check({lhs, rhs}, sharding({whole(4), whole(8)})), "");
  EXPECT_NE(
      check({lhs, rhs}, sharding({whole(4), whole(8)}, true, ReduceKind::Max)),
      "");
  EXPECT_NE(check({lhs, sharding({whole(6), whole(8)})},
                  sharding({whole(4), whole(8)}, true)),
            "");
  // Rows and columns over one axis: only the diagonal blocks would be computed.
  EXPECT_NE(
      check({sharding({split(4), whole(6)}), sharding({whole(6), split(8)})},
            sharding({split(4), whole(8)})),
      "");
  // Both operands summands: products across ranks would be missing.
  EXPECT_NE(check({sharding({whole(4), whole(6)}, true),
                   sharding({whole(6), whole(8)}, true)},
                  sharding({whole(4), whole(8)}, true)),
            "");
}

} // namespace
