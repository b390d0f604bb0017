//===- WeightFeedTest.cpp - Runs beside weights that still come -----------===//
#include "runtime/kernels/Kernel.h"
#include "runtime/launch/LoadProgress.h"
#include "runtime/tensor/CopyView.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <thread>

namespace shardc::runtime {
namespace {

using namespace test;

/// Set once, and waited for; never for ever, so that a test fails instead.
class Signal {
public:
  void set(bool value = true) {
    std::lock_guard lock(mutex);
    isSet = value;
    changed.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(30),
                            [this] { return isSet; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isSet = false;
};

Signal hasNoted;

/// Copies, and says so.
Status testNote(const KernelCall &call) {
  copyView(call.outputs[0], call.inputs[0]);
  hasNoted.set();
  return Status::ok();
}
const HostKernelRegistration note("TestNote", {testNote});

/// As long as one of the pieces that go to a device.
constexpr int64_t kLong = int64_t{4} << 20;

std::vector<float> range(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// z = note(x + early) + late; in the file the late one comes first, or last.
ProgramBuilder twoWeights(bool lateFirst) {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.constant(kLong);
  auto x = p.input("x", Float32, {p.whole(n)});
  uint32_t early = 0, late = 0;
  for (bool isLate : {lateFirst, !lateFirst})
    (isLate ? late : early) =
        p.weight(isLate ? "late" : "early", Float32, {kLong}, {p.whole(n)},
                 bytesOf(range(kLong, isLate ? 7 : 1)));
  auto y = p.value(Float32, {n}), noted = p.value(Float32, {n}),
       z = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(early)}, {int32_t(y)}, {}, -1,
        "/first");
  p.run("TestNote", {int32_t(y)}, {int32_t(noted)}, {}, -1, "/note");
  p.run("TestAdd", {int32_t(noted), int32_t(late)}, {int32_t(z)}, {}, -1,
        "/second");
  p.output("z", z, {p.whole(n)});
  return p;
}

class WeightFeedTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    hasNoted.set(false);
    setenv("SHARDC_BACKENDS", SHARDC_TEST_BACKENDS, 1);
    // On a device it waits for all that is enqueued: what came is looked at.
    setenv("SHARDC_FAKE_LACKS", "TestNote", 1);
    options.device = GetParam();
    options.loadsBeside = true;
  }
  void TearDown() override { unsetenv("SHARDC_FAKE_LACKS"); }
  static void expectContains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  SessionOptions options;
};

TEST_P(WeightFeedTest, AnInstructionWaitsOnlyForTheWeightsThatItReads) {
  TestArtifact artifact(twoWeights(/*lateFirst=*/true));
  bool wasNoted = false;
  std::vector<std::string> order;
  options.measure = true;
  options.onWeight = [&](int rank, const std::string &name) {
    EXPECT_EQ(rank, 0);
    order.push_back(name);
    if (name == "late")
      wasNoted = hasNoted.wait();
  };
  const std::string trace = temporaryPath();
  {
    OpenSession s(artifact, options);
    Floats x(range(kLong, 0), {kLong});
    for (int run = 0; run < 3; ++run) {
      const Status status = s.run({x.as("x")});
      ASSERT_TRUE(status.isOk()) << status.message();
      const std::vector<float> found = s.floats(0);
      for (int64_t i = 0; i < kLong; i += 1021)
        ASSERT_EQ(found[size_t(i)], 3.0f * float(i) + 8) << i;
      if (run == 0) {
        EXPECT_TRUE(s.session->writeTrace(trace).isOk());
      }
    }
  }
  EXPECT_TRUE(wasNoted);
  EXPECT_EQ(order, (std::vector<std::string>{"early", "late"}));
  if (options.device == "host") { // when a device does something is its own
    expectContains(readFile(trace), "rank 0 (tp 0): weights");
    expectContains(readFile(trace), R"("cat":"weight")");
  }
  std::filesystem::remove(trace);
}

TEST_P(WeightFeedTest, WithoutTheOptionAllIsThereWhenItIsOpen) {
  TestArtifact artifact(twoWeights(/*lateFirst=*/true));
  int count = 0;
  options.loadsBeside = false;
  options.onWeight = [&](int, const std::string &) { ++count; };
  OpenSession s(artifact, options);
  EXPECT_EQ(count, 2);
}

/// Never back, and once with all of it.
TEST_P(WeightFeedTest, TellsHowFarItHasCome) {
  for (const bool isBeside : {false, true}) {
    TestArtifact artifact(twoWeights(/*lateFirst=*/true));
    std::vector<std::pair<int64_t, int64_t>> told; // of one thread at a time
    std::atomic<int> ends = 0;
    options.loadsBeside = isBeside;
    options.progress =
        std::make_shared<LoadProgress>([&](int64_t loaded, int64_t all) {
          told.emplace_back(loaded, all);
          ends += loaded == all;
        });
    {
      OpenSession s(artifact, options);
      Floats x(range(kLong, 0), {kLong});
      ASSERT_TRUE(s.run({x.as("x")}).isOk());
      if (!isBeside) {
        EXPECT_EQ(ends, 1) << "when it is open";
      }
    }
    EXPECT_EQ(ends, 1);
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), std::pair(8 * kLong, 8 * kLong));
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_LE(told.size(), 20u) << "rarely";
  }
}

