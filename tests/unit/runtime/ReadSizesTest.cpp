//===- ReadSizesTest.cpp - Sizes that a run finds in its own data ---------===//
#include "tests/unit/runtime/SessionFixture.h"

#include <numeric>

namespace shardc::runtime {
namespace {

using namespace test;

/// y = all_gather(x[:count] split over tp) with count an input's element, and
/// kept = x + x, which is computed before the wait and returned after it.
ProgramBuilder firstRows(int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), one = p.constant(1), c = p.coordinate(0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto count = p.input("count", Int64, {p.whole(one)});
  auto kept = p.value(Float32, {n}, true);
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(kept)});
  auto m = p.readSymbol("m");
  p.run("read_sizes", {int32_t(count)}, {}, {p.scalars("sizes", {m})}, -1,
        "/count");
  p.guard(artifact::GuardKind_AtMost, m, n, "more rows than there are",
          "/take");
  auto local = p.localSize(m, ways, c);
  auto start = p.binary(artifact::ScalarOp_FloorDivide, p.multiply(c, m),
                        p.constant(ways));
  auto part = p.value(Float32, {local});
  p.run("TestCopy", {int32_t(p.view(x, {local}, {one}, start))},
        {int32_t(part)});
  auto y = p.value(Float32, {m}, true);
  p.run("all_gather", {int32_t(part)}, {int32_t(y)},
        {p.ints("dim", {0}), p.layout("layout", p.split(m, ways, c))},
        p.group({{0, 1, ways}}));
  p.output("y", y, {p.whole(m)});
  p.output("kept", kept, {p.whole(n)});
  return p;
}

std::vector<float> upTo(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(ReadSizes, boundOnEachRun) {
  for (int64_t ways : {1, 2, 3}) {
    TestArtifact artifact(firstRows(ways));
    SessionOptions options;
    options.checkReplicas = true;
    options.measure = true;
    OpenSession s(artifact, options);
    for (int64_t count : {5, 0, 7, 7, 1}) {
      Floats x(upTo(7), {7});
      int64_t one = 1;
      Status status = s.run({x.as("x"), {"count", Int64, {&one, 1}, &count}});
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(s.floats(0), upTo(count));
      ASSERT_EQ(s.floats(1).size(), 7u);
      EXPECT_EQ(s.floats(1)[6], 12);
      EXPECT_EQ(s.session->collectiveStats().size(), 1u);
      EXPECT_EQ(s.session->profile().size(), 4u);
    }
  }
}

TEST(ReadSizes, wrongSizesAreErrors) {
  TestArtifact artifact(firstRows(2));
  OpenSession s(artifact);
  Floats x(upTo(7), {7});
  int64_t one = 1;
  for (auto [count, message] :
       {std::pair<int64_t, const char *>{-1,
                                         "node '/count' computes the size -1"},
        {8, "guard violated: more rows than there are"}}) {
    Status status = s.run({x.as("x"), {"count", Int64, {&one, 1}, &count}});
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find(message), std::string::npos)
        << status.message();
  }
  int64_t fits = 3;
  EXPECT_TRUE(s.run({x.as("x"), {"count", Int64, {&one, 1}, &fits}}).isOk());
}

} // namespace
} // namespace shardc::runtime
