//===- PackedWeightsTest.cpp - Weights that are packed by the first run ---===//
#include "tests/unit/runtime/SessionFixture.h"

#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using namespace test;

constexpr int64_t kRows = 1024, kColumns = 6144;

/// y = x w over tp = 2; a rank's columns of w are three pieces, as packed q, k and
/// v are, so that they are in memory only while they are packed.
ProgramBuilder packedColumns() {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), n = p.symbol("n", 0, 0), rows = p.constant(kRows);
  auto third = p.constant(kColumns / 3), half = p.constant(kColumns / 2);
  const Segment part = {{third, 2, c}};
  const Layout pieces = {part, part, part};
  std::vector<float> w(size_t(kRows * kColumns));
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = float(i % 7) + float(i % size_t(kColumns) % 5);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(rows)});
  auto weight = p.weight("w", Float32, {kRows, kColumns},
                         {p.whole(rows), pieces}, bytesOf(w));
  auto y = p.value(Float32, {n, half});
  p.run("MatMul", {int32_t(x), int32_t(weight)}, {int32_t(y)}, {}, -1, "/qkv");
  p.output("y", y, {p.whole(n), pieces});
  return p;
}

rlim_t addressSpace() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * rlim_t(sysconf(_SC_PAGESIZE));
}

/// No more memory than that while it is there.
class MemoryLimit {
public:
  explicit MemoryLimit(rlim_t more) {
    getrlimit(RLIMIT_AS, &before);
    rlimit limit = before;
    limit.rlim_cur = addressSpace() + more;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before); }

private:
  rlimit before;
};

TEST(PackedWeights, areTriedAgainWhereTheyFoundNoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take addresses without end";
#endif
  TestArtifact artifact(packedColumns());
  const Floats ones(std::vector<float>(size_t(kRows), 1), {1, kRows});
  std::vector<float> expected;
  {
    OpenSession s(artifact);
    const Status status = s.run({ones.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    expected = s.floats(0);
    double sum = 0;
    for (int64_t i = 0; i < kRows; ++i)
      sum += (i * kColumns + 4) % 7 + 4;
    ASSERT_EQ(expected[4], sum);
  }
  int numFailures = 0;
  bool sawCopy = false;
  for (rlim_t more = 1; more < 110; more += 4) { // MiB; both ranks pack 24
    OpenSession s(artifact);
    {
      const MemoryLimit limit(more << 20);
      const Status status = s.run({ones.as("x")});
      numFailures += !status.isOk();
      sawCopy |= status.message().find("that is packed") != std::string::npos;
    }
    const Status status = s.run({ones.as("x")});
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.floats(0), expected) << more << " MiB at first";
  }
  EXPECT_GT(numFailures, 0);
  EXPECT_TRUE(sawCopy);
}

} // namespace
} // namespace shardc::runtime
