//===- FlightChecksTest.cpp - Collectives that are only started -----------===//
#include "tests/unit/runtime/SessionFixture.h"

#include <functional>

namespace shardc::runtime {
namespace {

using namespace test;

/// Two sums of x, in flight together, and what is made of them:
///   a = x, b = x, z0 = sum of a, z1 = sum of b, y = z0 + z1
struct Program {
  ProgramBuilder p{{{"tp", 2}}};
  uint32_t n = p.symbol("n", 0, 0);
  int32_t x = static_cast<int32_t>(p.input("x", Float32, {p.whole(n)}));
  int32_t a = value(), b = value(), z0 = value(), z1 = value(), y = value();
  int32_t group = p.group({{0, 1, 2}});

  int32_t value() { return static_cast<int32_t>(p.value(Float32, {n})); }
  void copy(int32_t from, int32_t to) { p.run("TestCopy", {from}, {to}); }
  void sum(int32_t from, int32_t to, std::vector<int64_t> flight) {
    p.run("all_reduce", {from}, {to},
          {p.text("kind", "sum"), p.ints("flight", std::move(flight))}, group,
          "sum");
  }
  void wait(int32_t from, int32_t to, int64_t flight) {
    p.run("wait", {from}, {to}, {p.ints("flight", {flight})}, -1, "sum");
  }
  /// y = z0 + z1, or else x.
  void finish(bool addsSums) {
    p.run(addsSums ? "TestAdd" : "TestCopy",
          addsSums ? std::vector{z0, z1} : std::vector{x}, {y});
    p.output("y", static_cast<uint32_t>(y), {p.whole(n)});
  }
};

void writeGood(Program &it) {
  it.copy(it.x, it.a);
  it.sum(it.a, it.z0, {0});
  it.copy(it.a, it.b); // reads what is being sent
  it.sum(it.b, it.z1, {1});
  it.wait(it.a, it.z0, 0);
  it.wait(it.b, it.z1, 1);
}

Status open(const Program &program) {
  TestArtifact artifact(program.p);
  std::unique_ptr<Session> session;
  return Session::open(artifact.path(), {}, session);
}

TEST(FlightChecks, whatIsAwaitedMayBeRead) {
  Program program;
  writeGood(program);
  program.finish(/*addsSums=*/true);
  TestArtifact artifact(program.p);
  OpenSession opened(artifact);
  const Floats x({1, 2, 3}, {3});
  for (int run = 0; run < 3; ++run) {
    Status status = opened.run({x.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(opened.floats(0), (std::vector<float>{4, 8, 12}));
  }
}

TEST(FlightChecks, eachMistakeIsNamed) {
  struct Mistake {
    const char *message;
    std::function<void(Program &)> write;
  };
  const Mistake mistakes[] = {
      {"TestAdd at node 'node' touches a buffer of all_reduce at node 'sum'",
       [](Program &it) {
         it.copy(it.x, it.a);
         it.sum(it.a, it.z0, {0});
         it.p.run("TestAdd", {it.z0, it.a}, {it.z1});
         it.wait(it.a, it.z0, 0);
       }},
      {"TestCopy at node 'node' touches a buffer",
       [](Program &it) {
         it.copy(it.x, it.a);
         it.sum(it.a, it.z0, {0});
         it.copy(it.x, it.a);
         it.wait(it.a, it.z0, 0);
         it.copy(it.x, it.z1);
       }},
      {"is not awaited before the program ends",
       [](Program &it) {
         it.copy(it.x, it.a);
         it.sum(it.a, it.z1, {0});
         it.sum(it.x, it.z0, {1});
         it.wait(it.a, it.z1, 0);
         it.wait(it.x, it.z0, 1);
         it.sum(it.x, it.b, {2});
       }},
      {"whose last collective was not awaited",
       [](Program &it) {
         it.sum(it.x, it.z0, {3});
         it.sum(it.x, it.z1, {3});
         it.wait(it.x, it.z0, 3);
       }},
      {"waits for flight 1, which was not started",
       [](Program &it) {
         it.sum(it.x, it.z0, {0});
         it.wait(it.x, it.z0, 1);
       }},
      {"waits for flight 0, which was not started",
       [](Program &it) {
         writeGood(it);
         it.wait(it.a, it.z0, 0);
       }},
      {"waits for all_reduce at node 'sum', but has other operands",
       [](Program &it) {
         it.copy(it.x, it.a);
         it.sum(it.a, it.z0, {0});
         it.wait(it.x, it.z0, 0);
       }},
      {"has no valid flight, expected a number from 0 to 255",
       [](Program &it) { it.sum(it.x, it.z0, {256}); }},
      {"has no valid flight", [](Program &it) { it.sum(it.x, it.z0, {-1}); }},
      {"has no valid flight", [](Program &it) { it.sum(it.x, it.z0, {}); }},
      {"is not awaited before if",
       [](Program &it) {
         auto c = static_cast<int32_t>(
             it.p.value(artifact::ElementType_Bool, {it.p.constant(1)}));
         it.p.run("TestFill", {}, {c});
         it.sum(it.x, it.z0, {0});
         it.p.run("if", {c}, {});
         it.p.run("else", {}, {});
         it.p.run("end", {}, {});
         it.wait(it.x, it.z0, 0);
       }},
      {"may not while loading",
       [](Program &it) {
         auto one = it.p.constant(1);
         auto w = static_cast<int32_t>(it.p.value(
             Float32, {one}, false, artifact::BufferKind_Persistent));
         auto v = static_cast<int32_t>(it.p.value(
             Float32, {one}, false, artifact::BufferKind_Persistent));
         it.p.load("TestFill", {}, {w});
         it.p.load("all_reduce", {w}, {v},
                   {it.p.text("kind", "sum"), it.p.ints("flight", {0})},
                   it.group);
         writeGood(it);
       }},
  };
  for (const Mistake &mistake : mistakes) {
    Program program;
    mistake.write(program);
    program.finish(/*addsSums=*/false);
    const Status status = open(program);
    EXPECT_NE(status.message().find(mistake.message), std::string::npos)
        << mistake.message << "\n"
        << status.message();
  }
}

} // namespace
} // namespace shardc::runtime
