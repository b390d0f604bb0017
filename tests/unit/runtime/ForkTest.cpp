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

class Fork : public testing::Test {
protected:
  Fork() : artifact(program()), parents(artifact) {
    EXPECT_TRUE(runOk(parents)); // its ranks are there
  }

  static ProgramBuilder program() {
    ProgramBuilder p({{"tp", 2}});
    auto n = p.symbol("n", 0, 0);
    auto x = p.input("x", Float32, {p.whole(n)});
    auto y = p.value(Float32, {n});
    p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
    p.output("y", y, {p.whole(n)});
    return p;
  }

  Status run(OpenSession &session) const {
    return session.run({input.as("x")});
  }
  bool runOk(OpenSession &session) const { return run(session).isOk(); }

  Floats input{{1}, {1}};
  TestArtifact artifact;
  OpenSession parents;
};

TEST_F(Fork, aChildIsToldThatItHasNoRanks) {
  EXPECT_EQ(inChild([&] {
              const Status status = run(parents);
              if (status.message().find("forked") == std::string::npos)
                return 1;
              parents.session.reset(); // waits for no thread either
              return 0;
            }),
            0);
  EXPECT_TRUE(runOk(parents));
}

TEST_F(Fork, aChildHasRanksOfASessionOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer knows no threads that a child of "
                  "several starts (die_after_fork)";
#endif
  EXPECT_EQ(inChild([&] {
              OpenSession own(artifact);
              return runOk(own) ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(runOk(parents));
}

} // namespace
} // namespace shardc::runtime
