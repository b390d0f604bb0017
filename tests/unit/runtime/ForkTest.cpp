//===- ForkTest.cpp - A child has the memory, but no ranks ----------------===//
#include "tests/unit/runtime/SessionFixture.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using namespace test;

/// What `body` returns in a child of this process; -1: it did not end by
/// itself.
template <typename Body> int inChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60); // a child that waits for ever would not end the test
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, aChildIsToldThatItHasNoRanks) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.output("y", y, {p.whole(n)});
  TestArtifact artifact(p);
  OpenSession s(artifact);
  Floats input({1}, {1});
  ASSERT_TRUE(s.run({input.as("x")}).isOk());
  EXPECT_EQ(inChild([&] {
              const Status status = s.run({input.as("x")});
              if (status.message().find("forked") == std::string::npos)
                return 1;
              s.session.reset(); // waits for no thread either
              OpenSession own(artifact);
              return own.run({input.as("x")}).isOk() ? 0 : 2;
            }),
            0);
  EXPECT_TRUE(s.run({input.as("x")}).isOk());
}

} // namespace
} // namespace shardc::runtime
