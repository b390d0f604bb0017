//===- PluginRefusalsTest.cpp - What drivers and libraries refuse ---------===//
//
// Pages, products and graphs of the plugin where CUDA does less than it says.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Plugin.h"
#include "runtime/device/cuda/CudaPages.h"
#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/graph/CapturedLaunches.h"
#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedProduct.h"

extern "C" const shardc::runtime::PluginDescription *shardrtPlugin();

namespace shardc::testing {
namespace {

using namespace runtime;

class Setting {
public:
  Setting(const char *name, const char *value) : name(name) {
    setenv(name, value, 1);
  }
  ~Setting() { unsetenv(name); }

private:
  const char *const name;
};

//===--- Pages ------------------------------------------------------------===//

/// What maps pages there, and whether 3 MiB of them can be had.
void expectPages(const char *refused, size_t peers, bool hasHandles) {
  const Setting setting("SHARDC_SIMULATED_REFUSES", refused);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const CudaPaging paging = findCudaPaging(0);
  ASSERT_GT(paging.pageBytes, 0) << refused;
  EXPECT_EQ(paging.access.size(), peers) << refused;
  EXPECT_EQ(paging.page.requestedHandleTypes != 0, hasHandles) << refused;
  const auto memory = reserveCudaPages(paging, 8 << 20);
  ASSERT_TRUE(memory) << refused;
  EXPECT_TRUE(memory->commit(3 << 20)) << refused;
}

TEST(CudaPages, areTakenAsTheDriverGivesThem) {
  expectPages("", 8, true);
  expectPages("handles", 8, false);
  expectPages("peers", 1, false);
  expectPages("handles,peers", 1, false);
}

TEST(CudaPages, areLeftToCudaMallocWhereThereAreNone) {
  const Setting setting("SHARDC_SIMULATED_REFUSES", "pages");
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(findCudaPaging(0).pageBytes, 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "cuda:0 maps no pages (cuMemCreate: error 800)"),
            std::string::npos);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before, after);
}

//===--- Products ---------------------------------------------------------===//

class CudaStreams : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(shardrtPlugin()->backend->open(0, device).isOk());
    ASSERT_TRUE(device->createStream(made).isOk());
    stream = static_cast<CudaStream *>(made.get());
  }
  Status product(int64_t rows) {
    return runOn(*device, *stream, "MatMul",
                 {numbers<float>({rows, 8}, 1), numbers<float>({8, 4}, 2)},
                 {Tensor::filled<float>({rows, 4}, 0.f)});
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceStream> made;
  CudaStream *stream = nullptr;
};

TEST_F(CudaStreams, heuristicsAreAskedOnceWhereTheyRefuse) {
  const Setting setting("SHARDC_SIMULATED_EPILOGUES", "0");
  const int before = simulatedHeuristicsAsked();
  ASSERT_TRUE(runOn(*device, *stream, "Linear",
                    {numbers<float>({3, 8}, 1), numbers<float>({8, 4}, 2),
                     numbers<float>({4}, 3).broadcast({3, 4})},
                    {Tensor::filled<float>({3, 4}, 0.f)}, {}, /*times=*/4)
                  .isOk());
  EXPECT_EQ(simulatedHeuristicsAsked() - before, 2)
      << "with a bias, and without";
}

/// The simulation refuses them to a thread that captures.
TEST_F(CudaStreams, heuristicsAreAskedBesideACapture) {
  void *memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  auto *at = static_cast<std::byte *>(memory);
  const auto view = [&](int64_t rows, int64_t columns, int place) {
    TensorView v;
    v.data = at + place * 1024;
    v.element = artifact::ElementType_Float32;
    v.rank = 2;
    v.dims[0] = rows, v.dims[1] = columns;
    v.strides[0] = columns, v.strides[1] = 1;
    return v;
  };
  const auto multiply = [&](int64_t rows) {
    const TensorView a = view(rows, 8, 0), b = view(8, 4, 1),
                     c = view(rows, 4, 2);
    return stream->gemms().multiply(planProduct(a, b, c),
                                    {a.element, b.element, c.element}, a.data,
                                    b.data, c.data, 1, 0, {}, stream->stream());
  };
  ASSERT_TRUE(multiply(5).isOk());
  const int before = simulatedHeuristicsAsked();
  ASSERT_TRUE(stream->beginCapture().isOk());
  EXPECT_TRUE(multiply(5).isOk());
  const Status unknown = multiply(7);
  EXPECT_TRUE(unknown.isOk()) << unknown.message();
  std::unique_ptr<DeviceGraph> graph;
  EXPECT_TRUE(stream->endCapture(graph).isOk());
  EXPECT_EQ(simulatedHeuristicsAsked() - before, 1);
  {
    const Setting setting("SHARDC_SIMULATED_HEURISTICS", "0");
    ASSERT_TRUE(stream->beginCapture().isOk());
    // Unsupported would mean that another kernel is captured in its place.
    EXPECT_EQ(multiply(9).code(), StatusCode::Artifact);
    (void)stream->endCapture(graph);
  }
  EXPECT_TRUE(multiply(9).isOk()) << "and it is not refused for good";
  graph.reset();
  made.reset();
  cudaFree(memory);
}

