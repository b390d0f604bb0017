//===- CStatisticsTest.cpp - What ranks have and did, from C --------------===//
#include "runtime/api/shardrt.h"

#include "tests/unit/runtime/SessionFixture.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>

namespace shardc::runtime {
namespace {

using namespace test;

/// y = x + x on two ranks, z = the sum of both ranks' y.
ProgramBuilder summedProgram() {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}), z = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}));
  p.output("z", z, {p.whole(n)});
  return p;
}

shardrt_session *openWith(const TestArtifact &artifact,
                          const std::function<void(shardrt_options &)> &set) {
  shardrt_options options = {};
  options.size = sizeof options;
  set(options);
  shardrt_session *session = nullptr;
  EXPECT_EQ(shardrt_open(artifact.path().c_str(), &options, &session),
            SHARDRT_OK)
      << shardrt_last_error();
  return session;
}

TEST(CStatistics, aPreflightTellsNeedsAndRunsNothing) {
  TestArtifact artifact(summedProgram());
  shardrt_session *session =
      openWith(artifact, [](shardrt_options &of) { of.preflight = 1; });
  shardrt_statistics *statistics = nullptr;
  ASSERT_EQ(shardrt_statistics_create(session, &statistics), SHARDRT_OK)
      << shardrt_last_error();
  ASSERT_EQ(shardrt_statistics_num_needs(statistics), 2u);
  shardrt_rank_needs needs = {};
  needs.size = sizeof needs;
  ASSERT_EQ(shardrt_statistics_needs(statistics, 1, &needs), SHARDRT_OK);
  EXPECT_STREQ(needs.rank, "rank 1 (tp 1)");
  EXPECT_EQ(needs.weight_bytes, 0);
  EXPECT_GT(needs.value_bytes, 0);
  EXPECT_EQ(needs.cache_position_bytes, 0);
  EXPECT_GT(needs.free_bytes, 0);
  ASSERT_GE(shardrt_statistics_num_notes(statistics, SHARDRT_PLACEMENT), 2u);
  const std::string line =
      shardrt_statistics_note(statistics, SHARDRT_PLACEMENT, 1);
  EXPECT_EQ(line.rfind(std::string("rank 1 (tp 1): ") + needs.device, 0), 0u)
      << line;
  EXPECT_EQ(shardrt_statistics_note(statistics, SHARDRT_PLACEMENT, 99),
            nullptr);
  EXPECT_EQ(shardrt_statistics_num_instructions(statistics), 0u);
  shardrt_statistics_destroy(statistics);

  const float values[] = {1, 2};
  const int64_t dims[] = {2};
  const shardrt_tensor x = {"x", SHARDRT_FLOAT32, 1, dims, values};
  shardrt_state *state = nullptr;
  shardrt_device_limits limits = {};
  limits.size = sizeof limits;
  for (int round = 0; round < 2; ++round) {
    for (const shardrt_status status :
         {shardrt_run(session, &x, 1), shardrt_state_create(session, 8, &state),
          shardrt_measure_limits(session, &limits)}) {
      EXPECT_EQ(status, SHARDRT_INVALID_ARGUMENT);
      EXPECT_NE(std::string(shardrt_last_error()).find("preflight"),
                std::string::npos)
          << shardrt_last_error();
    }
    EXPECT_EQ(shardrt_reopen(session), SHARDRT_OK) << shardrt_last_error();
  }
  shardrt_close(session);

  shardrt_options options = {};
  options.size = sizeof options;
  options.cache_positions = -8;
  EXPECT_EQ(shardrt_open(artifact.path().c_str(), &options, &session),
            SHARDRT_INVALID_ARGUMENT);
  options.cache_positions = 8; // without preflight, too
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), &options, &session),
            SHARDRT_OK)
      << shardrt_last_error();
  shardrt_close(session);
}

