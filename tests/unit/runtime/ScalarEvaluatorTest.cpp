#include "runtime/program/ScalarEvaluator.h"

#include "runtime/artifact/ScalarDependence.h"
#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

using test::ProgramBuilder;

/// Evaluates the program's scalars; keeps its bytes alive.
struct Evaluation {
  std::string bytes;
  const artifact::Program &program;
  std::vector<int64_t> values;
  Status status;

  Evaluation(const ProgramBuilder &builder, std::vector<int64_t> symbols,
             std::vector<int64_t> coordinates)
      : bytes(builder.finish()), program(*artifact::GetProgram(bytes.data())),
        status(evaluateScalars(program, symbols, coordinates, values)) {}
};

TEST(ScalarEvaluator, evaluatesEveryOperation) {
  ProgramBuilder p({{"tp", 4}});
  auto s = p.symbol("s", 0, 0), c = p.coordinate(0), k = p.constant(-3);
  auto seven = p.constant(7);
  auto sum = p.binary(artifact::ScalarOp_Add, s, k);
  auto difference = p.binary(artifact::ScalarOp_Subtract, k, c);
  auto product = p.multiply(s, c);
  auto quotient = p.binary(artifact::ScalarOp_FloorDivide, difference, seven);
  auto rest = p.binary(artifact::ScalarOp_Modulo, difference, seven);
  auto low = p.binary(artifact::ScalarOp_Minimum, s, k);
  auto high = p.binary(artifact::ScalarOp_Maximum, s, k);
  Evaluation e(p, {10}, {2});
  ASSERT_TRUE(e.status.isOk()) << e.status.message();
  EXPECT_EQ(e.values[sum], 7);
  EXPECT_EQ(e.values[difference], -5);
  EXPECT_EQ(e.values[product], 20);
  EXPECT_EQ(e.values[quotient], -1) << "rounds towards minus infinity";
  EXPECT_EQ(e.values[rest], 2);
  EXPECT_EQ(e.values[low], -3);
  EXPECT_EQ(e.values[high], 10);
}

TEST(ScalarEvaluator, divisionByZeroIsAnError) {
  for (auto op : {artifact::ScalarOp_FloorDivide, artifact::ScalarOp_Modulo}) {
    ProgramBuilder p({});
    auto s = p.symbol("past", 0, 0);
    p.binary(op, p.constant(8), s);
    EXPECT_TRUE(Evaluation(p, {2}, {}).status.isOk());
    Status status = Evaluation(p, {0}, {}).status;
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find("past"), std::string::npos);
  }
}

TEST(ScalarEvaluator, overflowIsAnError) {
  ProgramBuilder p({});
  auto s = p.symbol("n", 0, 0);
  p.multiply(s, s);
  Status status = Evaluation(p, {int64_t{1} << 40}, {}).status;
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("too large"), std::string::npos);
}

TEST(ScalarEvaluator, aViolatedGuardExplainsADivision) {
  ProgramBuilder p({});
  auto s = p.symbol("past", 0, 0);
  p.guard(artifact::GuardKind_AtLeast, s, p.constant(1), "cache is not empty",
          "/attn/Reshape");
  p.binary(artifact::ScalarOp_FloorDivide, p.constant(8), s);
  std::string text = Evaluation(p, {0}, {}).status.message();
  EXPECT_NE(text.find("cache is not empty"), std::string::npos) << text;
}

TEST(ScalarEvaluator, whatGuardsAskOfASymbolAtLeast) {
  ProgramBuilder p({});
  auto room = p.symbol("room", 0, 0), other = p.symbol("other", 0, 1);
  p.guard(artifact::GuardKind_AtLeast, room, p.constant(4), "window", "a");
  p.guard(artifact::GuardKind_AtLeast, room, p.constant(6), "window", "b");
  p.guard(artifact::GuardKind_AtMost, room, p.constant(9), "places", "c");
  p.guard(artifact::GuardKind_AtLeast, room, other, "keys", "d");
  p.guard(artifact::GuardKind_Equal, other, p.constant(7), "sizes", "e");
  const std::string bytes = p.finish();
  const artifact::Program *program = artifact::GetProgram(bytes.data());
  EXPECT_EQ(leastAllowed(*program, 0), 6);
  EXPECT_EQ(leastAllowed(*program, 1), 0);
}

TEST(ScalarEvaluator, guardsNameNodeValuesAndRemedy) {
  struct Case {
    artifact::GuardKind kind;
    int64_t value;
    bool holds;
  };
  for (auto [kind, value, holds] :
       {Case{artifact::GuardKind_Equal, 8, true},
        Case{artifact::GuardKind_Equal, 9, false},
        Case{artifact::GuardKind_AtLeast, 9, true},
        Case{artifact::GuardKind_AtLeast, 7, false},
        Case{artifact::GuardKind_AtMost, 8, true},
        Case{artifact::GuardKind_AtMost, 9, false}}) {
    ProgramBuilder p({});
    auto s = p.symbol("seq", 0, 0);
    p.guard(kind, s, p.constant(8), "positions", "/emb/Gather");
    Evaluation e(p, {value}, {});
    Status status = checkGuards(e.program, e.values);
    EXPECT_EQ(status.isOk(), holds) << value;
    if (holds)
      continue;
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.place().node, "/emb/Gather");
    for (const char *part : {"/emb/Gather", "positions", "seq", "8", "compile"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
  }
}

TEST(ScalarEvaluator, loadScalarsNeedNoSymbols) {
  ProgramBuilder p({{"tp", 2}});
  auto zero = p.symbol("n", 0, 0);
  p.binary(artifact::ScalarOp_FloorDivide, p.constant(8), zero);
  auto c = p.multiply(p.coordinate(0), p.constant(3));
  std::string bytes = p.finish();
  const artifact::Program &program = *artifact::GetProgram(bytes.data());
  std::vector<int64_t> values;
  Status status = evaluateLoadScalars(program, scalarDependences(program),
                                      std::vector<int64_t>{1}, values);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(values[c], 3);
}

TEST(ScalarEvaluator, describesSizesInTheUsersWords) {
  ProgramBuilder p({});
  auto past = p.symbol("past", 0, 0), seq = p.symbol("seq", 0, 1);
  auto total = p.binary(artifact::ScalarOp_Add, past, seq);
  auto twice = p.multiply(total, p.constant(2));
  std::string bytes = p.finish();
  const artifact::Program &program = *artifact::GetProgram(bytes.data());
  EXPECT_EQ(describeScalar(program, total), "past + seq");
  EXPECT_EQ(describeScalar(program, twice), "(past + seq) * 2");
}

} // namespace
} // namespace shardc::runtime
