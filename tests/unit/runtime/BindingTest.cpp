//===- BindingTest.cpp - Runs read and write memory of their caller -------===//
#include "runtime/api/CBinding.h"
#include "runtime/api/shardrt.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace shardc::runtime {
namespace {

using namespace test;

/// z = x + x of [n, m, k], each rank computing the half of m that it has.
class Bindings : public ::testing::Test {
protected:
  Bindings() : artifact(program()) {
    EXPECT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &session),
              SHARDRT_OK)
        << shardrt_last_error();
    EXPECT_EQ(shardrt_result_create(session, &result), SHARDRT_OK);
  }
  ~Bindings() override {
    shardrt_result_destroy(result);
    shardrt_close(session);
  }

  static ProgramBuilder program() {
    ProgramBuilder p({{"tp", 2}});
    auto n = p.symbol("n", 0, 0), m = p.symbol("m", 0, 1),
         k = p.symbol("k", 0, 2), c = p.coordinate(0);
    auto rows = p.localSize(m, 2, c);
    auto x = p.input("x", Float32, {p.whole(n), p.split(m, 2, c), p.whole(k)});
    auto y = p.value(Float32, {n, rows, k});
    p.run("TestAdd", {int32_t(x), int32_t(x)}, {int32_t(y)});
    p.output("y", y, {p.whole(n), p.split(m, 2, c), p.whole(k)});
    return p;
  }

  shardrt_status run() {
    return shardrt_run_into(session, nullptr, nullptr, nullptr, 0, result);
  }
  /// What is wrong with it.
  std::string refuses(const shardrt_view &view, bool isOutput = true) {
    const shardrt_status status =
        isOutput ? shardrt_result_bind(result, &view)
                 : shardrt_result_bind_input(result, &view);
    EXPECT_EQ(status, SHARDRT_INVALID_ARGUMENT);
    return status == SHARDRT_OK ? "" : shardrt_last_error();
  }

  TestArtifact artifact;
  shardrt_session *session = nullptr;
  shardrt_result *result = nullptr;
};

void expectSays(const std::string &message, const std::string &part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// Memory with a view in it, of which each element has a place of its own, or
/// with strides of 0.
struct Strided {
  Strided(std::mt19937 &random, std::vector<int64_t> dims, bool mayRepeat)
      : dims(std::move(dims)), strides(this->dims.size()) {
    auto below = [&](int64_t n) {
      return std::uniform_int_distribution<int64_t>(0, n - 1)(random);
    };
    std::vector<size_t> order(strides.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    int64_t stride = 1 + below(2), first = 0;
    for (const size_t d : order) {
      if (mayRepeat && below(4) == 0)
        continue; // 0
      strides[d] = below(3) == 0 ? -stride : stride;
      if (strides[d] < 0)
        first += stride * (this->dims[d] - 1);
      stride = stride * this->dims[d] + below(3);
    }
    memory.resize(static_cast<size_t>(stride + 7), -77);
    offset = first + below(7);
  }

  float &at(int64_t i, int64_t j, int64_t k) {
    return memory[static_cast<size_t>(offset + i * strides[0] + j * strides[1] +
                                      k * strides[2])];
  }
  /// With the offset where DLPack has it, or in the address.
  shardrt_view view(const char *name, bool inBytes) {
    const auto skipped = static_cast<uint64_t>(offset);
    return {name,
            SHARDRT_FLOAT32,
            3,
            dims.data(),
            strides.data(),
            memory.data() + (inBytes ? 0 : skipped),
            inBytes ? skipped * sizeof(float) : 0,
            1,
            0};
  }
  template <typename Visit> void forEach(Visit visit) {
    for (int64_t i = 0; i < dims[0]; ++i)
      for (int64_t j = 0; j < dims[1]; ++j)
        for (int64_t k = 0; k < dims[2]; ++k)
          visit(i, j, k);
  }

  std::vector<int64_t> dims, strides;
  std::vector<float> memory;
  int64_t offset = 0;
};

TEST_F(Bindings, ofAnyStridesAreReadAndWritten) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    auto size = [&] { return int64_t(random() % 5); };
    const std::vector<int64_t> dims{size(), size(), size()};
    Strided x(random, dims, /*mayRepeat=*/true);
    Strided y(random, dims, /*mayRepeat=*/false);
    float next = 1;
    x.forEach([&](auto i, auto j, auto k) { x.at(i, j, k) = next++; });
    const shardrt_view in = x.view("x", round % 2 == 0);
    const shardrt_view out = y.view("y", round % 2 == 1);
    ASSERT_EQ(shardrt_result_bind_input(result, &in), SHARDRT_OK)
        << shardrt_last_error();
    ASSERT_EQ(shardrt_result_bind(result, &out), SHARDRT_OK)
        << shardrt_last_error();
    ASSERT_EQ(run(), SHARDRT_OK) << shardrt_last_error();
    shardrt_tensor dense;
    ASSERT_EQ(shardrt_result_output(result, 0, &dense), SHARDRT_OK);
    const auto *given = static_cast<const float *>(dense.data);
    size_t written = 0;
    y.forEach([&](auto i, auto j, auto k) {
      ASSERT_EQ(y.at(i, j, k), 2 * x.at(i, j, k)) << round;
      ASSERT_EQ(given[written++], y.at(i, j, k));
      y.at(i, j, k) = -77;
    });
    for (const float rest : y.memory)
      ASSERT_EQ(rest, -77) << "nothing else is written";
  }
}

