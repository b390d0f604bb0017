// What is handed to a library's attention, on a library that is a loop.
#include "runtime/backend/Plugin.h"
#include "runtime/backend/cuda/CudaStream.h"
#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedDevice.h"

#include <cmath>
#include <limits>

extern "C" const shardc::runtime::PluginDescription *shardrtPlugin();

namespace shardc::testing {
namespace {

using runtime::FusedAttention;
using runtime::FusedAttentionOperands;
using runtime::FusedAttentionShape;
using runtime::host::BFloat16;
using runtime::host::Boolean;
using runtime::host::Float16;

/// What the library was asked, and how it answers.
struct Log {
  std::vector<FusedAttentionShape> planned;
  int runs = 0;
  bool refuses = false;
  bool isWrong = false, isLastRowLost = false;
  bool takesAllMemory = false; ///< that the device has left
  int64_t workspace = 0;
};

/// Rows that see nothing become what a library may leave there.
template <typename T> class LoopAttention final : public FusedAttention {
public:
  LoopAttention(const FusedAttentionShape &shape, Log &log, cudaStream_t stream)
      : s(shape), log(log), stream(stream) {}
  int64_t workspaceBytes() const override { return log.workspace; }
  Status run(const FusedAttentionOperands &operands, std::byte *) override {
    ++log.runs;
    return runtime::cudaStatus(
        enqueueSimulated(
            stream, [this, operands] { attend(onSimulatedGpu(operands)); }),
        "attention");
  }

private:
  static const T *row(const std::byte *data, const int64_t (&strides)[3],
                      int64_t b, int64_t h, int64_t i) {
    return reinterpret_cast<const T *>(data) + b * strides[0] + h * strides[1] +
           i * strides[2];
  }
  bool sees(int64_t i, int64_t j) const {
    const int64_t last = i + (s.alignsEnds ? s.keys - s.queries : 0);
    return !s.isCausal || (j <= last && (s.window == 0 || j > last - s.window));
  }
  /// Tile by tile, the largest score so far as the one that is subtracted: of
  /// tiles in which all are -inf nothing is made but NaN.
  struct Place {
    int64_t b, kv, i;
  };
  void sumTiles(const FusedAttentionOperands &operands, const Place &at,
                const std::vector<double> &scores, double &sum,
                std::vector<double> &values) {
    constexpr int64_t kTile = 8;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t first = 0; first < s.keys; first += kTile) {
      std::vector<int64_t> seen;
      double next = largest;
      for (int64_t j = first; j < std::min(first + kTile, s.keys); ++j)
        if (sees(at.i, j)) {
          seen.push_back(j);
          next = std::max(next, scores[size_t(j)]);
        }
      if (seen.empty())
        continue;
      const double factor = std::exp(largest - next);
      sum *= factor;
      for (double &value : values)
        value *= factor;
      largest = next;
      for (int64_t j : seen) {
        const double weight = std::exp(scores[size_t(j)] - largest);
        sum += weight;
        for (int64_t d = 0; d < s.depth; ++d)
          values[size_t(d)] +=
              weight * double(row(operands.v, s.v, at.b, at.kv, j)[d]);
      }
    }
  }
  void attend(const FusedAttentionOperands &operands) {
    for (int64_t b = 0; b < s.batches; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries; ++i)
          attend(operands, b, h, i);
  }
  void attend(const FusedAttentionOperands &operands, int64_t b, int64_t h,
              int64_t i) {
    const int64_t kv = h / (s.heads / s.kvHeads);
    const T *q = row(operands.q, s.q, b, h, i);
    std::vector<double> scores(static_cast<size_t>(s.keys));
    for (int64_t j = 0; j < s.keys; ++j) {
      double score = 0;
      for (int64_t d = 0; d < s.depth; ++d)
        score += double(q[d]) * double(row(operands.k, s.k, b, kv, j)[d]);
      score *= s.scale;
      if (s.hasBias)
        score += double(row(operands.bias, s.bias, b, h, i)[j]);
      scores[size_t(j)] = score;
    }
    double sum = 0;
    std::vector<double> values(static_cast<size_t>(s.depth));
    sumTiles(operands, {b, kv, i}, scores, sum, values);
    // A tile of a library's may reach behind a row, and weigh that with 0.
    const int64_t behind =
        s.hasBias ? std::min((s.keys + 7) / 8 * 8, s.bias[2]) : 0;
    for (int64_t j = s.keys; j < behind; ++j)
      sum += 0 * double(row(operands.bias, s.bias, b, h, i)[j]);
    T *y = const_cast<T *>(row(operands.y, s.y, b, h, i));
    for (int64_t d = 0; d < s.depth; ++d) {
      const double value = values[size_t(d)];
      y[d] = T(float(sum == 0 ? 77 : value / sum + (log.isWrong ? 1 : 0)));
      if (log.isLastRowLost && i == s.queries - 1)
        y[d] = T(0.f);
    }
  }

