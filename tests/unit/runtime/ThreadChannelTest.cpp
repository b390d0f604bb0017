//===- ThreadChannelTest.cpp - Values between two ranks -------------------===//
#include "runtime/collectives/threads/ThreadChannel.h"

#include "runtime/base/Message.h"
#include "runtime/tensor/CopyView.h"

#include <gtest/gtest.h>

#include <thread>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;

struct Values {
  std::vector<float> numbers;
  std::vector<int64_t> dims;

  explicit Values(std::vector<float> list)
      : numbers(std::move(list)), dims{static_cast<int64_t>(numbers.size())} {}
  TensorView view() const {
    return packedView(numbers.data(), artifact::ElementType_Float32, dims);
  }
};

const CollectiveSite kSite{"send", "/layer", 3};

TEST(ThreadChannel, KeepsTheOrderAndAddsNoSlots) {
  ThreadChannel box(2, {"rank 0"}, {"rank 1"});
  RunFailure mine(10s, {}), theirs(10s, {});
  std::atomic<int> sent = 0;
  std::thread sender([&] {
    for (int i = 0; i < 50; ++i) {
      Values values({float(i), float(2 * i)});
      EXPECT_TRUE(box.send(values.view(), mine, kSite).isOk());
      sent = i + 1;
    }
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(sent, 2) << "there are two slots";
  for (int i = 0; i < 50; ++i) {
    Values values({0, 0});
    ASSERT_TRUE(box.receive(values.view(), theirs, kSite).isOk());
    EXPECT_EQ(values.numbers, (std::vector<float>{float(i), float(2 * i)}));
  }
  sender.join();
}

TEST(ThreadChannel, EmptyValuesAndOtherSizes) {
  ThreadChannel box(2, {"rank 0"}, {"rank 1"});
  RunFailure failure(10s, {});
  Values none({}), two({1, 2}), three({1, 2, 3});
  EXPECT_TRUE(box.send(none.view(), failure, kSite).isOk());
  EXPECT_TRUE(box.receive(none.view(), failure, kSite).isOk());
  EXPECT_TRUE(box.send(two.view(), failure, kSite).isOk());
  Status status = box.receive(three.view(), failure, kSite);
  EXPECT_NE(status.message().find("expects 12 bytes, rank 0 sent 8"),
            std::string::npos)
      << status.message();
}

TEST(ThreadChannel, AnAbortWakesWhoWaitsAndStays) {
  ThreadChannel box(1, {"rank 0"}, {"rank 1"});
  RunFailure failure(10s, {});
  Status status;
  std::thread receiver([&] {
    Values values({0});
    status = box.receive(values.view(), failure, kSite);
  });
  std::this_thread::sleep_for(20ms);
  box.abort(artifactError("stage 0 has failed"));
  receiver.join();
  EXPECT_EQ(status.message(), "stage 0 has failed");
  Values values({1});
  EXPECT_FALSE(box.send(values.view(), failure, kSite).isOk());
  box.reset();
  EXPECT_TRUE(box.send(values.view(), failure, kSite).isOk());
}

TEST(ThreadChannel, ATimeoutNamesTheOtherEnd) {
  ThreadChannel box(1, {"rank 0 (pp 0)", 0}, {"rank 1 (pp 1)", 1});
  RunFailure failure(50ms, {});
  Values values({0});
  Status status = box.receive(values.view(), failure, kSite);
  for (const char *part : {"/layer", "rank 0 (pp 0)", "--timeout"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  EXPECT_EQ(status.place().rank, 0);
  EXPECT_EQ(status.place().node, "/layer");
}

/// Three stages of work take longer than a rank of the fourth is patient.
TEST(ThreadChannel, WaitsAsLongAsAnyRankGetsOn) {
  ThreadChannel box(1, {"rank 0"}, {"rank 3"});
  RunFailure failure(100ms, {}), itsOwn(10s, {});
  std::atomic<uint64_t> steps = 0;
  std::atomic<bool> moves = true;
  failure.progress = [&] { return moves ? ++steps : steps.load(); };
  std::thread sender([&] {
    std::this_thread::sleep_for(600ms);
    Values values({7});
    EXPECT_TRUE(box.send(values.view(), itsOwn, kSite).isOk());
  });
  Values values({0});
  Status status = box.receive(values.view(), failure, kSite);
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(values.numbers[0], 7);
  sender.join();
  moves = false;
  EXPECT_FALSE(box.receive(values.view(), failure, kSite).isOk());
}

TEST(Rendezvous, WaitsAsLongAsAnyRankGetsOn) {
  std::atomic<uint64_t> steps = 0;
  RunFailure failure(100ms, [](int) { return std::string("a rank"); });
  std::atomic<bool> moves = true;
  failure.progress = [&] { return moves ? ++steps : steps.load(); };
  Rendezvous place({0, 1}, failure);
  std::thread late([&] {
    std::this_thread::sleep_for(600ms);
    EXPECT_TRUE(place.arrive(1, kSite).isOk());
  });
  Status status = place.arrive(0, kSite);
  EXPECT_TRUE(status.isOk()) << status.message();
  late.join();
  moves = false;
  status = place.arrive(0, kSite);
  EXPECT_NE(status.message().find("missing: a rank"), std::string::npos)
      << status.message();
}

TEST(ThreadChannel, AFailureOfItsOwnStageEndsTheWait) {
  ThreadChannel box(1, {"rank 0"}, {"rank 1"});
  RunFailure failure(10s, {});
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    failure.fail(artifactError("another rank"));
  });
  Values values({0});
  EXPECT_EQ(box.receive(values.view(), failure, kSite).message(),
            "another rank");
  other.join();
}

} // namespace
} // namespace shardc::runtime
