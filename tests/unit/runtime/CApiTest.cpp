#include "runtime/api/shardrt.h"

#include "tests/unit/runtime/RowPrograms.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <cstddef>
#include <thread>

namespace shardc::runtime {
namespace {

using namespace test;

/// What clients of version 0.1 were compiled with stays where it is: options and
/// infos grow at their end, all else not at all.
static_assert(sizeof(shardrt_tensor) == 32 &&
              offsetof(shardrt_tensor, data) == 24);
static_assert(sizeof(shardrt_row) == 32 && offsetof(shardrt_row, wanted) == 24);
static_assert(offsetof(shardrt_options, timeout_seconds) == 16 &&
              offsetof(shardrt_options, threads) == 36 &&
              offsetof(shardrt_options, device) == 40 &&
              offsetof(shardrt_options, loads_beside) == 48);
static_assert(offsetof(shardrt_options, progress_context) == 72 &&
              offsetof(shardrt_options, cache_positions) == 96);
static_assert(offsetof(shardrt_run_options, cancellation) == 16);
static_assert(offsetof(shardrt_value_info, dims) == 24 &&
              offsetof(shardrt_value_info, is_cache) == 32 &&
              offsetof(shardrt_value_info, num_rows) == 40);
static_assert(offsetof(shardrt_session_info, is_causal) == 20 &&
              offsetof(shardrt_session_info, tolerance) == 32);

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

  input.rank = 1 << 20; // of which no dim is read
  EXPECT_EQ(shardrt_run(session, &input, 1), SHARDRT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(shardrt_last_error())
                .find("input 0 has rank 1048576, expected 0 to 8"),
            std::string::npos)
      << shardrt_last_error();

  shardrt_value_info info = {};
  info.size = sizeof info;
  ASSERT_EQ(shardrt_input_info(session, 0, &info), SHARDRT_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.type, SHARDRT_FLOAT32);
  ASSERT_EQ(info.rank, 1);
  EXPECT_STREQ(info.dims[0], "n");
  EXPECT_EQ(info.is_cache, 0);
  EXPECT_EQ(info.num_rows, 0);
  EXPECT_EQ(shardrt_output_info(session, 1, &info), SHARDRT_INVALID_ARGUMENT);
  info.size = 0;
  EXPECT_EQ(shardrt_output_info(session, 0, &info), SHARDRT_INVALID_ARGUMENT);
  shardrt_session_info about = {};
  about.size = offsetof(shardrt_session_info, is_causal);
  about.page = -5; // behind what this caller knows
  ASSERT_EQ(shardrt_info(session, &about), SHARDRT_OK);
  EXPECT_EQ(about.world_size, 2);
  EXPECT_EQ(about.num_replicas, 1);
  EXPECT_EQ(about.page, -5);
  about.size = sizeof about;
  ASSERT_EQ(shardrt_info(session, &about), SHARDRT_OK);
  EXPECT_EQ(about.page, 0);
  EXPECT_STREQ(about.tolerance, "f32");
  EXPECT_STREQ(shardrt_version(), "0.1.0");

  // One of a client that knows half of the fields.
  shardrt_spent spent = {};
  spent.size = offsetof(shardrt_spent, count);
  spent.count = -5;
  const size_t entries = shardrt_num_spent(session);
  ASSERT_GE(entries, 2u);
  ASSERT_EQ(shardrt_spent_at(session, 0, &spent), SHARDRT_OK);
  EXPECT_EQ(spent.count, -5);
  EXPECT_EQ(shardrt_spent_at(session, entries, &spent),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_spent_at(nullptr, 0, &spent), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_num_spent(nullptr), 0u);

  input.name = "wrong";
  EXPECT_EQ(shardrt_run(session, &input, 1), SHARDRT_INVALID_ARGUMENT);
  shardrt_close(session);
  shardrt_close(nullptr);
}

TEST(CApi, tellsHowFarWeightsHaveCome) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.constant(1000);
  auto w = p.weight("w", Float32, {1000}, {p.whole(n)},
                    bytesOf(std::vector<float>(1000, 3)));
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(w)}, {int32_t(y)});
  p.output("y", y, {p.whole(n)});
  TestArtifact artifact(p);
  std::vector<int64_t> last;
  shardrt_options options = {};
  options.size = sizeof options;
  options.on_progress = [](int64_t loaded, int64_t all, void *context) {
    *static_cast<std::vector<int64_t> *>(context) = {loaded, all};
  };
  options.progress_context = &last;
  shardrt_session *session = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), &options, &session),
            SHARDRT_OK);
  EXPECT_EQ(last, (std::vector<int64_t>{8000, 8000})) << "4000 of each rank";
  shardrt_close(session);
}