  const FusedAttentionShape s;
  Log &log;
  const cudaStream_t stream;
};

class LoopEngine final : public runtime::FusedAttentionEngine {
public:
  LoopEngine(Log &log, cudaStream_t stream) : log(log), stream(stream) {}
  ~LoopEngine() override { cudaFree(memory); }
  std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) override {
    log.planned.push_back(shape);
    size_t free = 0, total = 0;
    if (log.takesAllMemory && cudaMemGetInfo(&free, &total) == cudaSuccess &&
        free > 0) {
      EXPECT_EQ(cudaMalloc(&memory, free), cudaSuccess);
    }
    if (log.refuses)
      return nullptr;
    if (shape.element == artifact::ElementType_Float16)
      return std::make_unique<LoopAttention<Float16>>(shape, log, stream);
    return std::make_unique<LoopAttention<BFloat16>>(shape, log, stream);
  }

private:
  Log &log;
  const cudaStream_t stream;
  void *memory = nullptr;
};

template <typename T> class FusedAttentionOf : public ::testing::Test {
protected:
  void make(const Dims &q, int64_t kvHeads, int64_t keys) {
    inputs = {numbers<T>(q, 1), numbers<T>({q[0], kvHeads, keys, q[3]}, 2),
              numbers<T>({q[0], kvHeads, keys, q[3]}, 3)};
    result = Tensor::filled<T>(q, T(7));
  }
  void open() {
    stream.reset();
    EXPECT_OK(shardrtPlugin()->backend->open(0, device));
    EXPECT_OK(device->createStream(stream));
    auto &cuda = static_cast<runtime::CudaStream &>(*stream);
    cuda.fusedAttentions().setEngine(
        std::make_unique<LoopEngine>(log, cuda.stream()));
  }
  /// Runs it on the host and, twice, on a stream with the library.
  void expectSame(const Attributes &attributes = {}) {
    open();
    expectSameAgain(attributes);
  }
  void expectSameAgain(const Attributes &attributes = {}) {
    Tensor expected = result.copy(), found = result.copy();
    EXPECT_OK(
        runtime::host::runKernel("Attention", inputs, {expected}, attributes));
    EXPECT_OK(runOn(*device, *stream, "Attention", inputs, {found}, attributes,
                    /*times=*/2));
    expectNear("Attention", expected, found,
               2 * toleranceOf(runtime::host::elementTypeOf<T>()));
  }
  const FusedAttentionShape &planned() { return log.planned.back(); }

  Log log;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::DeviceStream> stream;
  std::vector<Tensor> inputs;
  Tensor result = Tensor::absent();
};
using Halves = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(FusedAttentionOf, Halves);

