//===- ControlFlowTest.cpp - Brackets that the data decide ----------------===//
#include "runtime/artifact/check/ProgramChecks.h"

#include "runtime/kernels/Kernel.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <cstring>
#include <functional>

namespace shardc::runtime {
namespace {

using namespace test;

constexpr auto Bool = artifact::ElementType_Bool;

/// y = c ? x + x : x[:1], of a size that the branches set.
struct Branch {
  ProgramBuilder p{{{"tp", 2}}};
  uint32_t n = p.symbol("n", 0, 0), one = p.constant(1);
  uint32_t m = p.boundSymbol("m", {1, 4});
  uint32_t x = p.input("x", Float32, {p.whole(n)});
  uint32_t c = p.input("c", Bool, {p.whole(one)});
  uint32_t y = p.value(Float32, {m}, true);

  void then(bool sets = true) {
    p.run("if", {int32_t(c)}, {}, {}, -1, "/if");
    if (sets)
      p.run("set_sizes", {}, {}, {p.scalars("sizes", {m}), values(n)});
    p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  }
  void otherwise(bool writes = true) {
    p.run("else", {}, {});
    p.run("set_sizes", {}, {}, {p.scalars("sizes", {m}), values(one)});
    uint32_t first = p.view(x, {one}, {one}, p.constant(0));
    if (writes)
      p.run("TestCopy", {int32_t(first)}, {int32_t(y)});
  }
  void end() {
    p.run("end", {}, {});
    p.output("y", y, {p.whole(m)});
  }
  test::Attribute values(uint32_t value) {
    return p.scalars("values", {value});
  }
};

Status verify(const ProgramBuilder &p) {
  std::string bytes = p.finish();
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return verifyProgram(
      "stage0.program", aligned.data(), bytes.size(),
      [](std::string_view name) { return findHostKernel(name) != nullptr; });
}

void expectRefused(const ProgramBuilder &p, const char *message) {
  Status status = verify(p);
  EXPECT_FALSE(status.isOk()) << message;
  EXPECT_NE(status.message().find(message), std::string::npos)
      << status.message();
}

TEST(ControlFlow, takesTheBranchOfEachRun) {
  Branch b;
  b.then();
  b.otherwise();
  b.end();
  TestArtifact artifact(b.p);
  SessionOptions options;
  options.checkReplicas = true;
  OpenSession s(artifact, options);
  Floats x({1, 2, 3}, {3});
  int64_t one = 1;
  for (bool c : {true, false, false, true}) {
    Status status = s.run({x.as("x"), {"c", Bool, {&one, 1}, &c}});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0),
              c ? std::vector<float>({2, 4, 6}) : std::vector<float>({1}));
  }
}

TEST(ControlFlow, eachMistakeOfABranchIsNamed) {
  Branch unbound;
  unbound.then(/*sets=*/false);
  unbound.otherwise();
  unbound.end();
  expectRefused(unbound.p, "is bound by no read_sizes or set_sizes");
  Branch unwritten;
  unwritten.then();
  unwritten.otherwise(/*writes=*/false);
  unwritten.end();
  expectRefused(unwritten.p, "output 'y' is never written");
  Branch open;
  open.then();
  open.otherwise();
  expectRefused(open.p, "if at node '/if' has no end");
  Branch without;
  without.then();
  without.end();
  expectRefused(without.p, "is bound by no read_sizes or set_sizes");
  Branch twice;
  twice.then();
  twice.otherwise();
  twice.p.run("else", {}, {});
  expectRefused(twice.p, "belongs to no if");
  Branch closed;
  closed.then();
  closed.otherwise();
  closed.end();
  closed.p.run("end", {}, {});
  expectRefused(closed.p, "belongs to nothing");
  Branch communicates;
  communicates.then();
  communicates.otherwise();
  uint32_t sum = communicates.p.value(Float32, {communicates.n});
  communicates.p.run("all_reduce", {int32_t(communicates.x)}, {int32_t(sum)},
                     {communicates.p.text("kind", "sum")},
                     communicates.p.group({{0, 1, 2}}));
  expectRefused(communicates.p, "communicates where the data decide");
}

/// while (c) { y = y + x; c = c2; c2 = false }: two iterations at most, rows
/// of which are counted.
struct Loop {
  ProgramBuilder p{{{"tp", 1}}};
  uint32_t n = p.symbol("n", 0, 0), one = p.constant(1);
  uint32_t x = p.input("x", Float32, {p.whole(n)});
  uint32_t first = p.input("first", Bool, {p.whole(one)});
  uint32_t second = p.input("second", Bool, {p.whole(one)});
  uint32_t never = p.input("never", Bool, {p.whole(one)});
  uint32_t goesOn = p.value(Bool, {one}), next = p.value(Bool, {one});
  uint32_t y = p.value(Float32, {n}), sum = p.value(Float32, {n});

  void copy(uint32_t from, uint32_t to) {
    p.run("TestCopy", {int32_t(from)}, {int32_t(to)});
  }
  void start() {
    copy(x, y);
    copy(first, goesOn);
    copy(second, next);
    p.run("loop", {int32_t(goesOn)}, {}, {}, -1, "/loop");
    p.run("TestAdd", {int32_t(y), int32_t(x)}, {int32_t(sum)});
    copy(sum, y);
  }
  void end() {
    p.run("end", {}, {});
    p.output("y", y, {p.whole(n)});
  }
};

TEST(ControlFlow, loopsWhileTheConditionHolds) {
  Loop l;
  l.start();
  l.copy(l.next, l.goesOn);
  l.copy(l.never, l.next);
  l.end();
  TestArtifact artifact(l.p);
  OpenSession s(artifact);
  Floats x({1, 2, 3}, {3});
  int64_t one = 1;
  bool never = false;
  for (auto [first, second, times] : {std::tuple(false, true, 1.0f),
                                      {true, false, 2.0f},
                                      {true, true, 3.0f},
                                      {false, false, 1.0f}}) {
    Status status = s.run({x.as("x"),
                           {"first", Bool, {&one, 1}, &first},
                           {"second", Bool, {&one, 1}, &second},
                           {"never", Bool, {&one, 1}, &never}});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0)[2], 3 * times);
  }
}

TEST(ControlFlow, eachMistakeOfALoopIsNamed) {
  Loop endless;
  endless.start();
  endless.end();
  expectRefused(endless.p, "never writes its condition");
  Loop onlyInside;
  onlyInside.start();
  onlyInside.copy(onlyInside.next, onlyInside.goesOn);
  onlyInside.p.run("end", {}, {});
  onlyInside.p.output("sum", onlyInside.sum,
                      {onlyInside.p.whole(onlyInside.n)});
  expectRefused(onlyInside.p, "output 'sum' is never written");
  Loop early;
  uint32_t late = early.p.value(Float32, {early.n});
  early.start();
  early.copy(late, early.y);
  early.copy(early.x, late);
  early.copy(early.next, early.goesOn);
  early.end();
  expectRefused(early.p, "before it is written");
  Loop number;
  number.p.run("loop", {int32_t(number.x)}, {});
  expectRefused(number.p, "has a condition that is not boolean");
}

} // namespace
} // namespace shardc::runtime