TEST(CStatistics, statisticsSayWhatRanksHaveAndDid) {
  TestArtifact artifact(summedProgram());
  shardrt_session *session =
      openWith(artifact, [](shardrt_options &of) { of.measure = 1; });
  EXPECT_EQ(shardrt_write_trace(session, artifact.path("t.json").c_str()),
            SHARDRT_INVALID_ARGUMENT)
      << "nothing has run";
  const std::vector<float> values(5, 1);
  const int64_t dims[] = {5};
  const shardrt_tensor x = {"x", SHARDRT_FLOAT32, 1, dims, values.data()};
  for (int run = 0; run < 3; ++run)
    ASSERT_EQ(shardrt_run(session, &x, 1), SHARDRT_OK) << shardrt_last_error();
  shardrt_statistics *of = nullptr;
  ASSERT_EQ(shardrt_statistics_create(session, &of), SHARDRT_OK);
  const std::string trace = artifact.path("t.json");
  EXPECT_EQ(shardrt_write_trace(session, trace.c_str()), SHARDRT_OK)
      << shardrt_last_error();
  EXPECT_EQ(shardrt_write_trace(session, "/nowhere/t.json"),
            SHARDRT_INVALID_ARGUMENT);
  shardrt_device_limits limits = {};
  limits.size = sizeof limits;
  EXPECT_EQ(shardrt_measure_limits(session, &limits), SHARDRT_OK);
  EXPECT_GT(limits.bytes_per_second, 0);
  shardrt_close(session); // statistics stay

  std::ifstream file(trace);
  const auto json = nlohmann::json::parse(file);
  EXPECT_FALSE(json["traceEvents"].empty());
  shardrt_launches launches = {};
  launches.size = sizeof launches;
  ASSERT_EQ(shardrt_statistics_launches(of, &launches), SHARDRT_OK);
  EXPECT_EQ(launches.launched + launches.captured + launches.updated +
                launches.replayed,
            6)
      << "3 runs of 2 ranks";
  ASSERT_EQ(shardrt_statistics_num_ranks(of), 2u);
  for (size_t i = 0; i < 2; ++i) {
    shardrt_rank_memory memory = {};
    memory.size = sizeof memory;
    ASSERT_EQ(shardrt_statistics_rank(of, i, &memory), SHARDRT_OK);
    EXPECT_EQ(memory.rank, int32_t(i));
    EXPECT_EQ(memory.weight_bytes, 0);
    EXPECT_GE(memory.value_bytes, 2 * 20) << "y and z";
    EXPECT_GE(memory.arena_bytes, memory.value_bytes);
  }
  ASSERT_EQ(shardrt_statistics_num_collectives(of), 1u);
  shardrt_collective collective = {};
  collective.size = offsetof(shardrt_collective, wire_bytes);
  collective.wire_bytes = -5; // behind what this caller knows
  ASSERT_EQ(shardrt_statistics_collective(of, 0, &collective), SHARDRT_OK);
  EXPECT_STREQ(collective.kind, "all_reduce");
  EXPECT_EQ(collective.group_size, 2);
  EXPECT_EQ(collective.bytes, 20);
  EXPECT_EQ(collective.wire_bytes, -5);
  collective.size = sizeof collective;
  ASSERT_EQ(shardrt_statistics_collective(of, 0, &collective), SHARDRT_OK);
  EXPECT_GT(collective.wire_bytes, 0);
  EXPECT_EQ(shardrt_statistics_collective(of, 1, &collective),
            SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(shardrt_statistics_num_instructions(of), 2u);
  int collectives = 0;
  for (size_t i = 0; i < 2; ++i) {
    shardrt_instruction instruction = {};
    instruction.size = sizeof instruction;
    ASSERT_EQ(shardrt_statistics_instruction(of, i, &instruction), SHARDRT_OK);
    EXPECT_GE(instruction.milliseconds, 0);
    EXPECT_EQ(instruction.runs, 2) << "without the first";
    EXPECT_EQ(instruction.has_first, 0);
    collectives += instruction.is_collective;
    if (!instruction.is_collective) {
      EXPECT_STREQ(instruction.kernel, "TestAdd");
      EXPECT_EQ(instruction.bytes, 3 * 20);
    }
  }
  EXPECT_EQ(collectives, 1);
  EXPECT_EQ(shardrt_statistics_num_caches(of), 0u) << "it leads";
  shardrt_statistics_destroy(of);

  EXPECT_EQ(shardrt_statistics_create(nullptr, &of), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_write_trace(nullptr, "x"), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_measure_limits(nullptr, &limits), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_statistics_num_ranks(nullptr), 0u);
  EXPECT_EQ(shardrt_statistics_note(nullptr, SHARDRT_PLACEMENT, 0), nullptr);
  shardrt_statistics_destroy(nullptr);
}

TEST(CStatistics, listsDevices) {
  // A backend stays open: that of DeviceSessionTest.
  setenv("SHARDC_BACKENDS", SHARDC_TEST_BACKENDS "/../simulated", 1);
  shardrt_devices *devices = nullptr;
  ASSERT_EQ(shardrt_devices_create(&devices), SHARDRT_OK);
  shardrt_device_info info = {};
  info.size = sizeof info;
  ASSERT_EQ(shardrt_device_at(devices, 0, &info), SHARDRT_OK);
  EXPECT_STREQ(info.backend, "host");
  EXPECT_EQ(info.number, 0);
  EXPECT_STREQ(info.refusal, "");
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_GT(info.free_bytes, 0);
  EXPECT_LE(info.free_bytes, info.memory_bytes);
  bool isKnown = false; // whether it is there or not
  const size_t count = shardrt_num_devices(devices);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(shardrt_device_at(devices, i, &info), SHARDRT_OK);
    isKnown |= std::string(info.backend) == "cuda";
    EXPECT_EQ(info.number < 0 && !*info.refusal, false);
  }
  EXPECT_TRUE(isKnown);
  EXPECT_EQ(shardrt_device_at(devices, count, &info), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_device_at(nullptr, 0, &info), SHARDRT_INVALID_ARGUMENT);
  shardrt_devices_destroy(devices);
  EXPECT_EQ(shardrt_devices_create(nullptr), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_num_devices(nullptr), 0u);
  shardrt_devices_destroy(nullptr);
}