using Told = std::vector<std::pair<int64_t, int64_t>>;

/// Stages have other weights than each other: what there is in all is known when
/// each has said its own.
TEST(LoadProgress, waitsForAllRanksOfTheFirstReplica) {
  Told told;
  LoadProgress progress(
      [&](int64_t loaded, int64_t all) { told.emplace_back(loaded, all); },
      std::chrono::seconds(10));
  for (int round = 0; round < 2; ++round) { // it is opened again
    told.clear();
    progress.begin(2, 1);
    progress.tell(100);
    progress.add(100);
    EXPECT_TRUE(told.empty()) << "the other one may have more, or less";
    progress.tell(60);
    EXPECT_EQ(told, (Told{{100, 160}}));
    progress.add(59);
    EXPECT_EQ(told.size(), 1u) << "too soon after it";
    progress.add(1);
    EXPECT_EQ(told, (Told{{100, 160}, {160, 160}}));
    progress.add(0);
    EXPECT_EQ(told.size(), 2u) << "once";
  }
  progress.close();
  progress.begin(1, 1);
  progress.tell(0);
  EXPECT_EQ(told.size(), 2u);
}

/// Whatever replicas say: all never gets less, and it ends once, at all of it.
TEST(LoadProgress, neverTellsLessInAll) {
  for (const std::vector<int64_t> &ranks :
       {std::vector<int64_t>{100, 60, 100, 60, 100, 60},
        {100, 60, 0, 0, 100, 60},
        {1, 2, 300, 400, 5, 6},
        {0, 0, 50, 50, 0, 0}}) {
    Told told;
    LoadProgress progress(
        [&](int64_t loaded, int64_t all) { told.emplace_back(loaded, all); },
        std::chrono::milliseconds(0));
    progress.begin(ranks.size(), 3);
    for (size_t i = 0; i < ranks.size();
         i += 2) { // one replica after the other
      progress.tell(ranks[i]);
      progress.add(ranks[i] / 2);
      progress.tell(ranks[i + 1]);
      progress.add(ranks[i] - ranks[i] / 2);
      progress.add(ranks[i + 1]);
    }
    ASSERT_FALSE(told.empty());
    for (size_t i = 1; i < told.size(); ++i) {
      EXPECT_LE(told[i - 1].first, told[i].first);
      EXPECT_LE(told[i - 1].second, told[i].second);
      EXPECT_LT(told[i - 1].first, told[i - 1].second) << "not the end";
    }
    EXPECT_EQ(told.back().first, told.back().second);
    EXPECT_GE(told.back().first,
              std::accumulate(ranks.begin(), ranks.end(), int64_t{0}));
  }
  Told told;
  LoadProgress progress(
      [&](int64_t loaded, int64_t all) { told.emplace_back(loaded, all); },
      std::chrono::milliseconds(0));
  progress.begin(4, 2);
  for (int64_t bytes : {100, 60, 100, 60}) {
    progress.tell(bytes);
    progress.add(bytes);
  }
  EXPECT_EQ(told.front().second, 320) << "known with the first replica";
  EXPECT_EQ(told.back(), (std::pair<int64_t, int64_t>(320, 320)));
}

/// The file is cut while the first instructions run.
TEST_P(WeightFeedTest, WhatCannotBeReadIsAnErrorOfTheRunThatMeetsIt) {
  TestArtifact artifact(twoWeights(/*lateFirst=*/false));
  options.onWeight = [&](int, const std::string &name) {
    if (name == "late" && hasNoted.wait())
      std::filesystem::resize_file(artifact.path("constants.bin"), 4 * kLong);
  };
  OpenSession s(artifact, options);
  Floats x(range(kLong, 0), {kLong});
  for (int run = 0; run < 2; ++run) {
    const Status status = s.run({x.as("x")});
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    for (const char *part : {"constants.bin", "cut short"})
      expectContains(status.message(), part);
    // The next run finds the file changed before it starts.
    for (const char *part : {"rank 0", "weight late", "/second"})
      if (run == 0)
        expectContains(status.message(), part);
  }
}

