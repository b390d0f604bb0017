//===- ClientHeaderTest.cpp - Steps of rows by the header for C++ ---------===//
#include "runtime/api/client/shardrt.hpp"

#include "tests/unit/runtime/FakeProcesses.h"
#include "tests/unit/runtime/RowPrograms.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace {

using shardc::test::kHeads;
using shardc::test::kPage;

class ClientHeader : public testing::Test {
protected:
  ClientHeader() : artifact(shardc::test::meanOfAll(1)) {
    artifact.manifest["page"] = kPage;
    artifact.writeManifest();
    EXPECT_TRUE(shardrt::Session::open(artifact.path(), session).isOk());
    EXPECT_TRUE(shardrt::Pool::create(session, 48, pool).isOk());
    EXPECT_TRUE(pool.add(sequence).isOk());
  }

  /// Of the sequence, one more position.
  shardrt::Row row(float value) {
    x = {value, -value};
    mask.assign(size_t(sequence.length()) + 1, 1);
    return {&sequence,
            {shardrt::input("x", {1, kHeads, 1, 1}, x.data()),
             {"m", SHARDRT_BOOL, {1, int64_t(mask.size())}, mask.data()}}};
  }

  shardc::test::TestArtifact artifact;
  shardrt::Session session;
  shardrt::Pool pool;
  shardrt::Sequence sequence;
  std::vector<float> x;
  std::vector<uint8_t> mask;
};

TEST_F(ClientHeader, stepsIntoResults) {
  shardrt::Result result;
  shardrt::Output y;
  for (float expected : {4.f, 5.f}) {
    const shardrt::Status status = pool.step({row(expected * 2 - 4)}, result);
    ASSERT_TRUE(status.isOk()) << status.message();
    ASSERT_TRUE(result.output(0, y).isOk());
    EXPECT_EQ(y.as<float>()[0], expected);
  }
  EXPECT_EQ(sequence.length(), 2);
}

TEST_F(ClientHeader, stepsEndWhereTheyAreCancelled) {
  shardrt::Cancellation cancellation;
  ASSERT_TRUE(shardrt::Cancellation::create(cancellation).isOk());
  ASSERT_TRUE(pool.step({row(3)}, {60000, &cancellation}).isOk());
  shardrt::Output y;
  ASSERT_TRUE(pool.output(0, y).isOk());
  EXPECT_EQ(y.as<float>()[0], 3);
  cancellation.cancel();
  EXPECT_EQ(pool.step({row(5)}, {0, &cancellation}).code(), SHARDRT_CANCELLED);
  EXPECT_EQ(sequence.length(), 1);
}

/// Of one pool one after the other, as they were submitted.
TEST_F(ClientHeader, stepsRunBesideTheirCaller) {
  shardrt::Result results[3];
  shardrt::Sequence others[2];
  std::vector<std::vector<float>> values;
  std::vector<std::future<shardrt::Status>> futures;
  const uint8_t seen = 1;
  for (int i = 0; i < 3; ++i) {
    shardrt::Sequence &of = i == 0 ? sequence : others[i - 1];
    if (i > 0) {
      ASSERT_TRUE(pool.add(of).isOk());
    }
    values.push_back({float(i), float(-i)});
    futures.push_back(pool.submit(
        {{&of,
          {shardrt::input("x", {1, kHeads, 1, 1}, values.back().data()),
           {"m", SHARDRT_BOOL, {1, 1}, &seen}}}},
        results[i]));
  }
  for (int i = 0; i < 3; ++i) {
    const shardrt::Status status = futures[size_t(i)].get();
    ASSERT_TRUE(status.isOk()) << status.message();
    shardrt::Output y;
    ASSERT_TRUE(results[i].output(0, y).isOk());
    EXPECT_EQ(y.as<float>()[0], float(i));
  }
  EXPECT_EQ(sequence.length(), 1);
}

