//===- SessionTest.cpp - Whole programs through the C++ API ---------------===//
#include "runtime/launch/HostThreads.h"
#include "runtime/stage/ShapePlan.h"
#include "tests/unit/runtime/SessionFixture.h"

#include "runtime/base/AtomicFile.h"

#include <numeric>

namespace shardc::runtime {
namespace {

using namespace test;

/// y = all_reduce(x + x) over tp, x replicated.
ProgramBuilder sumProgram(int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), two = p.constant(2);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(two)});
  auto y = p.value(Float32, {n, two});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  auto z = p.value(Float32, {n, two}, /*replicated=*/true);
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, ways}}), "/mlp/down");
  p.output("z", z, {p.whole(n), p.whole(two)});
  return p;
}

/// y = x + w with x, w and y split over tp along dim 1; z = all_gather(y).
ProgramBuilder gatherProgram(int64_t ways, int64_t size) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), k = p.constant(size), c = p.coordinate(0);
  auto local = p.localSize(k, ways, c), one = p.constant(1);
  std::vector<float> w(static_cast<size_t>(size));
  std::iota(w.begin(), w.end(), 100.0f);
  auto x = p.input("x", Float32, {p.whole(n), p.split(k, ways, c)});
  auto weight = p.weight("w", Float32, {1, size},
                         {p.whole(one), p.split(k, ways, c)}, bytesOf(w));
  auto rows = p.value(Float32, {n, local});
  p.run("TestCopy",
        {int32_t(
            p.view(weight, {n, local}, {p.constant(0), one}, p.constant(0)))},
        {int32_t(rows)});
  auto y = p.value(Float32, {n, local});
  p.run("TestAdd", {int32_t(x), int32_t(rows)}, {int32_t(y)});
  auto z = p.value(Float32, {n, k}, true);
  p.run("all_gather", {int32_t(y)}, {int32_t(z)},
        {p.ints("dim", {1}), p.layout("layout", p.split(k, ways, c))},
        p.group({{0, 1, ways}}), "/head");
  p.output("whole", z, {p.whole(n), p.whole(k)});
  p.output("sharded", y, {p.whole(n), p.split(k, ways, c)});
  return p;
}

TEST(Session, reducesOverRanks) {
  for (int64_t ways : {1, 2, 3, 8}) {
    TestArtifact artifact(sumProgram(ways));
    SessionOptions options;
    options.checkReplicas = true;
    OpenSession s(artifact, options);
    for (int64_t n : {1, 5, 0, 2000, 5}) {
      Floats x(std::vector<float>(static_cast<size_t>(2 * n), 3), {n, 2});
      Status status = s.run({x.as("x")});
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(s.floats(0), std::vector<float>(static_cast<size_t>(2 * n),
                                                static_cast<float>(6 * ways)));
      EXPECT_EQ(s.outputs[0].dims()[0], n);
    }
    auto stats = s.session->collectiveStats();
    ASSERT_EQ(stats.size(), 1u);
    EXPECT_EQ(stats[0].bytes, 5 * 2 * 4);
    EXPECT_EQ(stats[0].wireBytes, 2 * (ways - 1) * 5 * 2 * 4);
    EXPECT_EQ(stats[0].node, "/mlp/down");
  }
}

TEST(Session, gathersUnevenAndEmptyRanks) {
  for (int64_t ways : {1, 2, 3, 8})
    for (int64_t size : {1, 2, 5, 12}) {
      TestArtifact artifact(gatherProgram(ways, size));
      OpenSession s(artifact, {});
      for (int64_t n : {3, 1, 0}) {
        Floats x(std::vector<float>(static_cast<size_t>(n * size)), {n, size});
        std::iota(x.values.begin(), x.values.end(), 0.0f);
        Status status = s.run({x.as("x")});
        ASSERT_TRUE(status.isOk()) << status.message();
        std::vector<float> expected;
        for (int64_t i = 0; i < n * size; ++i)
          expected.push_back(static_cast<float>(i + 100 + i % size));
        EXPECT_EQ(s.floats(0), expected) << ways << " " << size << " " << n;
        EXPECT_EQ(s.floats(1), expected);
      }
      if (ways > 1) {
        Floats x(std::vector<float>(static_cast<size_t>(size)), {1, size});
        ASSERT_TRUE(s.run({x.as("x")}).isOk());
        EXPECT_EQ(s.session->collectiveStats()[0].wireBytes,
                  (ways - 1) * size * 4);
      }
    }
}

