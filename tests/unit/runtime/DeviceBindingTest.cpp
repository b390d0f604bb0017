//===- DeviceBindingTest.cpp - Runs on memory that callers have on GPUs ---===//
#include "tests/unit/runtime/RowPrograms.h"
#include "tests/unit/runtime/SessionFixture.h"
#include "tests/unit/runtime/SimulatedGpus.h"

#include "runtime/api/CSession.h"

#include <cstdlib>
#include <numeric>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using namespace test;

/// In how kernels say that their data are wrong (CudaStream.h).
constexpr int64_t kFaultWord = 4;

std::vector<float> counted(size_t count, float first = 1) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class DeviceBindings : public testing::Test {
protected:
  void SetUp() override {
    const std::string simulated = SHARDC_TEST_BACKENDS "/../simulated";
    if (!gpus.open(simulated + "/libshardrt_cuda.so"))
      GTEST_SKIP() << "the CUDA plugin was left out of the build: "
                   << dlerror();
    setenv("SHARDC_BACKENDS", simulated.c_str(), 1);
  }
  void TearDown() override {
    shardrt_result_destroy(result);
    shardrt_close(session);
  }

  /// z = (x + x) + x of [n, m], by two kernels of the device. `part`: of both
  /// dims of the input, and of the output.
  using Part = std::vector<Layout> (*)(ProgramBuilder &p, uint32_t n,
                                       uint32_t m);
  static std::vector<Layout> all(ProgramBuilder &p, uint32_t n, uint32_t m) {
    return {p.whole(n), p.whole(m)};
  }
  static std::vector<Layout> rows(ProgramBuilder &p, uint32_t n, uint32_t m) {
    return {p.split(n, 2, p.coordinate(0)), p.whole(m)};
  }
  static std::vector<Layout> columns(ProgramBuilder &p, uint32_t n,
                                     uint32_t m) {
    return {p.whole(n), p.split(m, 2, p.coordinate(0))};
  }
  static ProgramBuilder program(int64_t tp, Part part) {
    ProgramBuilder p({{"tp", tp}});
    auto n = p.symbol("n", 0, 0), m = p.symbol("m", 0, 1);
    auto x = p.input("x", Float32, part(p, n, m));
    auto own = [&](uint32_t size, bool isSplit) {
      return isSplit ? p.localSize(size, 2, p.coordinate(0)) : size;
    };
    const std::vector<uint32_t> dims = {own(n, part == rows),
                                        own(m, part == columns)};
    auto y = p.value(Float32, dims), z = p.value(Float32, dims);
    p.run("Add", {int32_t(x), int32_t(x)}, {int32_t(y)});
    p.run("Add", {int32_t(y), int32_t(x)}, {int32_t(z)});
    p.output("z", z, part(p, n, m));
    return p;
  }
  static std::vector<float> expected(const std::vector<float> &x) {
    std::vector<float> z;
    for (const float value : x)
      z.push_back(3 * value);
    return z;
  }

  void open(const TestArtifact &artifact, const char *device = "cuda") {
    shardrt_options options = {};
    options.size = sizeof options;
    options.device = device;
    ASSERT_EQ(shardrt_open(artifact.path().c_str(), &options, &session),
              SHARDRT_OK)
        << shardrt_last_error();
    ASSERT_EQ(shardrt_result_create(session, &result), SHARDRT_OK);
    (void)gpus.takeCopies();
  }
  void bind(const shardrt_view &in, const shardrt_view &out) {
    ASSERT_EQ(shardrt_result_bind_input(result, &in), SHARDRT_OK)
        << shardrt_last_error();
    ASSERT_EQ(shardrt_result_bind(result, &out), SHARDRT_OK)
        << shardrt_last_error();
  }
  void run() {
    ASSERT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result),
              SHARDRT_OK)
        << shardrt_last_error();
  }
  std::string refuses(const shardrt_view &view, bool isOutput = true) {
    const shardrt_status status =
        isOutput ? shardrt_result_bind(result, &view)
                 : shardrt_result_bind_input(result, &view);
    EXPECT_EQ(status, SHARDRT_INVALID_ARGUMENT);
    return status == SHARDRT_OK ? "" : shardrt_last_error();
  }
  static void expectSays(const std::string &message, const std::string &part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  LaunchStats launches() const { return session->session->launchStats(); }

  SimulatedGpus gpus;
  shardrt_session *session = nullptr;
  shardrt_result *result = nullptr;
};