TEST(CStatistics, requestsRunTogether) {
  TestArtifact artifact(summedProgram());
  shardrt_session *session = openWith(artifact, [](shardrt_options &) {});
  constexpr int kRequests = 3;
  float values[kRequests] = {1, 2, 3};
  const int64_t dims[] = {1};
  shardrt_tensor x[kRequests];
  shardrt_result *results[kRequests];
  shardrt_batch_request requests[kRequests];
  for (int i = 0; i < kRequests; ++i) {
    x[i] = {"x", SHARDRT_FLOAT32, 1, dims, &values[i]};
    ASSERT_EQ(shardrt_result_create(session, &results[i]), SHARDRT_OK);
    requests[i] = {&x[i], 1, results[i]};
  }
  float mine = 0;
  shardrt_view view = {};
  view.name = "z";
  view.type = SHARDRT_FLOAT32;
  view.rank = 1;
  view.dims = dims;
  view.data = &mine;
  ASSERT_EQ(shardrt_result_bind(results[2], &view), SHARDRT_OK);
  ASSERT_EQ(shardrt_run_batch(session, nullptr, requests, kRequests),
            SHARDRT_OK)
      << shardrt_last_error();
  shardrt_tensor z;
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(shardrt_result_output(results[i], 0, &z), SHARDRT_OK);
    EXPECT_EQ(*static_cast<const float *>(z.data), 4 * values[i]);
  }
  EXPECT_EQ(mine, 12);

  const auto fails = [&](const char *why) {
    EXPECT_EQ(shardrt_run_batch(session, nullptr, requests, kRequests),
              SHARDRT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(shardrt_last_error()).find(why), std::string::npos)
        << shardrt_last_error();
  };
  requests[1].result = results[0];
  fails("a request with this result is under way");
  requests[1].result = nullptr;
  fails("request 1 has no result");
  requests[1].result = results[1];
  x[1].name = "other";
  fails("x");
  EXPECT_EQ(shardrt_result_output(results[0], 0, &z), SHARDRT_INVALID_ARGUMENT)
      << "one has failed";
  EXPECT_EQ(shardrt_run_batch(session, nullptr, nullptr, 0), SHARDRT_OK);
  EXPECT_EQ(shardrt_run_batch(nullptr, nullptr, requests, 1),
            SHARDRT_INVALID_ARGUMENT);
  for (shardrt_result *result : results)
    shardrt_result_destroy(result);
  shardrt_close(session);
}

} // namespace
} // namespace shardc::runtime
