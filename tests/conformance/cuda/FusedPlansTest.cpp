// How many plans a library makes for attention, and how long they stay.
#include "runtime/device/cuda/attention/FusedPlans.h"
#include "runtime/device/cuda/kernels/attention/AttentionPadding.h"
#include "tests/conformance/cuda/FusedAttentionFixture.h"

#include <algorithm>

namespace shardc::testing {
namespace {

template <typename T> class FusedPlansOf : public FusedAttentionOf<T> {};
TYPED_TEST_SUITE(FusedPlansOf, Halves);

//===----------------------------------------------------------------------===//
// Plans of few lengths
//===----------------------------------------------------------------------===//

TYPED_TEST(FusedPlansOf, promptsOfAnyLengthAgree) {
  this->open();
  const Attributes causal = Attributes().ints("is_causal", {1});
  for (int64_t length : {65, 128, 129, 256, 300}) {
    this->make({2, 2, length, 8}, 1, length);
    this->expectSameAgain();
    EXPECT_EQ(this->log.isPadded, length % 128 != 0);
    this->expectSameAgain(causal);
    // A prompt behind what a cache has.
    this->make({1, 2, length, 8}, 2, length + 37);
    this->expectSameAgain(
        Attributes().ints("is_causal", {1}).ints("causal_offset", {37}));
    EXPECT_TRUE(this->log.isPadded);
  }
  EXPECT_EQ(this->log.runs, 2 * 3 * 5);
}

/// A plan is 100 ms; a prompt of each length would be one.
TYPED_TEST(FusedPlansOf, allLengthsTakeFewPlans) {
  this->open();
  const auto planAll = [&](int64_t &padded) {
    for (int64_t length = 1; length <= 4096; ++length) {
      FusedAttentionShape whole;
      whole.batches = whole.heads = whole.kvHeads = 1;
      whole.queries = whole.keys = length;
      whole.depth = 8;
      whole.isCausal = true;
      for (auto *strides : {&whole.q, &whole.k, &whole.v, &whole.y})
        (*strides)[2] = 8;
      const FusedAttentionShape shape = runtime::cuda::paddedShape(whole);
      EXPECT_GE(shape.queries, length);
      EXPECT_LE(shape.queries, std::max(length + 127, length * 5 / 4));
      padded += shape.isPadded;
      std::shared_ptr<FusedAttention> plan;
      runtime::FusedAttentions::Doubt doubt;
      EXPECT_OK(this->library().find(shape, plan, doubt));
      EXPECT_NE(plan, nullptr);
    }
  };
  const long before = spentSoFar(HostCost::AttentionPlan);
  int64_t padded = 0;
  planAll(padded);
  EXPECT_EQ(padded, 4096 - 16);
  EXPECT_EQ(spentSoFar(HostCost::AttentionPlan) - before, 2 * 16);
  planAll(padded);
  EXPECT_EQ(spentSoFar(HostCost::AttentionPlan) - before, 2 * 16);
}

/// Copies that take too much memory are not made.
TEST(AttentionPadding, longPromptsHavePlansOfTheirOwn) {
  FusedAttentionShape whole;
  whole.batches = 1;
  whole.heads = whole.kvHeads = 32;
  whole.depth = 128;
  whole.queries = whole.keys = 14001;
  EXPECT_TRUE(runtime::cuda::paddedShape(whole).isPadded);
  whole.queries = whole.keys = 17001;
  EXPECT_EQ(runtime::cuda::paddedShape(whole), whole);
}

TYPED_TEST(FusedPlansOf, aWrongPaddedPlanIsNotTrusted) {
  this->log.isPaddingWrong = true;
  this->open();
  this->make({1, 2, 128, 8}, 2, 128);
  this->expectSameAgain();
  EXPECT_EQ(this->log.runs, 2) << "what is not padded is right";
  this->make({1, 2, 100, 8}, 2, 100);
  ::testing::internal::CaptureStderr();
  this->expectSameAgain();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
  EXPECT_EQ(this->log.runs, 3);
}

//===----------------------------------------------------------------------===//
// Which plans stay
//===----------------------------------------------------------------------===//

constexpr int kMostPlans = int(runtime::FusedAttentions::kMostPlans);

TYPED_TEST(FusedPlansOf, plansThatWereUsedLastStay) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  this->expectSameAgain();
  this->planOthers(kMostPlans - 1);
  this->expectSameAgain();
  EXPECT_EQ(int(this->log.planned.size()), kMostPlans);
  this->planOthers(kMostPlans); // more than there is room for
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.alive, kMostPlans);
  EXPECT_EQ(int(this->log.planned.size()), kMostPlans + 1);
  this->expectSameAgain(); // planned again
  EXPECT_EQ(int(this->log.planned.size()), kMostPlans + 2);
  EXPECT_EQ(this->log.runsOfDropped, 0);
}