TEST(Session, keepsManyShapesApart) {
  TestArtifact artifact(sumProgram(2));
  OpenSession s(artifact, {});
  for (int64_t n : {4, 1, 9, 4, 7, 3, 12, 4, 1, 9, 30000, 2}) {
    Floats x(
        std::vector<float>(static_cast<size_t>(2 * n), static_cast<float>(n)),
        {n, 2});
    ASSERT_TRUE(s.run({x.as("x")}).isOk());
    EXPECT_EQ(s.floats(0), std::vector<float>(static_cast<size_t>(2 * n),
                                              static_cast<float>(4 * n)));
  }
}

/// z = all_gather(2 x), where ranks have rows of x.
ProgramBuilder rowsProgram(int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), k = p.constant(3), c = p.coordinate(0);
  auto local = p.localSize(n, ways, c);
  auto x = p.input("x", Float32, {p.split(n, ways, c), p.whole(k)});
  auto y = p.value(Float32, {local, k});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  auto z = p.value(Float32, {n, k}, true);
  p.run("all_gather", {int32_t(y)}, {int32_t(z)},
        {p.ints("dim", {0}), p.layout("layout", p.split(n, ways, c))},
        p.group({{0, 1, ways}}), "/gather");
  p.output("z", z, {p.whole(n), p.whole(k)});
  return p;
}

// More lengths than plans are kept: a plan is bound again to other parts of all
// ranks, also where this rank's own part stays as long as it was.
TEST(Session, bindsPlansAgainToOtherParts) {
  for (int64_t ways : {1, 2, 3}) {
    TestArtifact artifact(rowsProgram(ways));
    OpenSession s(artifact, {});
    for (int64_t n : {5, 1, 7, 8, 0, 3, 4, 12, 6, 2, 5, 9}) {
      Floats x(std::vector<float>(static_cast<size_t>(3 * n)), {n, 3});
      std::iota(x.values.begin(), x.values.end(), static_cast<float>(n));
      std::vector<float> expected;
      for (float value : x.values)
        expected.push_back(2 * value);
      Status status = s.run({x.as("x")});
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(s.floats(0), expected) << ways << " " << n;
    }
  }
}

TEST(ShapePlan, servedOftenIsWorthMore) {
  ShapePlan prompt, step, last;
  prompt.uses = 2, prompt.lastUsed = 2;
  step.uses = 1, step.lastUsed = 3;
  last.uses = 1, last.lastUsed = 4;
  EXPECT_TRUE(step.isWorthLess(prompt, {}));
  EXPECT_FALSE(prompt.isWorthLess(step, {}));
  EXPECT_TRUE(step.isWorthLess(last, {}));
  EXPECT_FALSE(last.isWorthLess(step, {}));
}

TEST(ShapePlan, aStepTakesThePlanOfAStep) {
  ShapePlan prompt, step, last; // seq, past
  prompt.symbols = {5, 0}, prompt.lastUsed = 1;
  step.symbols = {1, 5}, step.lastUsed = 2;
  last.symbols = {1, 6}, last.lastUsed = 3;
  const std::vector<int64_t> next = {1, 7};
  EXPECT_TRUE(step.isWorthLess(prompt, next));
  EXPECT_TRUE(step.isWorthLess(last, next));
  EXPECT_FALSE(prompt.isWorthLess(last, next));
}

