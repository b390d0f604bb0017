//===- TransferOrderTest.cpp - What links may take ------------------------===//
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/check/TransferChecks.h"
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

using namespace test;

/// A stage that sends x so often, or receives and adds up. Numbers are those of
/// transfers.
ProgramBuilder stage(bool sends, const std::vector<int64_t> &numbers) {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto sum = x;
  for (int64_t number : numbers) {
    if (sends) {
      p.run("send", {int32_t(x)}, {},
            {p.ints("stage", {1}), p.ints("transfer", {number})});
      continue;
    }
    auto got = p.value(Float32, {n});
    p.run("receive", {}, {int32_t(got)},
          {p.ints("stage", {0}), p.ints("transfer", {number})});
    auto next = p.value(Float32, {n});
    p.run("TestAdd", {int32_t(sum), int32_t(got)}, {int32_t(next)});
    sum = next;
  }
  if (!sends)
    p.output("y", sum, {p.whole(n)});
  return p;
}

bool areInOrder(const std::vector<int64_t> &sent,
                const std::vector<int64_t> &received) {
  TestArtifact folder(stage(true, sent));
  folder.manifest["mesh"] = {{{"name", "pp"}, {"size", 2}},
                             {{"name", "tp"}, {"size", 1}}};
  folder.addProgram(stage(false, received), 1);
  Artifact artifact;
  const Status status = Artifact::open(folder.path(), {}, artifact);
  EXPECT_TRUE(status.isOk()) << status.message();
  return isInOrder(artifact.program(artifact.programsOf(0)[0]), 0,
                   artifact.program(artifact.programsOf(1)[0]), 1);
}

TEST(TransferOrder, isTheSameOnBothSidesOrNot) {
  EXPECT_TRUE(areInOrder({0}, {0}));
  EXPECT_TRUE(areInOrder({2, 0, 1}, {2, 0, 1}));
  EXPECT_FALSE(areInOrder({0, 1}, {1, 0}));
}

} // namespace
} // namespace shardc::runtime