/// A launch that is under way still has its plan's code.
TYPED_TEST(FusedPlansOf, aPlanGoesWhenItsWorkIsDone) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> memory(*this->device, *this->stream, this->inputs,
                                    this->result);
  memory.launch();
  this->planOthers(kMostPlans);
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.runsOfDropped, 0);
  EXPECT_EQ(this->log.alive, kMostPlans);
}

TYPED_TEST(FusedPlansOf, aGraphKeepsItsPlan) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> memory(*this->device, *this->stream, this->inputs,
                                    this->result);
  memory.launch();
  std::unique_ptr<runtime::DeviceGraph> graph;
  EXPECT_OK(this->stream->beginCapture());
  memory.launch();
  EXPECT_OK(this->stream->endCapture(graph));
  this->planOthers(kMostPlans);
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.alive, kMostPlans + 1);
  EXPECT_OK(this->stream->run(*graph));
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.runsOfDropped, 0);
  EXPECT_EQ(this->log.runs, 2);
  graph.reset();
  EXPECT_EQ(this->log.alive, kMostPlans);
}

/// What an update brings stays, too, and so does what it has replaced.
TYPED_TEST(FusedPlansOf, anUpdatedGraphKeepsBoth) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> memory(*this->device, *this->stream, this->inputs,
                                    this->result);
  this->make({1, 2, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> other(*this->device, *this->stream, this->inputs,
                                   this->result);
  memory.launch();
  other.launch();
  std::unique_ptr<runtime::DeviceGraph> graph;
  EXPECT_OK(this->stream->beginCapture());
  memory.launch();
  EXPECT_OK(this->stream->endCapture(graph));
  EXPECT_OK(this->stream->beginUpdate(*graph));
  other.launch();
  EXPECT_OK(this->stream->endUpdate());
  this->planOthers(kMostPlans);
  EXPECT_OK(this->stream->synchronize());
  EXPECT_OK(this->stream->run(*graph));
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.runsOfDropped, 0);
  EXPECT_EQ(this->log.alive, kMostPlans + 2);
}

TEST(FusedPlans, streamsOfADeviceShareThem) {
  LoopLog log;
  const auto plans =
      std::make_shared<runtime::FusedPlans>(std::make_unique<LoopEngine>(log));
  FusedAttentionShape shape;
  auto first = plans->find(shape, 0), second = plans->find(shape, 0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(log.planned.size(), 1u);
  first.reset();
  EXPECT_EQ(log.alive, 1);
  second.reset();
  EXPECT_EQ(log.alive, 0) << "nobody has it";
  EXPECT_NE(plans->find(shape, 0), nullptr);
  EXPECT_EQ(log.planned.size(), 2u);
}

/// The handle is the last to go.
TEST(FusedPlans, aPlanKeepsItsLibrary) {
  LoopLog log;
  auto plans =
      std::make_shared<runtime::FusedPlans>(std::make_unique<LoopEngine>(log));
  const auto plan = plans->find({}, 0);
  const std::weak_ptr<runtime::FusedPlans> library = plans;
  plans.reset();
  EXPECT_FALSE(library.expired());
}

} // namespace
} // namespace shardc::testing