TEST(ClientHeaderSession, submitsBindsAndSaysWhere) {
  shardc::test::ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), c = p.coordinate(0);
  auto x = p.input("x", shardc::artifact::ElementType_Float32, {p.whole(n)});
  auto y = p.value(shardc::artifact::ElementType_Float32, {n});
  p.run("TestFail", {int32_t(x)}, {int32_t(y)}, {p.scalars("fail", {c})}, -1,
        "/bad/node");
  p.output("y", y, {p.whole(n)});
  shardc::test::TestArtifact artifact(p);
  shardrt::Session session;
  ASSERT_TRUE(shardrt::Session::open(artifact.path(), session).isOk());
  const float values[] = {1, 2}, bad[] = {-1, 2};
  float found[] = {0, 0, 0, 0};

  shardrt::Result result;
  ASSERT_TRUE(session.createResult(result).isOk());
  ASSERT_TRUE(result.bind(shardrt::view("y", {2}, found, {2})).isOk());
  shardrt::Request request;
  std::future<shardrt::Status> future =
      session.submit({shardrt::input("x", {2}, values)}, result, {}, &request);
  EXPECT_TRUE(request.wait().isOk());
  EXPECT_TRUE(request.isDone());
  const shardrt::Status status = future.get();
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[1], 0);
  EXPECT_EQ(found[2], 2);
  EXPECT_EQ(result.bind(shardrt::view("y", {2}, found, {2, 1})).code(),
            SHARDRT_INVALID_ARGUMENT);
  ASSERT_TRUE(result.unbind().isOk());

  const shardrt::Status failed =
      session.submit({shardrt::input("x", {2}, bad)}, result).get();
  EXPECT_EQ(failed.code(), SHARDRT_ARTIFACT);
  EXPECT_EQ(failed.rank(), 1);
  EXPECT_EQ(failed.stage(), 0);
  EXPECT_EQ(failed.instruction(), 0);
  EXPECT_EQ(failed.kernel(), "TestFail");
  EXPECT_EQ(failed.node(), "/bad/node");
  const shardrt::Status refused = session.submit({}, result, {-1}).get();
  EXPECT_EQ(refused.code(), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(refused.rank(), -1);
  EXPECT_EQ(refused.node(), "");
}

TEST_F(ClientHeader, severalStepsAtOnce) {
  std::vector<shardrt::Result> results;
  shardrt::Sequence other;
  ASSERT_TRUE(pool.add(other).isOk());
  const shardrt::Row first = row(3);
  const std::vector<float> values = {5, -5};
  const uint8_t seen = 1;
  const shardrt::Row second = {
      &other,
      {shardrt::input("x", {1, kHeads, 1, 1}, values.data()),
       {"m", SHARDRT_BOOL, {1, 1}, &seen}}};
  const shardrt::Status status = pool.run({{first}, {second}}, results);
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_EQ(results.size(), 2u);
  shardrt::Output y;
  ASSERT_TRUE(results[1].output(0, y).isOk());
  EXPECT_EQ(y.as<float>()[0], 5);
  EXPECT_EQ(pool.run({{first}, {first}}, results).code(),
            SHARDRT_INVALID_ARGUMENT);
}

TEST(ClientHeaderSession, runsTogetherAndTellsStatistics) {
  shardc::test::ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", shardc::artifact::ElementType_Float32, {p.whole(n)});
  auto y = p.value(shardc::artifact::ElementType_Float32, {n});
  p.run("all_reduce", {int32_t(x)}, {int32_t(y)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}), "/sum");
  p.output("y", y, {p.whole(n)});
  shardc::test::TestArtifact artifact(p);
  shardrt_options options = {};
  options.size = sizeof options;
  options.measure = 1;
  shardrt::Session session;
  ASSERT_TRUE(
      shardrt::Session::open(artifact.path(), session, &options).isOk());
  const float values[] = {1, 2};
  std::vector<shardrt::Result> results;
  const shardrt::Status status =
      session.run({{shardrt::input("x", {1}, &values[0])},
                   {shardrt::input("x", {1}, &values[1])}},
                  results);
  ASSERT_TRUE(status.isOk()) << status.message();
  shardrt::Output found;
  ASSERT_TRUE(results[1].output(0, found).isOk());
  EXPECT_EQ(found.as<float>()[0], 4);

  shardrt::Statistics statistics;
  ASSERT_TRUE(shardrt::Statistics::create(session, statistics).isOk());
  ASSERT_EQ(statistics.collectives().size(), 1u);
  EXPECT_STREQ(statistics.collectives()[0].node, "/sum");
  ASSERT_EQ(statistics.ranks().size(), 2u);
  EXPECT_EQ(statistics.ranks()[1].rank, 1);
  EXPECT_EQ(statistics.instructions().size(), 1u);
  EXPECT_EQ(statistics.needs().size(), 2u);
  EXPECT_TRUE(statistics.caches().empty());
  EXPECT_GE(statistics.notes(SHARDRT_PLACEMENT).size(), 2u);
  EXPECT_TRUE(statistics.notes(SHARDRT_HOST_KERNELS).empty());
  EXPECT_GE(statistics.launches().launched + statistics.launches().captured, 2);
  EXPECT_TRUE(session.writeTrace(artifact.path("t.json")).isOk());
  shardrt_device_limits limits;
  EXPECT_TRUE(session.measureLimits(limits).isOk());
  EXPECT_GT(limits.bytes_per_second, 0);
  // A backend stays open: that of DeviceSessionTest.
  setenv("SHARDC_BACKENDS", SHARDC_TEST_BACKENDS "/../simulated", 1);
  shardrt::Devices devices;
  ASSERT_TRUE(shardrt::Devices::create(devices).isOk());
  ASSERT_FALSE(devices.all().empty());
  EXPECT_STREQ(devices.all()[0].backend, "host");
}