TEST(ShapePlans, haveASlotEachOfFew) {
  ShapePlans plans;
  for (int64_t length = 0; length < 4; ++length) {
    ShapePlan &plan = plans.add(std::vector<int64_t>{length}, false);
    EXPECT_EQ(plan.slot, static_cast<size_t>(length));
    plan.uses = 1, plan.lastUsed = static_cast<uint64_t>(length);
  }
  plans.find(std::vector<int64_t>{0}, false)->uses = 2;
  EXPECT_EQ(plans.find(std::vector<int64_t>{0}, true), nullptr);
  // That of length 1 is missed least: 0 served twice, the others are younger.
  EXPECT_EQ(plans.add(std::vector<int64_t>{9}, false).slot, 1u);
  EXPECT_EQ(plans.find(std::vector<int64_t>{1}, false), nullptr);
  EXPECT_EQ(plans.find(std::vector<int64_t>{2}, false)->slot, 2u);
}

TEST(Session, kernelsHaveTheThreadsThatAreAskedFor) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}, /*replicated=*/true);
  p.run("TestThreads", {int32_t(x)}, {int32_t(y)});
  p.output("y", y, {p.whole(n)});
  TestArtifact artifact(p);
  const Floats one({0}, {1});
  SessionOptions options;
  auto threads = [&] {
    OpenSession s(artifact, options);
    const Status status = s.run({one.as("x")});
    EXPECT_TRUE(status.isOk()) << status.message();
    return status.isOk() ? s.floats(0)[0] : -1;
  };
  EXPECT_EQ(threads(), static_cast<float>(shareOfCores(2)));
  setenv("SHARDC_THREADS", "3", 1);
  EXPECT_EQ(threads(), 3);
  options.threads = 5;
  EXPECT_EQ(threads(), 5);
  options.threads = 0;
  std::unique_ptr<Session> session;
  for (const char *text : {"0", "-1", "x", "2x", "", "99999999999", "1025"}) {
    setenv("SHARDC_THREADS", text, 1);
    const Status status = Session::open(artifact.path(), options, session);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << text;
    EXPECT_NE(status.message().find("SHARDC_THREADS"), std::string::npos);
  }
  unsetenv("SHARDC_THREADS");
  options.threads = -2;
  EXPECT_EQ(Session::open(artifact.path(), options, session).code(),
            StatusCode::InvalidArgument);
}

TEST(Session, runsTheLoadProgramOnce) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto four = p.constant(4);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto filled = p.value(Float32, {four});
  p.load("TestFill", {}, {int32_t(filled)},
         {p.ints("value", {10}), p.ints("step", {1})});
  auto kept = p.value(Float32, {four}, false, artifact::BufferKind_Persistent);
  p.load("all_reduce", {int32_t(filled)}, {int32_t(kept)},
         {p.text("kind", "sum")}, p.group({{0, 1, 2}}));
  auto y = p.value(Float32, {four});
  p.run("TestAdd", {int32_t(x), int32_t(kept)}, {int32_t(y)});
  p.guard(artifact::GuardKind_Equal, n, four, "n is 4", "/add");
  p.output("y", y, {p.whole(four)});
  p.output("kept", kept, {p.whole(four)});
  TestArtifact artifact(p);
  OpenSession s(artifact, {});
  Floats x4({1, 2, 3, 4}, {4});
  for (int run = 0; run < 3; ++run) {
    Status status = s.run({x4.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0), (std::vector<float>{21, 24, 27, 30}));
    EXPECT_EQ(s.floats(1), (std::vector<float>{20, 22, 24, 26}));
  }
  Floats x5({1, 2, 3, 4, 5}, {5});
  Status status = s.run({x5.as("x")});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.place().node, "/add");
  EXPECT_NE(status.message().find("n is 4"), std::string::npos);
  EXPECT_TRUE(s.run({x4.as("x")}).isOk());
}