TEST_F(DeviceBindings, denseOnesOfOneRankDoNotTouchTheHost) {
  const TestArtifact artifact(program(1, all));
  open(artifact);
  const std::vector<int64_t> dims = {8, 64};
  constexpr int64_t kBytes = 8 * 64 * sizeof(float);
  const GpuFloats x(gpus, 0, 8 * 64), z(gpus, 0, 8 * 64);
  bind(x.view("x", dims), z.view("z", dims));
  for (int round = 0; round < 5; ++round) {
    const std::vector<float> values = counted(8 * 64, float(round));
    x.write(values);
    run();
    EXPECT_EQ(z.read(), expected(values)) << round;
    const SimulatedCopies copies = gpus.takeCopies();
    EXPECT_EQ(copies.toDevice, 0) << round;
    EXPECT_LE(copies.toHost, kFaultWord) << round;
    EXPECT_EQ(copies.across, kBytes) << "the output alone";
  }
  EXPECT_EQ(launches().captured, 1);
  EXPECT_EQ(launches().replayed, 3);
  // Not aligned as the rank's memory is: kernels, and so bits, would be others.
  const GpuFloats more(gpus, 0, 8 * 64 + 1);
  more.write(counted(8 * 64 + 1));
  bind(more.view("x", dims, nullptr, 1), z.view("z", dims));
  run();
  EXPECT_EQ(z.read(), expected(counted(8 * 64, 2)));
  EXPECT_EQ(gpus.takeCopies().across, 2 * kBytes);
  // What the host has goes through it: the counts say so.
  const std::vector<float> values = counted(8 * 64);
  ASSERT_EQ(shardrt_result_unbind(result), SHARDRT_OK);
  const shardrt_tensor given = {"x", SHARDRT_FLOAT32, 2, dims.data(),
                                values.data()};
  ASSERT_EQ(shardrt_run_into(session, nullptr, nullptr, &given, 1, result),
            SHARDRT_OK)
      << shardrt_last_error();
  const SimulatedCopies copies = gpus.takeCopies();
  EXPECT_EQ(copies.toDevice, kBytes);
  EXPECT_GE(copies.toHost, kBytes);
}

/// Never what was captured with the addresses of another run.
TEST_F(DeviceBindings, whatWasCapturedFollowsThePointers) {
  const TestArtifact artifact(program(1, all));
  open(artifact);
  const std::vector<int64_t> dims = {4, 16};
  const GpuFloats x(gpus, 0, 64), other(gpus, 0, 64), z(gpus, 0, 64),
      apart(gpus, 0, 64);
  std::vector<float> host(64);
  float next = 1;
  // a and b: inputs of their own; h: of the host.
  for (const char which : std::string("aaaabbbabahhahbbbaaaa")) {
    const std::vector<float> values = counted(64, next);
    next += 64;
    x.write(which == 'a' ? values : std::vector<float>(64, -1));
    other.write(which == 'b' ? values : std::vector<float>(64, -2));
    const GpuFloats &to = which == 'a' ? z : apart;
    ASSERT_EQ(shardrt_result_unbind(result), SHARDRT_OK);
    const shardrt_view out = to.view("z", dims);
    ASSERT_EQ(shardrt_result_bind(result, &out), SHARDRT_OK);
    const shardrt_view in =
        which == 'h' ? shardrt_view{"x",     SHARDRT_FLOAT32, 2, dims.data(),
                                    nullptr, host.data(),     0, 1,
                                    0}
                     : (which == 'a' ? x : other).view("x", dims);
    host = values;
    ASSERT_EQ(shardrt_result_bind_input(result, &in), SHARDRT_OK);
    run();
    ASSERT_EQ(to.read(), expected(values)) << which;
    to.write(std::vector<float>(64, -3));
  }
  EXPECT_GT(launches().updated, 0);
  EXPECT_GT(launches().replayed, 0);
}

