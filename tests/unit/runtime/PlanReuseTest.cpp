//===- PlanReuseTest.cpp - A plan that is bound to other sizes ------------===//
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

using namespace test;

constexpr int64_t kSize = 16, kMost = 4;

float weightAt(int64_t s, int64_t k, int64_t n) {
  return float((s * 31 + k * 7 + n * 3) % 11 - 5);
}

/// y [s, m, n] = x [s, m, k] W[0:s] [s, k, n], or W[0] for all of them.
ProgramBuilder batchedProduct(bool isBroadcast) {
  ProgramBuilder p({{"tp", 1}});
  auto s = p.symbol("s", 0, 0), m = p.symbol("m", 0, 1);
  auto size = p.constant(kSize), most = p.constant(kMost);
  auto zero = p.constant(0), one = p.constant(1);
  auto x = p.input("x", Float32, {p.whole(s), p.whole(m), p.whole(size)});
  std::vector<float> values;
  for (int64_t i = 0; i < kMost * kSize * kSize; ++i)
    values.push_back(
        weightAt(i / (kSize * kSize), i / kSize % kSize, i % kSize));
  auto w =
      p.weight("w", Float32, {kMost, kSize, kSize},
               {p.whole(most), p.whole(size), p.whole(size)}, bytesOf(values));
  auto some =
      p.view(w, {s, size, size},
             {isBroadcast ? zero : p.constant(kSize * kSize), size, one}, zero);
  auto y = p.value(Float32, {s, m, size});
  p.run("MatMul", {int32_t(x), int32_t(some)}, {int32_t(y)});
  p.output("y", y, {p.whole(s), p.whole(m), p.whole(size)});
  return p;
}

std::vector<float> expected(const Floats &x, bool isBroadcast) {
  std::vector<float> y;
  for (int64_t s = 0; s < x.dims[0]; ++s)
    for (int64_t m = 0; m < x.dims[1]; ++m)
      for (int64_t n = 0; n < kSize; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < kSize; ++k)
          sum += x.values[size_t((s * x.dims[1] + m) * kSize + k)] *
                 weightAt(isBroadcast ? 0 : s, k, n);
        y.push_back(sum);
      }
  return y;
}

/// Four plans are kept; the fifth shape is bound to the plan of the first, in
/// which what is multiplied is one matrix.
TEST(PlanReuse, packedWeightsFollowTheSizes) {
  for (bool isBroadcast : {false, true}) {
    TestArtifact artifact(batchedProduct(isBroadcast));
    OpenSession session(artifact);
    const int64_t shapes[][2] = {{1, 7}, {2, 1}, {3, 2}, {4, 3}, {3, 7},
                                 {1, 7}, {4, 7}, {2, 2}, {1, 1}, {4, 1}};
    for (auto [s, m] : shapes) {
      Floats x({}, {s, m, kSize});
      for (int64_t i = 0; i < s * m * kSize; ++i)
        x.values.push_back(float(i % 13 - 6));
      Status status = session.run({x.as("x")});
      ASSERT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(session.floats(0), expected(x, isBroadcast)) << s << " " << m;
    }
  }
}

} // namespace
} // namespace shardc::runtime