TEST(Session, sayWhatInputWasExpected) {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("seq", 0, 0), eight = p.constant(8);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(eight)});
  p.input("mask", Int64, {p.whole(n)});
  p.output("y", x, {p.whole(n), p.whole(eight)});
  TestArtifact artifact(p);
  OpenSession s(artifact, {});
  Floats good(std::vector<float>(16), {2, 8}),
      flat(std::vector<float>(16), {16}),
      narrow(std::vector<float>(16), {4, 4});
  int64_t ids[3] = {}, two[] = {2}, three[] = {3};
  InputTensor mask{"mask", Int64, two, ids},
      longMask{"mask", Int64, three, ids};
  struct Case {
    std::vector<InputTensor> inputs;
    const char *expected;
  };
  for (const Case &c : std::vector<Case>{
           {{good.as("x")}, "missing input 'mask': expected int64 [seq]"},
           {{good.as("x"), mask, good.as("z")}, "unknown input 'z'"},
           {{good.as("x"), good.as("x"), mask}, "given twice"},
           {{flat.as("x"), mask},
            "expected float32 [seq, 8], found float32 [16]"},
           {{narrow.as("x"), longMask}, "expected seq = 4"},
           {{good.as("x"), longMask}, "dim 0 is 3, expected seq = 2"},
           {{good.as("x"), good.as("mask")},
            "expected int64 [seq], found float32"},
           {{good.as("x"), {"mask", Int64, two, nullptr}}, "no data"},
           {{good.as("x"),
             {"mask", Int64, two, reinterpret_cast<char *>(ids) + 1}},
            "aligned"}}) {
    Status status = s.run(c.inputs);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find(c.expected), std::string::npos)
        << status.message();
  }
  int64_t four[] = {4}, many[4] = {};
  Status status = s.run({narrow.as("x"), {"mask", Int64, four, many}});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("dim 1 is 4, expected 8"), std::string::npos)
      << status.message();
  EXPECT_TRUE(s.run({mask, good.as("x")}).isOk()) << "order does not matter";
}

TEST(Session, borrowsTheCallersMemory) {
  TestArtifact artifact(sumProgram(2));
  OpenSession s(artifact, {});
  alignas(64) float memory[8];
  s.outputs[0] = Tensor::borrow(memory, sizeof memory);
  Floats x({1, 2, 3, 4}, {2, 2});
  ASSERT_TRUE(s.run({x.as("x")}).isOk());
  EXPECT_EQ(memory[3], 16);
  Floats large(std::vector<float>(20), {10, 2});
  EXPECT_EQ(s.run({large.as("x")}).code(), StatusCode::InvalidArgument);
  // No rank was bound to that shape: the next run of it is its first.
  s.outputs[0] = Tensor();
  ASSERT_TRUE(s.run({large.as("x")}).isOk());
  EXPECT_EQ(s.floats(0), std::vector<float>(20));
}

/// Nor is one taken for bound in the place of a shape that went for it.
TEST(Session, aShapeThatFailedInAnothersPlaceIsNew) {
  TestArtifact artifact(sumProgram(2));
  OpenSession s(artifact, {});
  auto rows = [](int64_t n) {
    return Floats(
        std::vector<float>(static_cast<size_t>(2 * n), static_cast<float>(n)),
        {n, 2});
  };
  for (int64_t n : {9, 7, 5, 3})
    ASSERT_TRUE(s.run({rows(n).as("x")}).isOk());
  alignas(64) float memory[1];
  s.outputs[0] = Tensor::borrow(memory, sizeof memory);
  const Floats next = rows(8);
  ASSERT_FALSE(s.run({next.as("x")}).isOk());
  s.outputs[0] = Tensor();
  ASSERT_TRUE(s.run({next.as("x")}).isOk());
  EXPECT_EQ(s.floats(0), std::vector<float>(16, 32));
}

TEST(Session, writesTraceAndProfile) {
  TestArtifact artifact(sumProgram(2));
  SessionOptions options;
  options.measure = true;
  OpenSession s(artifact, options);
  std::string path = artifact.path("trace.json");
  EXPECT_FALSE(s.session->writeTrace(path).isOk()) << "nothing ran yet";
  Floats x({1, 2}, {1, 2});
  ASSERT_TRUE(s.run({x.as("x")}).isOk());
  ASSERT_TRUE(s.session->writeTrace(path).isOk());
  auto trace = nlohmann::json::parse(readFile(path));
  EXPECT_EQ(trace["traceEvents"].size(), 2u * 3u);
  EXPECT_EQ(trace["traceEvents"][2]["args"]["node"], "/mlp/down");
  EXPECT_EQ(s.session->profile().size(), 2u);
}

} // namespace
} // namespace shardc::runtime