/// z = the sum of x of all ranks, plus x. Where one rank reads x in place and the
/// other has a copy both come to the same decision: the collective is captured.
ProgramBuilder summed() {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}), z = p.value(Float32, {n});
  p.run("all_reduce", {int32_t(x)}, {int32_t(y)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}));
  p.run("Add", {int32_t(y), int32_t(x)}, {int32_t(z)});
  p.output("z", z, {p.whole(n)});
  return p;
}

TEST_F(DeviceBindings, ofCollectivesThatWereCapturedFollowThePointers) {
  const TestArtifact artifact(summed());
  for (const char *device : {"cuda", "cuda:0"}) {
    open(artifact, device);
    const std::vector<int64_t> dims = {64};
    const GpuFloats x(gpus, 0, 64), other(gpus, 1, 64), third(gpus, 0, 64),
        z(gpus, 0, 64);
    float next = 1;
    for (const char which : std::string("aaaabbbacccabcaaaabbcc")) {
      for (const GpuFloats *each : {&x, &other, &third})
        each->write(std::vector<float>(64, -1));
      const GpuFloats &in = which == 'a' ? x : which == 'b' ? other : third;
      const std::vector<float> values = counted(64, next++);
      in.write(values);
      bind(in.view("x", dims), z.view("z", dims));
      run();
      ASSERT_EQ(z.read(), expected(values)) << device << " " << which;
    }
    shardrt_result_destroy(std::exchange(result, nullptr));
    shardrt_close(std::exchange(session, nullptr));
  }
}

TEST_F(DeviceBindings, ofAnyStridesAreReadAndWritten) {
  const TestArtifact artifact(program(1, all));
  open(artifact);
  const std::vector<int64_t> dims = {3, 5};
  struct {
    int64_t strides[2], first;
  } const cases[] = {{{5, 1}, 0},  {{5, 1}, 3},   {{7, 1}, 1},   {{1, 3}, 0},
                     {{10, 2}, 0}, {{-5, 1}, 10}, {{1, -4}, 20}, {{5, -1}, 4}};
  float next = 1;
  for (const auto &in : cases)
    for (const auto &out : cases) {
      const GpuFloats x(gpus, 0, 32), z(gpus, 0, 32);
      const std::vector<float> values = counted(32, next);
      next += 1;
      x.write(values);
      bind(x.view("x", dims, in.strides, in.first),
           z.view("z", dims, out.strides, out.first));
      run();
      std::vector<float> wanted(32, -77);
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 5; ++j)
          wanted[size_t(out.first + i * out.strides[0] + j * out.strides[1])] =
              3 *
              values[size_t(in.first + i * in.strides[0] + j * in.strides[1])];
      ASSERT_EQ(z.read(), wanted) << "nothing else is written";
    }
  // One element for all.
  const int64_t repeated[] = {0, 0};
  const GpuFloats x(gpus, 0, 1, 7), z(gpus, 0, 15);
  bind(x.view("x", dims, repeated), z.view("z", dims));
  run();
  EXPECT_EQ(z.read(), std::vector<float>(15, 21));
  const SimulatedCopies copies = gpus.takeCopies();
  EXPECT_EQ(copies.toDevice, 0);
}

