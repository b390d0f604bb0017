//===- TensorTest.cpp - Who has an output's memory ------------------------===//
#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

using namespace test;

/// y = x + x.
ProgramBuilder twice() {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.output("y", y, {p.whole(n)});
  return p;
}

TEST(Tensor, whatWasMovedOutIsNotWrittenByTheNextRun) {
  TestArtifact artifact(twice());
  OpenSession s(artifact);
  std::vector<Tensor> kept;
  Floats first({1, 2}, {2}), second({3, 4}, {2});
  ASSERT_TRUE(s.run({first.as("x")}).isOk());
  kept.push_back(std::move(s.outputs[0]));
  ASSERT_TRUE(s.run({second.as("x")}).isOk());
  EXPECT_EQ(kept[0].as<float>()[0], 2);
  EXPECT_EQ(s.floats(0), (std::vector<float>{6, 8}));
  kept.clear();
  ASSERT_TRUE(s.run({first.as("x")}).isOk());
  EXPECT_EQ(s.floats(0), (std::vector<float>{2, 4}));
}

TEST(Tensor, aMovedOneIsAsIfNew) {
  const int64_t dims[] = {3};
  float memory[3] = {};
  for (bool isBorrowed : {false, true}) {
    Tensor from = isBorrowed ? Tensor::borrow(memory, sizeof memory) : Tensor();
    ASSERT_TRUE(from.reshape(Float32, dims).isOk());
    std::byte *const data = from.data();
    Tensor to = std::move(from);
    EXPECT_EQ(to.data(), data);
    EXPECT_EQ(to.numElements(), 3);
    EXPECT_EQ(from.data(), nullptr);
    EXPECT_EQ(from.dims().size(), 0u);
    ASSERT_TRUE(from.reshape(Float32, dims).isOk());
    EXPECT_NE(from.data(), data);
    to = Tensor();
    EXPECT_EQ(to.data(), nullptr);
  }
}

} // namespace
} // namespace shardc::runtime