TEST_P(WeightFeedTest, ASessionCanBeClosedWhileWeightsCome) {
  TestArtifact artifact(twoWeights(/*lateFirst=*/true));
  for (int round = 0; round < 5; ++round)
    OpenSession s(artifact, options);
}

std::string safetensors(const std::vector<float> &values) {
  const std::string header =
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header +
         bytesOf(values);
}

/// The sum over two ranks of x + w, of which rank 1's copy is damaged: both
/// fail, at the end of the run at the latest.
TEST_P(WeightFeedTest, DamagedCopiesAreFoundBeforeThereIsAResult) {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), two = p.constant(2), four = p.constant(4);
  auto x = p.input("x", Float32, {p.whole(two)});
  auto w =
      p.weight("w", Float32, {4}, {p.split(four, 2, c)}, bytesOf(range(4, 0)));
  auto y = p.value(Float32, {two}), z = p.value(Float32, {two});
  p.run("TestAdd", {int32_t(x), int32_t(w)}, {int32_t(y)});
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}));
  p.output("z", z, {p.whole(two)});
  TestArtifact artifact(p);
  artifact.manifest["weights"] = "copy";
  artifact.addFile("weights/rank-00000.safetensors", safetensors({1, 2}));
  artifact.addFile("weights/rank-00001.safetensors", safetensors({3, 4}));
  Floats input({10, 20}, {2});
  {
    OpenSession s(artifact, options);
    ASSERT_TRUE(s.run({input.as("x")}).isOk());
    EXPECT_EQ(s.floats(0), (std::vector<float>{24, 46}));
  }
  const std::string file = artifact.path("weights/rank-00001.safetensors");
  writeFile(file, safetensors({3, 5}));
  OpenSession s(artifact, options);
  const Status status = s.run({input.as("x")});
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  for (const char *part : {"rank 1", "rank-00001.safetensors", "hash"})
    expectContains(status.message(), part);
  options.loadsBeside = false;
  std::unique_ptr<Session> early;
  expectContains(Session::open(artifact.path(), options, early).message(),
                 "rank-00001.safetensors");
}

/// Stage 0 notes and sends; stage 1's weight comes only then, and later than
/// ranks wait for each other.
TEST_P(WeightFeedTest, AStageRunsBeforeTheNextOneIsThere) {
  ProgramBuilder first({{"tp", 1}});
  auto n = first.symbol("n", 0, 0);
  auto x = first.input("x", Float32, {first.whole(n)});
  auto y = first.value(Float32, {n});
  first.run("TestNote", {int32_t(x)}, {int32_t(y)});
  first.run("send", {int32_t(y)}, {},
            {first.ints("stage", {1}), first.ints("transfer", {0})}, -1,
            "/first");
  ProgramBuilder second({{"tp", 1}});
  n = second.symbol("n", 0, 0);
  second.input("x", Float32, {second.whole(n)});
  auto two = second.constant(2);
  auto w = second.weight("w", Float32, {2}, {second.whole(two)},
                         bytesOf(range(2, 5)));
  auto came = second.value(Float32, {n}), z = second.value(Float32, {n});
  second.run("receive", {}, {int32_t(came)},
             {second.ints("stage", {0}), second.ints("transfer", {0})}, -1,
             "/first");
  second.run("TestAdd", {int32_t(came), int32_t(w)}, {int32_t(z)});
  second.output("z", z, {second.whole(n)});
  // Both programs are of one constants.bin.
  TestArtifact artifact(second);
  artifact.manifest["mesh"] = {{{"name", "pp"}, {"size", 2}},
                               {{"name", "tp"}, {"size", 1}}};
  artifact.manifest["stages"][0]["stage"] = 1;
  artifact.addProgram(first, 0);
  bool wasNoted = false;
  options.timeout = std::chrono::milliseconds(1000);
  options.onWeight = [&](int rank, const std::string &) {
    EXPECT_EQ(rank, 1);
    wasNoted = hasNoted.wait();
    std::this_thread::sleep_for(2 * options.timeout);
  };
  OpenSession s(artifact, options);
  Floats values({1, 2}, {2});
  const Status status = s.run({values.as("x")});
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(s.floats(0), (std::vector<float>{6, 8}));
  EXPECT_TRUE(wasNoted);
}

INSTANTIATE_TEST_SUITE_P(Devices, WeightFeedTest,
                         testing::Values("host", "fake"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::runtime