/// x and z are on some device, each rank on one of its own, or all on one.
TEST_F(DeviceBindings, partsGoFromDeviceToDevice) {
  const std::vector<int64_t> dims = {6, 8};
  const int64_t strides[] = {9, 1}, turned[] = {1, 7};
  float next = 1;
  for (const Part part : {all, rows, columns})
    for (const char *device : {"cuda", "cuda:0"}) {
      const TestArtifact artifact(program(2, part));
      open(artifact, device);
      for (const int64_t *of : {(const int64_t *)nullptr, strides, turned})
        for (int at = 0; at < (device[4] ? 1 : 3); ++at) {
          const int64_t pitch[] = {of ? of[0] : 8, of ? of[1] : 1};
          const GpuFloats x(gpus, at, 64), z(gpus, at, 64);
          bind(x.view("x", dims, of), z.view("z", dims, of));
          for (int round = 0; round < 3; ++round) {
            const std::vector<float> values = counted(64, next++);
            x.write(values);
            (void)gpus.takeCopies();
            run();
            std::vector<float> wanted(64, -77);
            for (int64_t i = 0; i < 6; ++i)
              for (int64_t j = 0; j < 8; ++j) {
                const auto place = size_t(i * pitch[0] + j * pitch[1]);
                wanted[place] = 3 * values[place];
              }
            ASSERT_EQ(z.read(), wanted) << device << " at " << at;
            const SimulatedCopies copies = gpus.takeCopies();
            EXPECT_EQ(copies.toDevice, 0);
            EXPECT_LE(copies.toHost, 2 * kFaultWord);
          }
        }
      shardrt_result_destroy(std::exchange(result, nullptr));
      shardrt_close(std::exchange(session, nullptr));
    }
}

/// What a framework has enqueued on its default stream, for both.
TEST_F(DeviceBindings, waitForTheDefaultStream) {
  const TestArtifact artifact(program(2, all));
  open(artifact);
  const std::vector<int64_t> dims = {4, 16};
  const GpuFloats x(gpus, 0, 64), z(gpus, 1, 64);
  bind(x.view("x", dims), z.view("z", dims));
  for (int round = 0; round < 4; ++round) {
    const std::vector<float> values = counted(64, float(100 * round));
    x.write(std::vector<float>(64, -1));
    x.writeLater(values);
    z.writeLater(std::vector<float>(64, -5));
    run();
    EXPECT_EQ(z.read(), expected(values)) << round;
  }
}

TEST_F(DeviceBindings, sayWhatDoesNotFit) {
  const TestArtifact artifact(program(2, rows));
  setenv("SHARDC_SIMULATED_FABRIC", "4", 1);
  open(artifact);
  const std::vector<int64_t> dims = {4, 16};
  const GpuFloats x(gpus, 0, 64);
  const shardrt_view good = x.view("z", dims);
  auto with = [&](auto change) {
    shardrt_view view = good;
    change(view);
    return view;
  };
  expectSays(refuses(with([](auto &v) { v.device_id = 4; })),
             "shardrt_result_bind: output 'z' is on device (2, 4), expected "
             "memory of the host or of cuda:0, cuda:1, where the ranks are, or "
             "which they reach: cuda:2, cuda:3; copy it there");
  expectSays(refuses(with([](auto &v) { v.device_id = -1; })),
             "is on device (2, -1)");
  expectSays(refuses(with([](auto &v) { v.device_type = 10; })),
             "is on device (10, 0), of which the runtime knows nothing");
  expectSays(refuses(with([](auto &v) { v.byte_offset = 2; })),
             "no multiple of its 4 bytes");
  const int64_t overlapping[] = {8, 1};
  expectSays(refuses(with([&](auto &v) { v.strides = overlapping; })),
             "may lie upon each other");
  expectSays(refuses(with([](auto &v) {
                       v.name = "x";
                       v.device_id = 7;
                     }),
                     /*isOutput=*/false),
             "shardrt_result_bind_input: input 'x' is on device (2, 7)");
  unsetenv("SHARDC_SIMULATED_FABRIC");

  // The output is nowhere that the host could read it.
  const GpuFloats z(gpus, 3, 64);
  bind(x.view("x", dims), z.view("z", dims));
  x.write(counted(64));
  run();
  EXPECT_EQ(z.read(), expected(counted(64)));
  shardrt_tensor output;
  EXPECT_EQ(shardrt_result_output(result, 0, &output),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(), "output 0 'z' is in memory of cuda:3");
  // Neither is memory where its caller says.
  shardrt_view there = x.view("x", dims);
  there.device_id = 1;
  ASSERT_EQ(shardrt_result_bind_input(result, &there), SHARDRT_OK);
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(), "input 'x': its address is in memory of "
                                   "cuda:0, expected cuda:1, as it was bound");
  std::vector<float> ofHost(64);
  shardrt_view onHost = x.view("z", dims);
  onHost.data = ofHost.data();
  bind(x.view("x", dims), onHost);
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(),
             "output 'z': its address is in memory of the host, expected "
             "cuda:0");
  // Dims are those of the request.
  const std::vector<int64_t> wrong = {4, 8};
  bind(x.view("x", dims), x.view("z", wrong));
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(), "bound to memory for float32 [4, 8]");
  EXPECT_EQ(x.read(), counted(64));
}

