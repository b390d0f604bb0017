// What is handed to a library's attention, on a library that is a loop.
#include "tests/conformance/cuda/FusedAttentionFixture.h"

namespace shardc::testing {
namespace {

using runtime::host::Boolean;

TYPED_TEST_SUITE(FusedAttentionOf, Halves);

TYPED_TEST(FusedAttentionOf, sharesKeysAmongHeads) {
  this->make({2, 4, 70, 16}, 2, 90);
  this->expectSame(Attributes().number("scale", 0.5));
  ASSERT_EQ(this->log.runs, 2);
  EXPECT_EQ(this->planned().kvHeads, 2);
  EXPECT_FALSE(this->planned().hasBias);
  EXPECT_EQ(this->log.planned.size(), 1u) << "a shape is planned once";
}

TYPED_TEST(FusedAttentionOf, isCausalFromEitherEnd) {
  for (int64_t offset : {0, 20})
    for (int64_t window : {0, 9}) {
      this->make({1, 2, 70, 8}, 2, 90);
      this->expectSame(Attributes()
                           .ints("is_causal", {1})
                           .ints("causal_offset", {offset})
                           .ints("window", {window}));
      EXPECT_TRUE(this->planned().isCausal);
      EXPECT_EQ(this->planned().alignsEnds, offset != 0);
    }
  EXPECT_EQ(this->log.runs, 2 * 4);
}

TYPED_TEST(FusedAttentionOf, hidesKeysAndWholeRows) {
  for (int64_t maskHeads : {1, 2})
    for (const char *zero : {"hidden", "nan", "none"}) {
      this->make({2, 2, 65, 8}, 1, 41);
      Tensor mask = Tensor::filled<Boolean>({2, maskHeads, 65, 41}, {});
      for (int64_t i = 0; i < mask.view.numElements(); ++i)
        mask.view.template as<Boolean>()[i] =
            Boolean(i / 41 % 3 != 1 && i % 5 != 2);
      this->inputs.push_back(mask.broadcast({2, 2, 65, 41}));
      this->expectSame(Attributes().text("zero_rows", zero));
      EXPECT_TRUE(this->planned().hasBias);
      EXPECT_EQ(this->planned().bias[1] != 0, maskHeads == 2);
      EXPECT_TRUE(this->planned().isPadded);
      EXPECT_EQ(this->planned().bias[2], 128);
    }
  EXPECT_EQ(this->log.runs, 2 * 6);
}

TYPED_TEST(FusedAttentionOf, addsAMask) {
  for (int64_t keys : {40, 43}) {
    this->make({2, 2, 64, 8}, 2, keys);
    Tensor mask = numbers<TypeParam>({1, 1, 64, keys}, 4);
    for (int64_t j = 0; j < keys; ++j) // row 3 sees nothing
      mask.view.template as<TypeParam>()[3 * keys + j] =
          TypeParam(-std::numeric_limits<float>::infinity());
    this->inputs.push_back(mask.broadcast({2, 2, 64, keys}));
    this->expectSame();
    EXPECT_EQ(this->planned().bias[0], 0);
  }
  EXPECT_EQ(this->log.runs, 4);
}

/// Keys ahead of a prompt that is padded on the left: tiles that hide all.
TYPED_TEST(FusedAttentionOf, hidesTheFirstKeysOfAllRows) {
  for (bool isAdded : {false, true}) {
    this->make({1, 2, 64, 8}, 2, 40);
    Tensor mask = isAdded ? Tensor::filled<TypeParam>({1, 1, 64, 40}, {})
                          : Tensor::filled<Boolean>({1, 1, 64, 40}, {});
    for (int64_t i = 0; i < mask.view.numElements(); ++i) {
      const bool isShown = i % 40 >= 20;
      if (isAdded)
        mask.view.template as<TypeParam>()[i] = TypeParam(
            isShown ? 0.25f : -std::numeric_limits<float>::infinity());
      else
        mask.view.template as<Boolean>()[i] = Boolean(isShown);
    }
    this->inputs.push_back(mask.broadcast({1, 2, 64, 40}));
    this->expectSame();
  }
  EXPECT_EQ(this->log.runs, 4) << "it is trusted both times";
}

TYPED_TEST(FusedAttentionOf, leavesTheRestToOwnKernels) {
  this->make({1, 2, 63, 8}, 2, 20); // few queries
  this->expectSame();
  this->make({1, 2, 64, 12}, 2, 20); // no whole vectors
  this->expectSame();
  this->make({1, 2, 64, 8}, 2, 90); // causal from neither end
  this->expectSame(
      Attributes().ints("is_causal", {1}).ints("causal_offset", {5}));
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame(Attributes().number("softcap", 3));
  this->inputs.push_back(Tensor::absent());
  this->inputs.push_back(numbers<TypeParam>({2}, 9)); // sinks
  this->expectSame();
  EXPECT_TRUE(this->log.planned.empty());
}

TYPED_TEST(FusedAttentionOf, mayBeRefused) {
  this->log.refuses = true;
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame();
  EXPECT_EQ(this->log.planned.size(), 1u);
  EXPECT_EQ(this->log.runs, 0);
}

TYPED_TEST(FusedAttentionOf, isNotTrustedIfItDisagrees) {
  this->log.isWrong = true;
  this->make({1, 2, 64, 8}, 2, 20);
  ::testing::internal::CaptureStderr();
  this->expectSame();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
  EXPECT_EQ(this->log.runs, 1) << "nor is it asked again";
}

/// Else ranks with less memory than others would take other kernels.
TYPED_TEST(FusedAttentionOf, isComparedWhereThereIsNoMemoryLeft) {
  this->log.takesAllMemory = true;
  this->make({2, 4, 70, 16}, 2, 90);
  this->expectSame();
  EXPECT_EQ(this->log.runs, 2);
  this->log.isWrong = true;
  ::testing::internal::CaptureStderr();
  this->expectSame();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
}

/// Nor may a rank without memory for the workspace go on with other kernels.
TYPED_TEST(FusedAttentionOf, aWorkspaceThatIsNotThereIsAnError) {
  this->log.workspace = 4096;
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame();
  EXPECT_EQ(this->log.runs, 2);
  this->log.takesAllMemory = true;
  this->open();
  const runtime::Status status =
      runOn(*this->device, *this->stream, "Attention", this->inputs,
            {this->result.copy()}, {});
  EXPECT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("SHARDC_CUDNN=0"), std::string::npos)
      << status.message();
  EXPECT_EQ(this->log.runs, 2);
}

/// It is as large on all ranks.
TYPED_TEST(FusedAttentionOf, tooLargeAWorkspaceIsNoPlan) {
  this->log.workspace = int64_t{1} << 40;
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame();
  EXPECT_EQ(this->log.runs, 0);
  EXPECT_EQ(this->log.planned.size(), 1u);
}

/// What is compared costs more than the prompt: lengths are none of it.
TYPED_TEST(FusedAttentionOf, aKindIsComparedOnce) {
  const auto launchesOf = [&](int64_t length) {
    const long before = spentSoFar(HostCost::Launch);
    this->make({1, 2, length, 8}, 2, length);
    this->expectSameAgain();
    return spentSoFar(HostCost::Launch) - before;
  };
  this->open();
  const long first = launchesOf(64), again = launchesOf(64);
  EXPECT_GT(first, again);
  for (int64_t length : {72, 65, 100})
    EXPECT_EQ(launchesOf(length), again);
  EXPECT_EQ(this->log.runs, 2 * 5);
  this->make({1, 2, 64, 16}, 2, 64);
  this->log.isWrong = true;
  ::testing::internal::CaptureStderr();
  this->expectSameAgain(); // another depth is another kind
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
}

/// Late rows of a prompt are small beside the first: averages of many keys.
TYPED_TEST(FusedAttentionOf, aSmallRowIsComparedByItsOwnSize) {
  this->log.isLastRowLost = true;
  this->make({1, 2, 256, 8}, 2, 256);
  ::testing::internal::CaptureStderr();
  this->expectSame(Attributes().ints("is_causal", {1}).number("scale", 0.01));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
}

} // namespace
} // namespace shardc::testing