TYPED_TEST(FusedAttentionOf, sharesKeysAmongHeads) {
  this->make({2, 4, 70, 16}, 2, 90);
  this->expectSame(Attributes().number("scale", 0.5));
  ASSERT_EQ(this->log.runs, 2);
  EXPECT_EQ(this->planned().kvHeads, 2);
  EXPECT_FALSE(this->planned().hasBias);
  EXPECT_EQ(this->log.planned.size(), 1u) << "a shape is planned once";
}

TYPED_TEST(FusedAttentionOf, isCausalFromEitherEnd) {
  for (int64_t offset : {0, 20})
    for (int64_t window : {0, 9}) {
      this->make({1, 2, 70, 8}, 2, 90);
      this->expectSame(Attributes()
                           .ints("is_causal", {1})
                           .ints("causal_offset", {offset})
                           .ints("window", {window}));
      EXPECT_TRUE(this->planned().isCausal);
      EXPECT_EQ(this->planned().alignsEnds, offset != 0);
    }
  EXPECT_EQ(this->log.runs, 2 * 4);
}

TYPED_TEST(FusedAttentionOf, hidesKeysAndWholeRows) {
  for (int64_t maskHeads : {1, 2})
    for (const char *zero : {"hidden", "nan", "none"}) {
      this->make({2, 2, 65, 8}, 1, 41);
      Tensor mask = Tensor::filled<Boolean>({2, maskHeads, 65, 41}, {});
      for (int64_t i = 0; i < mask.view.numElements(); ++i)
        mask.view.template as<Boolean>()[i] =
            Boolean(i / 41 % 3 != 1 && i % 5 != 2);
      this->inputs.push_back(mask.broadcast({2, 2, 65, 41}));
      this->expectSame(Attributes().text("zero_rows", zero));
      EXPECT_TRUE(this->planned().hasBias);
      EXPECT_EQ(this->planned().bias[1] != 0, maskHeads == 2);
      EXPECT_EQ(this->planned().bias[2], 48) << "rows begin where vectors may";
    }
  EXPECT_EQ(this->log.runs, 2 * 6);
}

TYPED_TEST(FusedAttentionOf, addsAMask) {
  for (int64_t keys : {40, 43}) {
    this->make({2, 2, 64, 8}, 2, keys);
    Tensor mask = numbers<TypeParam>({1, 1, 64, keys}, 4);
    for (int64_t j = 0; j < keys; ++j) // row 3 sees nothing
      mask.view.template as<TypeParam>()[3 * keys + j] =
          TypeParam(-std::numeric_limits<float>::infinity());
    this->inputs.push_back(mask.broadcast({2, 2, 64, keys}));
    this->expectSame();
    EXPECT_EQ(this->planned().bias[0], 0);
  }
  EXPECT_EQ(this->log.runs, 4);
}

/// Keys ahead of a prompt that is padded on the left: tiles that hide all.
TYPED_TEST(FusedAttentionOf, hidesTheFirstKeysOfAllRows) {
  for (bool isAdded : {false, true}) {
    this->make({1, 2, 64, 8}, 2, 40);
    Tensor mask = isAdded ? Tensor::filled<TypeParam>({1, 1, 64, 40}, {})
                          : Tensor::filled<Boolean>({1, 1, 64, 40}, {});
    for (int64_t i = 0; i < mask.view.numElements(); ++i) {
      const bool isShown = i % 40 >= 20;
      if (isAdded)
        mask.view.template as<TypeParam>()[i] = TypeParam(
            isShown ? 0.25f : -std::numeric_limits<float>::infinity());
      else
        mask.view.template as<Boolean>()[i] = Boolean(isShown);
    }
    this->inputs.push_back(mask.broadcast({1, 2, 64, 40}));
    this->expectSame();
  }
  EXPECT_EQ(this->log.runs, 4) << "it is trusted both times";
}