/// Parts of a batch read their rows where they are; outputs on a device are of
/// the batch as a whole, since the host would put parts together.
TEST_F(DeviceBindings, ofBatchesThatAreCut) {
  TestArtifact artifact(program(1, all));
  artifact.manifest["micro_batches"] = 2;
  artifact.manifest["batch_inputs"] = {0};
  artifact.writeManifest();
  open(artifact);
  const std::vector<int64_t> dims = {5, 16};
  const int64_t apart[] = {17, 1};
  const GpuFloats x(gpus, 0, 96), z(gpus, 0, 96);
  x.write(counted(96));
  for (const int64_t *strides : {(const int64_t *)nullptr, apart}) {
    std::vector<float> wanted;
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 16; ++j)
        wanted.push_back(3 * float(1 + i * (strides ? 17 : 16) + j));
    const shardrt_view in = x.view("x", dims, strides);
    ASSERT_EQ(shardrt_result_unbind(result), SHARDRT_OK);
    ASSERT_EQ(shardrt_result_bind_input(result, &in), SHARDRT_OK);
    run();
    shardrt_tensor output;
    ASSERT_EQ(shardrt_result_output(result, 0, &output), SHARDRT_OK);
    const auto *data = static_cast<const float *>(output.data);
    EXPECT_EQ(std::vector<float>(data, data + 80), wanted);
    bind(in, z.view("z", dims));
    run();
    const std::vector<float> found = z.read();
    EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + 80), wanted);
  }
}

TEST_F(DeviceBindings, ofRequestsThatRunTogether) {
  const TestArtifact artifact(program(2, rows));
  open(artifact);
  const std::vector<int64_t> dims = {4, 16};
  shardrt_result *other = nullptr;
  ASSERT_EQ(shardrt_result_create(session, &other), SHARDRT_OK);
  const GpuFloats x(gpus, 0, 64), y(gpus, 1, 64), z(gpus, 1, 64),
      w(gpus, 0, 64);
  x.write(counted(64));
  y.write(counted(64, 500));
  bind(x.view("x", dims), z.view("z", dims));
  std::swap(result, other);
  bind(y.view("x", dims), w.view("z", dims));
  for (int round = 0; round < 3; ++round) {
    const shardrt_batch_request requests[] = {{nullptr, 0, result},
                                              {nullptr, 0, other}};
    ASSERT_EQ(shardrt_run_batch(session, nullptr, requests, 2), SHARDRT_OK)
        << shardrt_last_error();
    EXPECT_EQ(z.read(), expected(counted(64)));
    EXPECT_EQ(w.read(), expected(counted(64, 500)));
  }
  w.write(std::vector<float>(64));
  shardrt_request *request = nullptr;
  ASSERT_EQ(shardrt_submit(session, nullptr, nullptr, nullptr, 0, result,
                           shardrt_on_end{}, &request),
            SHARDRT_OK)
      << shardrt_last_error();
  EXPECT_EQ(shardrt_request_wait(request), SHARDRT_OK);
  EXPECT_EQ(w.read(), expected(counted(64, 500)));
  shardrt_request_destroy(request);
  shardrt_result_destroy(other);
}

