//===- DimExprTest.cpp - Symbolic sizes -----------------------------------===//

#include "dialects/dist/algebra/DimExpr.h"

#include <gtest/gtest.h>

using namespace shardc::dist;

namespace {

DimExpr parse(llvm::StringRef text) {
  std::optional<DimExpr> expr = parseDimExpr(text);
  EXPECT_TRUE(expr) << text.str();
  return expr.value_or(DimExpr(-1));
}

TEST(DimExpr, EqualPolynomialsAreOneNode) {
  EXPECT_EQ(parse("batch * seq * 96"), parse("96 * (seq * batch)"));
  EXPECT_EQ(parse("(a + b) * (a - b)"), parse("a * a - b * b"));
  EXPECT_EQ(parse("past + seq") - parse("past"), parse("seq"));
  EXPECT_NE(parse("a * b"), parse("a + b"));
  EXPECT_TRUE((parse("a") - parse("a")).isConstant(0));
}

TEST(DimExpr, DividesExactlyOrNotAtAll) {
  EXPECT_EQ(parse("batch * seq * 96").exactDiv(parse("batch * 96")),
            parse("seq"));
  EXPECT_EQ(parse("batch * past + batch * seq").exactDiv(parse("batch")),
            parse("past + seq"));
  EXPECT_EQ(parse("past + seq").exactDiv(parse("past + seq")), DimExpr(1));
  EXPECT_FALSE(parse("seq + 1").exactDiv(2));
  EXPECT_FALSE(parse("6 * seq").exactDiv(4));
  EXPECT_FALSE(parse("seq").exactDiv(parse("batch")));
  EXPECT_FALSE(parse("seq").exactDiv(0));
}

TEST(DimExpr, FloorDivisionRoundsDown) {
  EXPECT_EQ(DimExpr::floorDiv(7, 2), DimExpr(3));
  EXPECT_EQ(DimExpr::floorDiv(-7, 2), DimExpr(-4));
  EXPECT_EQ(DimExpr::mod(-7, 2), DimExpr(1));
  EXPECT_EQ(DimExpr::floorDiv(parse("4 * seq"), 2), parse("2 * seq"));
  EXPECT_EQ(DimExpr::mod(parse("4 * seq"), 2), DimExpr());
  EXPECT_EQ(DimExpr::floorDiv(parse("seq"), 2).str(), "(seq floordiv 2)");
}

TEST(DimExpr, ProvesBoundsOfSizes) {
  EXPECT_TRUE(parse("batch * seq").isKnownNonNegative());
  EXPECT_TRUE(parse("past + 1").isKnownAtLeast(1));
  EXPECT_FALSE(parse("past").isKnownAtLeast(1));
  EXPECT_FALSE(parse("seq - 1").isKnownNonNegative());
  EXPECT_TRUE(parse("seq mod 4").isKnownNonNegative());
  EXPECT_TRUE(parse("max(seq - 1, 0)").isKnownNonNegative());
  EXPECT_FALSE(parse("min(seq, batch - 1)").isKnownNonNegative());
  EXPECT_TRUE(parse("seq - min(seq, 8)").isKnownNonNegative());
  EXPECT_TRUE(parse("seq - (seq floordiv 2)").isKnownNonNegative());
  EXPECT_TRUE(parse("4 - (seq mod 4)").isKnownAtLeast(1));
  EXPECT_FALSE(parse("8 - max(seq, 8)").isKnownNonNegative());
}

TEST(DimExpr, MinAndMaxChooseWhatIsProvable) {
  EXPECT_EQ(DimExpr::min(parse("seq"), parse("seq + past")), parse("seq"));
  EXPECT_EQ(DimExpr::max(parse("seq"), parse("seq + past")),
            parse("seq + past"));
  EXPECT_EQ(DimExpr::min(parse("seq"), 128).str(), "min(seq, 128)");
}

TEST(DimExpr, ParsesWhatItPrints) {
  for (llvm::StringRef text :
       {"0", "-3", "batch * seq * 96", "past + seq - 1", "seq * seq",
        "((past + seq) floordiv 2) * 3", "(seq mod 4)", "min(seq, 128)",
        "max(seq - 1, 0)", "\"input.1\" + 1", "@tp * 6"}) {
    DimExpr expr = parse(text);
    EXPECT_EQ(parse(expr.str()), expr) << expr.str();
    EXPECT_EQ(expr.str(), text.str());
  }
}

/// Names of a model's sizes are any text.
TEST(DimExpr, ParsesNamesOfAnyCharacters) {
  for (llvm::StringRef name : {"a b", "a\\b", "\\\\", "\\2z", "\"", "\n\xff"}) {
    DimExpr expr = DimExpr::symbol(name);
    EXPECT_EQ(parse(expr.str()), expr) << expr.str();
  }
  // Half of an escape is none.
  EXPECT_EQ(parse("\"\\2z\""), DimExpr::symbol("\\2z"));
}

TEST(DimExpr, ParsesTheSpellingsOfExporters) {
  EXPECT_EQ(parse("((batch*sequence)//batch)"), parse("sequence"));
  EXPECT_EQ(parse("s0 // 2"), DimExpr::floorDiv(parse("s0"), 2));
  for (llvm::StringRef text : {"", "a +", "(a", "a b", "4 // 0", "min(a)"})
    EXPECT_FALSE(parseDimExpr(text)) << text.str();
}

TEST(DimExpr, Evaluates) {
  auto valueOf = [](llvm::StringRef name,
                    bool isCoordinate) -> std::optional<int64_t> {
    if (isCoordinate)
      return 3;
    return name == "huge"  ? std::optional<int64_t>(INT64_MAX)
           : name == "seq" ? std::optional<int64_t>(7)
                           : std::nullopt;
  };
  EXPECT_EQ(parse("seq * seq - 1").evaluate(valueOf), 48);
  EXPECT_EQ(parse("(seq floordiv 2) + @tp").evaluate(valueOf), 6);
  EXPECT_EQ(parse("max(seq, 9) mod 4").evaluate(valueOf), 1);
  EXPECT_EQ(parse("other").evaluate(valueOf), std::nullopt);
  EXPECT_EQ(parse("huge * 2").evaluate(valueOf), std::nullopt);
  EXPECT_EQ(parse("4 floordiv (seq - 7)").evaluate(valueOf), std::nullopt);
}

TEST(DimExpr, ReplacesSymbolsInsideAtomsToo) {
  auto with = [](llvm::StringRef name) -> std::optional<DimExpr> {
    return name == "total" ? std::optional<DimExpr>(parse("past + seq"))
                           : std::nullopt;
  };
  EXPECT_EQ(parse("total - seq").replaceSymbols(with), parse("past"));
  EXPECT_EQ(parse("min(total, past) * 2").replaceSymbols(with),
            parse("past * 2"));
  EXPECT_EQ(parse("total floordiv 2").replaceSymbols(with),
            parse("(past + seq) floordiv 2"));
  EXPECT_EQ(parse("batch + @tp").replaceSymbols(with), parse("batch + @tp"));
}

} // namespace
