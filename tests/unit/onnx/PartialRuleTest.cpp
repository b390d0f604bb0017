//===- PartialRuleTest.cpp - The algebra of partial values ----------------===//
//
// The whole table, one row a rule: which of a few operands' partials it takes.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ShardingRule.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::onnx;
using dist::PartialAxis;
using dist::ReduceKind;

namespace {

const PartialAxis kSum{{"tp", 1, 2}, ReduceKind::Sum};
const PartialAxis kMax{{"tp", 1, 2}, ReduceKind::Max};
const PartialAxis kMin{{"tp", 1, 2}, ReduceKind::Min};
const PartialAxis kOther{{"dp", 1, 2}, ReduceKind::Sum};

/// '.' whole, 's' partial sum over tp, 'x' max, 'n' min, 'o' sum over dp; '!'
/// where the rule forbids the operands.
std::string result(PartialRule rule, llvm::StringRef operands) {
  llvm::SmallVector<llvm::SmallVector<PartialAxis, 1>> axes;
  for (char c : operands) {
    auto &list = axes.emplace_back();
    if (c != '.')
      list.push_back(c == 's'   ? kSum
                     : c == 'x' ? kMax
                     : c == 'n' ? kMin
                                : kOther);
  }
  llvm::SmallVector<llvm::ArrayRef<PartialAxis>> refs(axes.begin(), axes.end());
  auto partial = partialResult(rule, refs);
  if (!partial)
    return "!";
  if (partial->empty())
    return ".";
  return partial->front() == kSum   ? "s"
         : partial->front() == kMax ? "x"
         : partial->front() == kMin ? "n"
                                    : "o";
}

struct Row {
  PartialRule rule;
  std::vector<std::pair<std::string, std::string>> entries;
};

TEST(PartialRule, Table) {
  using R = PartialRule;
  const Row table[] = {
      {R::None, {{"..", "."}, {"s.", "!"}, {".s", "!"}}},
      {R::Moves, {{"s.", "s"}, {"x.", "x"}, {".s", "!"}, {"s", "s"}}},
      {R::Linear, {{"s.", "s"}, {"x.", "!"}, {".s", "!"}, {"ss", "!"}}},
      {R::KeepsMax, {{"x", "x"}, {"s", "!"}, {"n", "!"}}},
      {R::KeepsMin, {{"n", "n"}, {"s", "!"}, {"x", "!"}}},
      {R::Additive,
       {{"ss", "s"}, {"s.", "!"}, {".s", "!"}, {"so", "!"}, {"xx", "!"}}},
      {R::MovesAll,
       {{"sss", "s"}, {"xxx", "x"}, {"ss.", "!"}, {"sx.", "!"}, {"s", "s"}}},
      {R::Multilinear,
       {{"s.", "s"}, {".s", "s"}, {"ss", "!"}, {"x.", "!"}, {"..", "."}}},
      {R::Affine,
       {{"s.s", "s"},
        {".ss", "s"},
        {"s..", "!"},
        {"..s", "!"},
        {"sss", "!"},
        {"s.o", "!"},
        {"s.", "s"}}},
      {R::Branches,
       {{".ss", "s"}, {".xx", "x"}, {"s..", "!"}, {".s.", "!"}, {"sss", "!"}}},
  };
  for (const Row &row : table)
    for (const auto &[operands, expected] : row.entries)
      EXPECT_EQ(result(row.rule, operands), expected)
          << "rule " << int(row.rule) << " of " << operands;
}

} // namespace