/// Rank 1 of 2 fails in a kernel; then there is an error of no rank.
TEST(CApi, errorsSayWhereTheyArose) {
  shardrt_error_info info = {};
  EXPECT_EQ(shardrt_last_error_info(nullptr), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_last_error_info(&info), SHARDRT_INVALID_ARGUMENT)
      << "its size is not set";
  std::thread([] { // has no error yet
    shardrt_error_info none = {};
    none.size = sizeof none;
    none.rank = 7;
    EXPECT_EQ(shardrt_last_error_info(&none), SHARDRT_OK);
    EXPECT_EQ(none.code, SHARDRT_OK);
    EXPECT_EQ(none.rank, -1);
    EXPECT_STREQ(none.message, "");
  })
      .join();

  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), c = p.coordinate(0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}), z = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.run("TestFail", {int32_t(y)}, {int32_t(z)}, {p.scalars("fail", {c})}, -1,
        "/bad/node");
  p.output("z", z, {p.whole(n)});
  TestArtifact artifact(p);
  shardrt_session *session = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
            SHARDRT_OK);
  const float values[] = {-1, 2};
  const int64_t dims[] = {2};
  const shardrt_tensor input = {"x", SHARDRT_FLOAT32, 1, dims, values};
  ASSERT_EQ(shardrt_run(session, &input, 1), SHARDRT_ARTIFACT);
  info.size = sizeof info;
  ASSERT_EQ(shardrt_last_error_info(&info), SHARDRT_OK);
  EXPECT_EQ(info.code, SHARDRT_ARTIFACT);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.stage, 0);
  EXPECT_EQ(info.instruction, 1);
  EXPECT_STREQ(info.kernel, "TestFail");
  EXPECT_STREQ(info.node, "/bad/node");
  EXPECT_STREQ(info.message, shardrt_last_error());
  const std::string text = info.message;
  EXPECT_EQ(shardrt_conclude(nullptr, SHARDRT_ARTIFACT, shardrt_last_error()),
            SHARDRT_ARTIFACT);
  ASSERT_EQ(shardrt_last_error_info(&info), SHARDRT_OK);
  EXPECT_EQ(info.message, text);
  EXPECT_EQ(info.rank, 1) << "what was told comes back as it was";

  info.size = offsetof(shardrt_error_info, kernel); // knows no more
  info.kernel = "mine";
  EXPECT_EQ(shardrt_run(session, &input, 0), SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(shardrt_last_error_info(&info), SHARDRT_OK);
  EXPECT_EQ(info.code, SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(info.rank, -1);
  EXPECT_EQ(info.instruction, -1);
  EXPECT_STREQ(info.kernel, "mine");
  shardrt_close(session);
}

TEST(CApi, resultsKeepTheirOutputs) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.output("y", y, {p.whole(n)});
  TestArtifact artifact(p);
  shardrt_session *session = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
            SHARDRT_OK);
  constexpr int kThreads = 3;
  shardrt_result *results[kThreads] = {};
  shardrt_tensor output;
  ASSERT_EQ(shardrt_result_create(session, &results[0]), SHARDRT_OK);
  EXPECT_EQ(shardrt_result_output(results[0], 0, &output),
            SHARDRT_INVALID_ARGUMENT)
      << "nothing has run into it";
  shardrt_result_destroy(results[0]);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      ASSERT_EQ(shardrt_result_create(session, &results[i]), SHARDRT_OK);
      std::vector<float> values(i + 1, float(i));
      const int64_t dims[] = {i + 1};
      const shardrt_tensor input = {"x", SHARDRT_FLOAT32, 1, dims,
                                    values.data()};
      for (int run = 0; run < 20; ++run)
        ASSERT_EQ(
            shardrt_run_into(session, nullptr, nullptr, &input, 1, results[i]),
            SHARDRT_OK)
            << shardrt_last_error();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, nullptr),
            SHARDRT_INVALID_ARGUMENT);
  shardrt_close(session);
  for (int i = 0; i < kThreads; ++i) {
    ASSERT_EQ(shardrt_result_output(results[i], 0, &output), SHARDRT_OK);
    EXPECT_STREQ(output.name, "y");
    ASSERT_EQ(output.dims[0], i + 1);
    EXPECT_EQ(static_cast<const float *>(output.data)[i], float(2 * i));
    EXPECT_EQ(shardrt_result_output(results[i], 1, &output),
              SHARDRT_INVALID_ARGUMENT);
    shardrt_result_destroy(results[i]);
  }
  shardrt_result_destroy(nullptr);
}