TEST_F(Bindings, areUsedWhereTheyAre) {
  const int64_t dims[] = {2, 4, 3};
  alignas(4) float x[25], y[25] = {};
  std::iota(x, x + 25, 0.f);
  // Aligned to the elements, no more.
  const shardrt_view in = {"x", SHARDRT_FLOAT32, 3, dims, nullptr,
                           x,   sizeof(float),   0, 0};
  const int64_t strides[] = {12, 3, 1};
  const shardrt_view out = {"y", SHARDRT_FLOAT32, 3, dims, strides, y + 1, 0, 3,
                            0};
  ASSERT_EQ(shardrt_result_bind_input(result, &in), SHARDRT_OK);
  ASSERT_EQ(shardrt_result_bind(result, &out), SHARDRT_OK);
  for (int round = 0; round < 3; ++round) {
    x[24] = float(100 + round);
    ASSERT_EQ(run(), SHARDRT_OK) << shardrt_last_error();
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 2);
    EXPECT_EQ(y[24], float(200 + 2 * round));
    shardrt_tensor output;
    ASSERT_EQ(shardrt_result_output(result, 0, &output), SHARDRT_OK);
    EXPECT_EQ(output.data, y + 1) << "the caller's, no copy";
  }
  // Once nothing is bound memory is the result's, and that is left alone.
  ASSERT_EQ(shardrt_result_unbind(result), SHARDRT_OK);
  y[24] = 5;
  const shardrt_tensor given = {"x", SHARDRT_FLOAT32, 3, dims, x + 1};
  ASSERT_EQ(shardrt_run_into(session, nullptr, nullptr, &given, 1, result),
            SHARDRT_OK);
  shardrt_tensor output;
  ASSERT_EQ(shardrt_result_output(result, 0, &output), SHARDRT_OK);
  EXPECT_EQ(y[24], 5);
  EXPECT_EQ(static_cast<const float *>(output.data)[23], 204);

  // What runs get of an input: where it is, or a dense copy.
  const SessionPorts ports{
      {{"x", ElementType_Float32, {"n", "m", "k"}}}, {}, {}};
  std::vector<Binding> bindings(1);
  std::vector<InputTensor> inputs;
  ASSERT_TRUE(readView("f", &in, ports, false, bindings[0]).isOk());
  ASSERT_TRUE(readBound(ports, bindings, inputs).isOk());
  EXPECT_EQ(inputs[0].data, x + 1);
}

