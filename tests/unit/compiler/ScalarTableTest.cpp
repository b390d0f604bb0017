//===- ScalarTableTest.cpp - Expressions as the program's scalars ---------===//

#include "compiler/package/ScalarTable.h"

#include <gtest/gtest.h>

using namespace shardc;
using dist::DimExpr;
using package::ScalarTable;

namespace {

const DimExpr batch = DimExpr::symbol("batch"), seq = DimExpr::symbol("seq");
const dist::Mesh kMesh{{{"dp", 2}, {"tp", 4}}};

int64_t floorDivide(int64_t lhs, int64_t rhs) {
  return lhs / rhs - (lhs % rhs < 0);
}

/// Values of all scalars on the rank with dp = 1, tp = 3.
std::vector<int64_t> evaluate(const ScalarTable &table,
                              std::vector<int64_t> symbols) {
  std::vector<int64_t> values;
  const int64_t coordinates[] = {1, 3};
  for (const artifact::Scalar &scalar : table.scalars()) {
    auto lhs = [&] { return values.at(scalar.lhs()); };
    auto rhs = [&] { return values.at(scalar.rhs()); };
    switch (scalar.op()) {
    case artifact::ScalarOp_Constant:
      values.push_back(scalar.value());
      break;
    case artifact::ScalarOp_Symbol:
      values.push_back(symbols.at(scalar.value()));
      break;
    case artifact::ScalarOp_Coordinate:
      values.push_back(coordinates[scalar.value()]);
      break;
    case artifact::ScalarOp_Add:
      values.push_back(lhs() + rhs());
      break;
    case artifact::ScalarOp_Subtract:
      values.push_back(lhs() - rhs());
      break;
    case artifact::ScalarOp_Multiply:
      values.push_back(lhs() * rhs());
      break;
    case artifact::ScalarOp_FloorDivide:
      values.push_back(floorDivide(lhs(), rhs()));
      break;
    case artifact::ScalarOp_Modulo:
      values.push_back(lhs() - rhs() * floorDivide(lhs(), rhs()));
      break;
    case artifact::ScalarOp_Minimum:
      values.push_back(std::min(lhs(), rhs()));
      break;
    case artifact::ScalarOp_Maximum:
      values.push_back(std::max(lhs(), rhs()));
      break;
    }
  }
  return values;
}

TEST(ScalarTable, ComputesWhatTheExpressionsSay) {
  DimExpr tp = DimExpr::coordinate("tp");
  const DimExpr exprs[] = {0,
                           7,
                           batch,
                           batch * 96 + 1,
                           batch * seq * seq - seq * 3,
                           DimExpr::floorDiv((tp + 1) * 6, 4) -
                               DimExpr::floorDiv(tp * 6, 4),
                           DimExpr::mod(seq, 4) + DimExpr::coordinate("dp"),
                           DimExpr::min(seq, 3) * DimExpr::max(batch, 9),
                           DimExpr::floorDiv(seq - 20, 4)};
  ScalarTable table(kMesh);
  std::vector<uint32_t> numbers;
  for (DimExpr expr : exprs)
    numbers.push_back(table.add(expr));
  auto symbol = [](llvm::StringRef name, bool isCoordinate) {
    return std::optional<int64_t>(isCoordinate ? (name == "tp" ? 3 : 1)
                                               : (name == "batch" ? 2 : 5));
  };
  std::vector<int64_t> symbols;
  for (const std::string &name : table.symbols())
    symbols.push_back(*symbol(name, false));
  std::vector<int64_t> values = evaluate(table, symbols);
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(values.at(numbers[i]), exprs[i].evaluate(symbol))
        << exprs[i].str();
}

TEST(ScalarTable, HoldsEachExpressionOnce) {
  ScalarTable table(kMesh);
  uint32_t number = table.add(batch * 96 + 1);
  EXPECT_EQ(table.scalars().size(), 5u);
  EXPECT_EQ(table.add(batch * 96 + 1), number);
  table.add(batch * 96);
  EXPECT_EQ(table.scalars().size(), 5u);
  EXPECT_EQ(table.symbols(), std::vector<std::string>{"batch"});
}

TEST(ScalarTable, RefersToEarlierScalarsOnly) {
  ScalarTable table(kMesh);
  table.add(DimExpr::min(batch * seq, DimExpr::floorDiv(seq * 3, 2)) * batch);
  for (size_t i = 0; i < table.scalars().size(); ++i) {
    const artifact::Scalar &scalar = table.scalars()[i];
    if (scalar.op() < artifact::ScalarOp_Add)
      continue;
    EXPECT_LT(size_t(scalar.lhs()), i);
    EXPECT_LT(size_t(scalar.rhs()), i);
  }
}

} // namespace