/// The mean of all values of a sequence so far, as SequencesTest has it of C++.
class CSequences : public ::testing::Test {
protected:
  CSequences() : artifact(meanOfAll(1)) {
    artifact.manifest["page"] = kPage;
    artifact.writeManifest();
    EXPECT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
              SHARDRT_OK);
    EXPECT_EQ(shardrt_pool_create(session, 48, &pool), SHARDRT_OK)
        << shardrt_last_error();
  }
  ~CSequences() override {
    shardrt_pool_destroy(pool);
    shardrt_close(session);
  }

  shardrt_sequence *add() {
    shardrt_sequence *made = nullptr;
    EXPECT_EQ(shardrt_sequence_create(pool, &made), SHARDRT_OK);
    return made;
  }

  struct RowOfC {
    shardrt_sequence *sequence;
    std::vector<float> values;
    int32_t wanted = SHARDRT_LAST;
  };
  shardrt_status step(const std::vector<RowOfC> &given) {
    std::vector<std::unique_ptr<RowValues>> values;
    std::vector<shardrt_row> rows;
    for (const RowOfC &row : given) {
      values.push_back(std::make_unique<RowValues>(
          shardrt_sequence_length(row.sequence), row.values));
      rows.push_back({row.sequence, values.back()->tensors, 2, row.wanted});
    }
    return shardrt_step(pool, rows.data(), rows.size());
  }
  /// Of the first head.
  std::vector<float> found() {
    shardrt_tensor y;
    EXPECT_EQ(shardrt_output(session, 0, &y), SHARDRT_OK)
        << shardrt_last_error();
    const float *data = static_cast<const float *>(y.data);
    return {data, data + y.dims[2]};
  }

  struct RowValues {
    std::vector<float> x;
    std::vector<uint8_t> m;
    int64_t dimsOfX[4], dimsOfM[2];
    shardrt_tensor tensors[2];

    RowValues(int64_t past, const std::vector<float> &values)
        : m(size_t(past) + values.size(), 1),
          dimsOfX{1, kHeads, int64_t(values.size()), 1},
          dimsOfM{1, int64_t(m.size())},
          tensors{{"x", SHARDRT_FLOAT32, 4, dimsOfX, nullptr},
                  {"m", SHARDRT_BOOL, 2, dimsOfM, m.data()}} {
      for (float sign : {1.f, -1.f})
        for (float value : values)
          x.push_back(sign * value);
      tensors[0].data = x.data();
    }
  };

  TestArtifact artifact;
  shardrt_session *session = nullptr;
  shardrt_pool *pool = nullptr;
};

TEST_F(CSequences, shareSteps) {
  EXPECT_EQ(shardrt_pool_page(pool), kPage);
  EXPECT_EQ(shardrt_pool_pages(pool), 12);
  shardrt_sequence *a = add(), *b = add(), *c = nullptr;
  ASSERT_EQ(step({{a, {1, 3, 5, 7, 9}, SHARDRT_ALL}, {b, {4}}}), SHARDRT_OK)
      << shardrt_last_error();
  EXPECT_EQ(found(), (std::vector<float>{1, 2, 3, 4, 5, 4}));
  EXPECT_EQ(shardrt_sequence_length(a), 5);
  EXPECT_EQ(shardrt_pool_free_pages(pool), 9);
  ASSERT_EQ(shardrt_sequence_fork(a, &c), SHARDRT_OK);
  ASSERT_EQ(shardrt_sequence_truncate(c, 1), SHARDRT_OK);
  ASSERT_EQ(step({{c, {3}}, {b, {8}, SHARDRT_NONE}, {a, {11}}}), SHARDRT_OK);
  EXPECT_EQ(found(), (std::vector<float>{2, 6}));
  for (shardrt_sequence *each : {a, b, c})
    shardrt_sequence_destroy(each);
  EXPECT_EQ(shardrt_pool_free_pages(pool), 12);
}