TEST_F(Bindings, sayWhatDoesNotFit) {
  const int64_t dims[] = {2, 4, 3}, overlapping[] = {12, 2, 1},
                repeated[] = {12, 0, 1}, huge[] = {INT64_MAX, 3, 1},
                negative[] = {2, -4, 3}, other[] = {2, 4, 4};
  std::vector<float> memory(64, 3);
  const shardrt_view good = {
      "y", SHARDRT_FLOAT32, 3, dims, nullptr, memory.data(), 0, 1, 0};
  auto with = [&](auto change) {
    shardrt_view view = good;
    change(view);
    return view;
  };
  expectSays(refuses(with([](auto &v) { v.name = "z"; })), "no output 'z'");
  expectSays(refuses(with([](auto &v) { v.name = nullptr; })), "NULL");
  expectSays(refuses(with([](auto &v) { v.type = SHARDRT_INT64; })),
             "output 'y' is int64, expected float32");
  expectSays(refuses(with([](auto &v) { v.type = 99; })), "no shardrt_type");
  expectSays(refuses(with([](auto &v) { v.rank = 2; })),
             "has 2 dims, expected float32 [");
  expectSays(refuses(with([](auto &v) { v.rank = -1; })), "rank -1");
  expectSays(refuses(with([](auto &v) { v.dims = nullptr; })), "rank 3");
  expectSays(refuses(with([&](auto &v) { v.dims = negative; })),
             "impossible shape [2, -4, 3]");
  expectSays(refuses(with([](auto &v) { v.data = nullptr; })), "no data");
  expectSays(refuses(with([](auto &v) { v.byte_offset = 2; })),
             "no multiple of its 4 bytes");
  expectSays(refuses(with([](auto &v) { v.device_type = 2; })),
             "is on device (2, 0), expected memory of the host");
  expectSays(refuses(with([&](auto &v) { v.strides = overlapping; })),
             "may lie upon each other");
  expectSays(refuses(with([&](auto &v) { v.strides = repeated; })),
             "may lie upon each other");
  expectSays(refuses(with([&](auto &v) { v.strides = huge; })),
             "that no memory has");
  expectSays(refuses(with([](auto &v) { v.name = "y"; }), /*isOutput=*/false),
             "no input 'y'");
  EXPECT_EQ(shardrt_result_bind(nullptr, &good), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_result_bind(result, nullptr), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_result_unbind(nullptr), SHARDRT_INVALID_ARGUMENT);

  // Dims are what the request makes them: found before anything has run.
  const shardrt_view wrong = with([&](auto &v) { v.dims = other; });
  ASSERT_EQ(shardrt_result_bind(result, &wrong), SHARDRT_OK);
  const std::vector<float> values(24, 1);
  const shardrt_tensor x = {"x", SHARDRT_FLOAT32, 3, dims, values.data()};
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, &x, 1, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(), "output 'y': it is float32 [2, 4, 3], but "
                                   "bound to memory for float32 [2, 4, 4]");
  EXPECT_EQ(memory[0], 3);
  ASSERT_EQ(shardrt_result_bind(result, &good), SHARDRT_OK)
      << "in place of the other";
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, &x, 1, result),
            SHARDRT_OK)
      << shardrt_last_error();
  EXPECT_EQ(memory[23], 2);
  EXPECT_EQ(memory[24], 3);
  ASSERT_EQ(shardrt_result_bind_input(result,
                                      [&] {
                                        static shardrt_view in;
                                        in =
                                            with([](auto &v) { v.name = "x"; });
                                        return &in;
                                      }()),
            SHARDRT_OK);
  EXPECT_EQ(shardrt_run_into(session, nullptr, nullptr, &x, 1, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(), "given twice");
}

/// By where ranks are; DeviceBindingTest.cpp runs on such memory.
TEST(DeviceBinding, isOfDevicesThatRanksUse) {
  const int64_t dims[] = {2};
  float any[2];
  const shardrt_view view = {"x", SHARDRT_FLOAT32, 1, dims, nullptr, any, 0, 13,
                             1};
  auto read = [&](MemoryDevices devices, Binding &binding) {
    const SessionPorts ports{
        {{"x", ElementType_Float32, {"n"}}}, {}, std::move(devices)};
    return readView("f", &view, ports, /*isWritten=*/false, binding);
  };
  Binding binding;
  ASSERT_TRUE(read({"cuda", {0, 1}, 2}, binding).isOk());
  ASSERT_TRUE(binding.onDevice);
  EXPECT_EQ(binding.onDevice->device, 1);
  expectSays(read({"cuda", {}, 0}, binding).message(),
             "f: input 'x' is on device (13, 1), expected memory of the host, "
             "over which processes pass on inputs and outputs");
  expectSays(read({"cuda", {0}, 1}, binding).message(),
             "of the host or of cuda:0, where the ranks are; copy it there");
}

/// What is bound has numbers of one session's inputs and outputs.
TEST_F(Bindings, areOfTheirSessionAlone) {
  shardrt_session *other = nullptr;
  ASSERT_EQ(shardrt_open(artifact.path().c_str(), nullptr, &other), SHARDRT_OK);
  const int64_t dims[] = {2, 4, 3};
  std::vector<float> memory(24, 1);
  const shardrt_view in = {
      "x", SHARDRT_FLOAT32, 3, dims, nullptr, memory.data(), 0, 1, 0};
  ASSERT_EQ(shardrt_result_bind_input(result, &in), SHARDRT_OK);
  EXPECT_EQ(shardrt_run_into(other, nullptr, nullptr, nullptr, 0, result),
            SHARDRT_INVALID_ARGUMENT);
  expectSays(shardrt_last_error(), "bound for another session");
  EXPECT_EQ(run(), SHARDRT_OK) << shardrt_last_error();
  ASSERT_EQ(shardrt_result_unbind(result), SHARDRT_OK);
  const shardrt_tensor x = {"x", SHARDRT_FLOAT32, 3, dims, memory.data()};
  EXPECT_EQ(shardrt_run_into(other, nullptr, nullptr, &x, 1, result),
            SHARDRT_OK)
      << shardrt_last_error();
  shardrt_close(other);
}

} // namespace
} // namespace shardc::runtime