//===--- Graphs -----------------------------------------------------------===//

using Attributes = std::vector<SimulatedAttributes>;

/// Kernels with these attributes, captured as one launch.
struct Captured {
  Captured(cudaStream_t stream, const Attributes &kernels, int value,
           int *memory) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
              cudaSuccess);
    EXPECT_EQ(enqueueSimulated(stream, [] {}), cudaSuccess); // comes ahead
    launches.begin(stream);
    for (const SimulatedAttributes &each : kernels)
      EXPECT_EQ(enqueueSimulated(
                    stream, [=] { *memory += value; }, each),
                cudaSuccess);
    launches.end(stream, 3);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  }
  ~Captured() { cudaGraphDestroy(graph); }

  CapturedLaunches launches;
  cudaGraph_t graph = nullptr;
};

/// Whether a graph of `was` can be one of `is`; what it adds up then.
bool isSet(const Attributes &was, const Attributes &is, int &sum) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
            cudaSuccess);
  const Captured first(stream, was, 1, &sum), second(stream, is, 10, &sum);
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&executable, first.graph, 0), cudaSuccess);
  const bool done = first.launches.setNodes(executable, second.launches).isOk();
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  return done;
}

TEST(CapturedLaunches, setKernelsThatAreLaunchedAlike) {
  const SimulatedAttributes plain, early{.isProgrammatic = true},
      line{.cluster = {2, 1, 1}};
  for (const Attributes &both : {Attributes{plain, plain},
                                 {plain, early},
                                 {early, plain},
                                 {early, early},
                                 {line, early}}) {
    int sum = 0;
    EXPECT_TRUE(isSet(both, both, sum));
    EXPECT_EQ(sum, 20);
  }
  int sum = 0;
  EXPECT_TRUE(isSet({plain}, {plain}, sum));
}

TEST(CapturedLaunches, refuseOthers) {
  const SimulatedAttributes plain, early{.isProgrammatic = true},
      line{.cluster = {2, 1, 1}}, longer{.cluster = {4, 1, 1}},
      square{.cluster = {2, 2, 1}}, preferred{.preferredCluster = {4, 1, 1}};
  const std::pair<Attributes, Attributes> refused[] = {
      {{plain}, {early}},
      {{early}, {plain}},
      {{plain, early}, {plain, plain}},
      {{plain}, {plain, plain}},
      {{line}, {longer}},
      {{plain}, {line}},
      {{plain}, {preferred}},
      {{square}, {square}}};
  for (const auto &[was, is] : refused) {
    int sum = 0;
    EXPECT_FALSE(isSet(was, is, sum));
  }
}

/// A communicator that nobody has to abort.
class Quiet final : public WatchedCommunicator {
public:
  Status asyncError() override { return Status::ok(); }
  void abort() override { ADD_FAILURE() << "is aborted"; }
  std::string otherRanks() const override { return "nobody"; }
  std::chrono::milliseconds timeout() const override {
    return std::chrono::seconds(60);
  }
  const std::function<uint64_t()> &progress() const override { return nobodys; }
  bool hasFailed() const override { return false; }

private:
  const std::function<uint64_t()> nobodys;
};

/// Two segments that run in one step: the first graph goes while its
/// collectives are pending.
TEST_F(CudaStreams, aGraphMayGoBeforeItsCollectivesAreOver) {
  Quiet communicator;
  const CollectiveSite site{"all_reduce", "sum", 1};
  std::unique_ptr<DeviceGraph> graph;
  ASSERT_TRUE(stream->beginCapture().isOk());
  ASSERT_TRUE(
      stream->collectives().add(communicator, site, stream->stream()).isOk());
  ASSERT_TRUE(stream->endCapture(graph).isOk());
  ASSERT_TRUE(stream->run(*graph).isOk());
  graph.reset();
  EXPECT_FALSE(stream->collectives().empty());
  EXPECT_TRUE(stream->synchronize().isOk());
  EXPECT_TRUE(stream->collectives().empty());
}

TEST(CudaPlugin, graphsRegisterNoMemoryWithNccl) {
  (void)shardrtPlugin();
  EXPECT_STREQ(getenv("NCCL_GRAPH_REGISTER"), "0");
}

} // namespace
} // namespace shardc::testing