/// Outputs of a step of rows, whose inputs are the host's.
TEST_F(DeviceBindings, ofStepsOfRows) {
  TestArtifact artifact(meanOfAll(2));
  artifact.manifest["page"] = kPage;
  artifact.writeManifest();
  open(artifact);
  shardrt_pool *pool = nullptr;
  shardrt_sequence *sequence = nullptr;
  ASSERT_EQ(shardrt_pool_create(session, 48, &pool), SHARDRT_OK)
      << shardrt_last_error();
  ASSERT_EQ(shardrt_sequence_create(pool, &sequence), SHARDRT_OK);
  const std::vector<int64_t> dims = {1, kHeads, 1, 1};
  const GpuFloats y(gpus, 1, 16);
  const int64_t apart[] = {16, 9, 1, 1};
  const shardrt_view out = y.view("y", dims, apart, 2);
  ASSERT_EQ(shardrt_result_bind(result, &out), SHARDRT_OK)
      << shardrt_last_error();
  float sum = 0;
  for (int64_t length = 1; length < 5; ++length) {
    const float x[] = {float(length * length), float(-length * length)};
    sum += x[0];
    const uint8_t mask[] = {1, 1, 1, 1, 1};
    const int64_t ofMask[] = {1, length};
    const shardrt_tensor inputs[] = {{"x", SHARDRT_FLOAT32, 4, dims.data(), x},
                                     {"m", SHARDRT_BOOL, 2, ofMask, mask}};
    const shardrt_row row = {sequence, inputs, 2, SHARDRT_LAST};
    ASSERT_EQ(shardrt_step_into(pool, &row, 1, result), SHARDRT_OK)
        << shardrt_last_error();
    const std::vector<float> found = y.read();
    EXPECT_NEAR(found[2], sum / float(length), 1e-5);
    EXPECT_NEAR(found[11], -sum / float(length), 1e-5);
    EXPECT_EQ(found[3], -77);
  }
  shardrt_sequence_destroy(sequence);
  shardrt_pool_destroy(pool);
}

/// y = x + x where `decides`, else x + x + x.
ProgramBuilder decided(bool decides) {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("n", 1, 0);
  p.input("decides", artifact::ElementType_Bool, {});
  auto x = p.input("x", Float32, {p.whole(n)});
  auto y = p.value(Float32, {n}), z = p.value(Float32, {n});
  p.run("Add", {int32_t(x), int32_t(x)}, {int32_t(y)});
  p.run("Add", {int32_t(y), int32_t(decides ? x : y)}, {int32_t(z)});
  p.output("z", z, {p.whole(n)});
  p.condition(0, decides);
  return p;
}

TEST_F(DeviceBindings, whatDecidesOnProgramsIsTheHosts) {
  TestArtifact artifact(decided(true));
  artifact.addProgram(decided(false));
  open(artifact);
  const std::vector<int64_t> dims = {16};
  const GpuFloats x(gpus, 0, 16), z(gpus, 0, 16), flag(gpus, 0, 1, 1);
  x.write(counted(16));
  bind(x.view("x", dims), z.view("z", dims));
  for (const bool decides : {true, false}) {
    const uint8_t value = decides;
    const shardrt_tensor given = {"decides", SHARDRT_BOOL, 0, nullptr, &value};
    ASSERT_EQ(shardrt_run_into(session, nullptr, nullptr, &given, 1, result),
              SHARDRT_OK)
        << shardrt_last_error();
    EXPECT_EQ(z.read()[15], decides ? 48 : 64);
  }
  shardrt_view view = flag.view("decides", {});
  view.type = SHARDRT_BOOL;
  ASSERT_EQ(shardrt_result_bind_input(result, &view), SHARDRT_OK);
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(),
             "input 'decides' decides on which program runs");
}

TEST_F(DeviceBindings, ofRanksOnTheHostAreRefused) {
  const TestArtifact artifact(program(1, all));
  open(artifact, "host");
  const std::vector<int64_t> dims = {4, 16};
  const GpuFloats x(gpus, 1, 64);
  for (const int32_t type : {2, 13}) {
    shardrt_view view = x.view("x", dims);
    view.device_type = type;
    expectSays(refuses(view, /*isOutput=*/false),
               "input 'x' is on device (" + std::to_string(type) +
                   ", 1), expected memory of the host, where the ranks are: "
                   "copy it there, or open the session with device "
                   "\"cuda:1\"");
  }
}

} // namespace
} // namespace shardc::runtime