TEST_F(CSequences, areEmptyOnceTheSessionIsOpenedAgain) {
  shardrt_sequence *a = add();
  ASSERT_EQ(step({{a, {1, 3, 5, 7, 9}}}), SHARDRT_OK);
  EXPECT_EQ(shardrt_pool_is_lost(pool), 0);
  ASSERT_EQ(shardrt_reopen(session), SHARDRT_OK);
  EXPECT_EQ(shardrt_pool_is_lost(pool), 1);
  EXPECT_EQ(step({{a, {1}}}), SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(shardrt_pool_renew(pool), SHARDRT_OK) << shardrt_last_error();
  EXPECT_EQ(shardrt_pool_is_lost(pool), 0);
  EXPECT_EQ(shardrt_pool_free_pages(pool), 12);
  EXPECT_EQ(shardrt_sequence_length(a), 0);
  ASSERT_EQ(step({{a, {2, 4}, SHARDRT_ALL}}), SHARDRT_OK);
  EXPECT_EQ(found(), (std::vector<float>{2, 3}));
  shardrt_sequence_destroy(a);
}

TEST_F(CSequences, endWhereTheyAreCancelled) {
  shardrt_sequence *a = add();
  ASSERT_EQ(step({{a, {1, 3}}}), SHARDRT_OK);
  shardrt_cancellation *cancellation = nullptr;
  ASSERT_EQ(shardrt_cancellation_create(&cancellation), SHARDRT_OK);
  shardrt_cancel(cancellation);
  shardrt_run_options options = {};
  options.size = sizeof options;
  options.cancellation = cancellation;
  const RowValues values(2, {5});
  const shardrt_row row = {a, values.tensors, 2, SHARDRT_LAST};
  EXPECT_EQ(shardrt_step_with(pool, &options, &row, 1), SHARDRT_CANCELLED);
  EXPECT_EQ(shardrt_sequence_length(a), 2);
  options.cancellation = nullptr;
  options.deadline_ms = 60000;
  EXPECT_EQ(shardrt_step_with(pool, &options, &row, 1), SHARDRT_OK);
  EXPECT_EQ(found(), (std::vector<float>{3}));
  shardrt_result *result = nullptr;
  ASSERT_EQ(shardrt_result_create(session, &result), SHARDRT_OK);
  const RowValues next(3, {6});
  const shardrt_row later = {a, next.tensors, 2, SHARDRT_LAST};
  options.cancellation = cancellation;
  EXPECT_EQ(shardrt_step_into_with(pool, &options, &later, 1, result),
            SHARDRT_CANCELLED);
  options.cancellation = nullptr;
  EXPECT_EQ(shardrt_step_into_with(pool, &options, &later, 1, result),
            SHARDRT_OK)
      << shardrt_last_error();
  shardrt_result_destroy(result);
  EXPECT_EQ(shardrt_sequence_length(a), 4);
  shardrt_pool *other = nullptr;
  EXPECT_EQ(shardrt_pool_create_on(session, 8, 1, &other),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_pool_create_on(session, 8, -1, &other),
            SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(shardrt_pool_create_on(session, 8, 0, &other), SHARDRT_OK);
  shardrt_pool_destroy(other);
  options.deadline_ms = -1;
  EXPECT_EQ(shardrt_step_with(pool, &options, &row, 1),
            SHARDRT_INVALID_ARGUMENT);
  shardrt_cancellation_destroy(cancellation);
  shardrt_sequence_destroy(a);
}

TEST_F(CSequences, stepsIntoResults) {
  shardrt_sequence *a = add();
  shardrt_result *first = nullptr, *second = nullptr;
  ASSERT_EQ(shardrt_result_create(session, &first), SHARDRT_OK);
  ASSERT_EQ(shardrt_result_create(session, &second), SHARDRT_OK);
  auto stepInto = [&](float value, shardrt_result *result) {
    RowValues values(shardrt_sequence_length(a), {value});
    const shardrt_row row = {a, values.tensors, 2, SHARDRT_LAST};
    return shardrt_step_into(pool, &row, 1, result);
  };
  ASSERT_EQ(stepInto(2, first), SHARDRT_OK) << shardrt_last_error();
  ASSERT_EQ(stepInto(6, second), SHARDRT_OK) << shardrt_last_error();
  EXPECT_EQ(stepInto(6, nullptr), SHARDRT_INVALID_ARGUMENT);
  shardrt_tensor y;
  ASSERT_EQ(shardrt_result_output(first, 0, &y), SHARDRT_OK);
  EXPECT_EQ(*static_cast<const float *>(y.data), 2);
  ASSERT_EQ(shardrt_result_output(second, 0, &y), SHARDRT_OK);
  EXPECT_EQ(*static_cast<const float *>(y.data), 4);
  EXPECT_EQ(shardrt_result_output(second, 1, &y), SHARDRT_INVALID_ARGUMENT);
  shardrt_result_destroy(first);
  shardrt_result_destroy(second);
  shardrt_sequence_destroy(a);
}

TEST_F(CSequences, severalStepsAtOnce) {
  shardrt_sequence *a = add(), *b = add();
  shardrt_result *results[2];
  for (shardrt_result *&result : results)
    ASSERT_EQ(shardrt_result_create(session, &result), SHARDRT_OK);
  RowValues first(0, {2}), second(0, {6, 8});
  const shardrt_row rows[] = {{a, first.tensors, 2, SHARDRT_LAST},
                              {b, second.tensors, 2, SHARDRT_LAST}};
  shardrt_batch_step steps[] = {{&rows[0], 1, results[0]},
                                {&rows[1], 1, results[1]}};
  ASSERT_EQ(shardrt_step_batch(pool, nullptr, steps, 2), SHARDRT_OK)
      << shardrt_last_error();
  shardrt_tensor y;
  ASSERT_EQ(shardrt_result_output(results[0], 0, &y), SHARDRT_OK);
  EXPECT_EQ(*static_cast<const float *>(y.data), 2);
  ASSERT_EQ(shardrt_result_output(results[1], 0, &y), SHARDRT_OK);
  EXPECT_EQ(*static_cast<const float *>(y.data), 7);
  EXPECT_EQ(shardrt_sequence_length(b), 2);

  steps[1].rows = &rows[0]; // of one sequence
  EXPECT_EQ(shardrt_step_batch(pool, nullptr, steps, 2),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_sequence_length(a), 1) << "as before";
  steps[1].result = nullptr;
  EXPECT_EQ(shardrt_step_batch(pool, nullptr, steps, 2),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_step_batch(nullptr, nullptr, steps, 1),
            SHARDRT_INVALID_ARGUMENT);
  for (shardrt_result *result : results)
    shardrt_result_destroy(result);
  shardrt_sequence_destroy(a);
  shardrt_sequence_destroy(b);
}

TEST_F(CSequences, sayWhatIsWrong) {
  const auto fails = [](shardrt_status status, const char *why) {
    EXPECT_EQ(status, SHARDRT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(shardrt_last_error()).find(why), std::string::npos)
        << shardrt_last_error();
  };
  shardrt_sequence *a = add();
  fails(step({{a, {1}, 7}}), "row 0 has wanted 7, which is no shardrt_wanted");
  fails(step({{a, {1}}, {nullptr, {1}}}), "row 1 has no sequence");
  fails(step({{a, std::vector<float>(49, 1)}}), "too few in a pool of 12");
  fails(shardrt_step(pool, nullptr, 1), "rows must not be NULL");
  const shardrt_row none = {a, nullptr, 1, SHARDRT_LAST};
  fails(shardrt_step(pool, &none, 1), "inputs must not be NULL");
  fails(shardrt_sequence_truncate(a, 1), "");
  EXPECT_EQ(shardrt_sequence_length(a), 0);
  shardrt_tensor y;
  EXPECT_EQ(shardrt_output(session, 0, &y), SHARDRT_INVALID_ARGUMENT);
  ASSERT_EQ(step({{a, {2}}}), SHARDRT_OK);
  fails(shardrt_output(session, 1, &y), "the pool keeps output 1 'present'");
  shardrt_sequence_destroy(a);
  shardrt_pool *other = nullptr;
  fails(shardrt_pool_create(nullptr, 8, &other), "must not be NULL");
  fails(shardrt_pool_create(session, -1, &other), "expected 1 to");
  fails(shardrt_pool_create(session, INT64_MAX, &other),
        "a pool for 9223372036854775807 positions: expected 1 to");
  EXPECT_EQ(shardrt_sequence_length(nullptr), 0);
  EXPECT_EQ(shardrt_pool_free_pages(nullptr), 0);
  shardrt_pool_destroy(nullptr);
  shardrt_sequence_destroy(nullptr);
}

} // namespace
} // namespace shardc::runtime