TEST_F(ClientHeader, poolsAreRenewed) {
  shardrt::Result result;
  ASSERT_TRUE(pool.step({row(3)}, result).isOk());
  EXPECT_FALSE(pool.isLost());
  ASSERT_TRUE(session.reopen().isOk());
  EXPECT_TRUE(pool.isLost());
  EXPECT_EQ(pool.step({row(3)}, result).code(), SHARDRT_INVALID_ARGUMENT);
  ASSERT_TRUE(pool.renew().isOk());
  EXPECT_EQ(sequence.length(), 0);
  EXPECT_TRUE(pool.step({row(3)}, result).isOk());
}

/// Each thread is a process.
TEST(ClientHeaderProcesses, followRankZero) {
  shardc::test::ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", shardc::artifact::ElementType_Float32, {p.whole(n)});
  p.output("y", x, {p.whole(n)});
  shardc::test::TestArtifact artifact(p);
  std::vector<std::thread> threads;
  for (const auto &place : shardc::test::placesOnThisMachine(2))
    threads.emplace_back([&, place] {
      const std::string rendezvous =
          place.host + ":" + std::to_string(place.port);
      shardrt_join_options join = {};
      join.size = sizeof join;
      join.rendezvous = rendezvous.c_str();
      join.rank = place.rank;
      join.num_ranks = place.size;
      join.job = place.job.c_str();
      shardrt::Processes processes;
      ASSERT_TRUE(shardrt::Processes::join(processes, &join).isOk());
      EXPECT_EQ(processes.rank(), place.rank);
      EXPECT_EQ(processes.numRanks(), 2);
      shardrt_options options = {};
      options.size = sizeof options;
      options.processes = processes.get();
      if (place.rank == 0) {
        shardrt::Session session;
        ASSERT_TRUE(
            shardrt::Session::open(artifact.path(), session, &options).isOk());
        const float values[] = {1, 2, 3};
        shardrt::Result result;
        shardrt::Output y;
        EXPECT_TRUE(
            session.run({shardrt::input("x", {3}, values)}, result).isOk());
        ASSERT_TRUE(result.output(0, y).isOk());
        EXPECT_EQ(y.as<float>()[2], 3);
      } else {
        EXPECT_TRUE(
            shardrt::Session::runWorker(artifact.path(), options).isOk());
      }
      EXPECT_TRUE(processes.conclude({}).isOk());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ClientHeaderProcesses, mayBeOneAlone) {
  shardrt::Processes processes;
  EXPECT_EQ(processes.rank(), 0);
  EXPECT_EQ(processes.numRanks(), 1);
  EXPECT_TRUE(processes.isSpeaker());
  EXPECT_TRUE(processes.conclude({}).isOk());
  shardrt_join_options join = {};
  join.size = sizeof join;
  join.rendezvous = "nowhere";
  EXPECT_EQ(shardrt::Processes::join(processes, &join).code(),
            SHARDRT_INVALID_ARGUMENT);
}

} // namespace