TYPED_TEST(FusedAttentionOf, leavesTheRestToOwnKernels) {
  this->make({1, 2, 63, 8}, 2, 20); // few queries
  this->expectSame();
  this->make({1, 2, 64, 12}, 2, 20); // no whole vectors
  this->expectSame();
  this->make({1, 2, 64, 8}, 2, 90); // causal from neither end
  this->expectSame(
      Attributes().ints("is_causal", {1}).ints("causal_offset", {5}));
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame(Attributes().number("softcap", 3));
  this->inputs.push_back(Tensor::absent());
  this->inputs.push_back(numbers<TypeParam>({2}, 9)); // sinks
  this->expectSame();
  EXPECT_TRUE(this->log.planned.empty());
}

TYPED_TEST(FusedAttentionOf, mayBeRefused) {
  this->log.refuses = true;
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame();
  EXPECT_EQ(this->log.planned.size(), 1u);
  EXPECT_EQ(this->log.runs, 0);
}

TYPED_TEST(FusedAttentionOf, isNotTrustedIfItDisagrees) {
  this->log.isWrong = true;
  this->make({1, 2, 64, 8}, 2, 20);
  ::testing::internal::CaptureStderr();
  this->expectSame();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
  EXPECT_EQ(this->log.runs, 1) << "nor is it asked again";
}

/// Else ranks with less memory than others would take other kernels.
TYPED_TEST(FusedAttentionOf, isComparedWhereThereIsNoMemoryLeft) {
  this->log.takesAllMemory = true;
  this->make({2, 4, 70, 16}, 2, 90);
  this->expectSame();
  EXPECT_EQ(this->log.runs, 2);
  this->log.isWrong = true;
  ::testing::internal::CaptureStderr();
  this->expectSame();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
}

/// Nor may a rank without memory for the workspace go on with other kernels.
TYPED_TEST(FusedAttentionOf, aWorkspaceThatIsNotThereIsAnError) {
  this->log.workspace = 4096;
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame();
  EXPECT_EQ(this->log.runs, 2);
  this->log.takesAllMemory = true;
  this->open();
  const runtime::Status status =
      runOn(*this->device, *this->stream, "Attention", this->inputs,
            {this->result.copy()}, {});
  EXPECT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("SHARDC_CUDNN=0"), std::string::npos)
      << status.message();
  EXPECT_EQ(this->log.runs, 2);
}

/// It is as large on all ranks.
TYPED_TEST(FusedAttentionOf, tooLargeAWorkspaceIsNoPlan) {
  this->log.workspace = int64_t{1} << 40;
  this->make({1, 2, 64, 8}, 2, 20);
  this->expectSame();
  EXPECT_EQ(this->log.runs, 0);
  EXPECT_EQ(this->log.planned.size(), 1u);
}

/// What is compared costs more than the prompt: lengths are none of it.
TYPED_TEST(FusedAttentionOf, aKindIsComparedOnce) {
  const auto launchesOf = [&](int64_t length) {
    const long before = spentSoFar(HostCost::Launch);
    this->make({1, 2, length, 8}, 2, length);
    this->expectSameAgain();
    return spentSoFar(HostCost::Launch) - before;
  };
  this->open();
  const long first = launchesOf(64), again = launchesOf(64);
  EXPECT_GT(first, again);
  for (int64_t length : {72, 65, 100})
    EXPECT_EQ(launchesOf(length), again);
  EXPECT_EQ(this->log.runs, 2 * 5);
  this->make({1, 2, 64, 16}, 2, 64);
  this->log.isWrong = true;
  ::testing::internal::CaptureStderr();
  this->expectSameAgain(); // another depth is another kind
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
}

/// Late rows of a prompt are small beside the first: averages of many keys.
TYPED_TEST(FusedAttentionOf, aSmallRowIsComparedByItsOwnSize) {
  this->log.isLastRowLost = true;
  this->make({1, 2, 256, 8}, 2, 256);
  ::testing::internal::CaptureStderr();
  this->expectSame(Attributes().ints("is_causal", {1}).number("scale", 0.01));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
}

} // namespace
} // namespace shardc::testing
