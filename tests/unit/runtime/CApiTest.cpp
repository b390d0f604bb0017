#include "runtime/api/shardrt.h"

#include "tests/unit/runtime/SessionFixture.h"

#include <cstddef>

namespace shardc::runtime {
namespace {

using namespace test;

/// The options as they were when check_replicas was not there yet, as they are,
/// and as they may be one day.
TEST(CApi, optionsOfOlderAndNewerCallers) {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  p.output("y", x, {p.whole(n)});
  TestArtifact artifact(p);
  struct Newer {
    shardrt_options known;
    int64_t unknown[2];
  } newer = {};
  newer.known.timeout_seconds = 5;
  auto open = [&](size_t size) {
    newer.known.size = size;
    shardrt_session *session = nullptr;
    const shardrt_status status =
        shardrt_open(artifact.path().c_str(), &newer.known, &session);
    shardrt_close(session);
    return status;
  };
  EXPECT_EQ(open(offsetof(shardrt_options, check_replicas)), SHARDRT_OK);
  EXPECT_EQ(open(offsetof(shardrt_options, no_kernels)), SHARDRT_OK);
  EXPECT_EQ(open(sizeof(size_t)), SHARDRT_OK);
  EXPECT_EQ(open(sizeof(shardrt_options)), SHARDRT_OK);
  EXPECT_EQ(open(sizeof newer), SHARDRT_OK) << "it sets nothing new";
  newer.known.unused = -1; // was padding once, and anything
  EXPECT_EQ(open(offsetof(shardrt_options, no_kernels)), SHARDRT_OK);
  newer.unknown[1] = 1;
  EXPECT_EQ(open(sizeof newer), SHARDRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(shardrt_last_error()).find("newer"), std::string::npos);
  EXPECT_EQ(open(0), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(open(SIZE_MAX), SHARDRT_INVALID_ARGUMENT);
}

TEST(CApi, nothingIsFineWhereThereIsNoSession) {
  EXPECT_EQ(shardrt_num_inputs(nullptr), 0u);
  EXPECT_EQ(shardrt_num_outputs(nullptr), 0u);
  EXPECT_EQ(shardrt_input_name(nullptr, 0), nullptr);
  EXPECT_EQ(shardrt_output_type(nullptr, 0), nullptr);
  EXPECT_EQ(shardrt_state_length(nullptr), 0);
  EXPECT_EQ(shardrt_state_capacity(nullptr), 0);
  EXPECT_EQ(shardrt_state_num_ranks(nullptr), 0u);
  shardrt_state_reset(nullptr);
  shardrt_state_destroy(nullptr);
}

TEST(CApi, opensRunsAndReports) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.output("y", y, {p.whole(n)});
  TestArtifact artifact(p);

  shardrt_session *session = nullptr;
  EXPECT_EQ(shardrt_open("/nowhere", nullptr, &session), SHARDRT_ARTIFACT);
  EXPECT_NE(std::string(shardrt_last_error()).find("/nowhere"),
            std::string::npos);
  EXPECT_EQ(shardrt_open(nullptr, nullptr, &session), SHARDRT_INVALID_ARGUMENT);
  shardrt_options options = {sizeof options, nullptr, 5, 1, 0, 0, 0};
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), &options, &session),
            SHARDRT_OK)
      << shardrt_last_error();
  EXPECT_EQ(shardrt_num_inputs(session), 1u);
  EXPECT_STREQ(shardrt_input_name(session, 0), "x");
  EXPECT_STREQ(shardrt_input_type(session, 0), "float32 [n]");
  EXPECT_STREQ(shardrt_output_name(session, 0), "y");
  EXPECT_EQ(shardrt_output_name(session, 1), nullptr);

  shardrt_tensor output;
  EXPECT_EQ(shardrt_output(session, 0, &output), SHARDRT_INVALID_ARGUMENT);
  float values[] = {1, 2, 3};
  int64_t dims[] = {3};
  shardrt_tensor input = {"x", SHARDRT_FLOAT32, 1, dims, values};
  ASSERT_EQ(shardrt_run(session, &input, 1), SHARDRT_OK)
      << shardrt_last_error();
  ASSERT_EQ(shardrt_output(session, 0, &output), SHARDRT_OK);
  EXPECT_STREQ(output.name, "y");
  EXPECT_EQ(output.type, SHARDRT_FLOAT32);
  EXPECT_EQ(output.dims[0], 3);
  EXPECT_EQ(static_cast<const float *>(output.data)[2], 6);
  input.name = "wrong";
  EXPECT_EQ(shardrt_run(session, &input, 1), SHARDRT_INVALID_ARGUMENT);
  shardrt_close(session);
  shardrt_close(nullptr);
}

} // namespace
} // namespace shardc::runtime
