#include "runtime/api/shardrt.h"

#include "tests/unit/runtime/SessionFixture.h"

namespace shardc::runtime {
namespace {

using namespace test;

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
  shardrt_options options = {sizeof options, nullptr, 5, 1};
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
