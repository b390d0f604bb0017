// What is handed to a library's attention, on a library that is a loop.
#include "runtime/backend/DeviceBuffer.h"
#include "runtime/backend/Plugin.h"
#include "runtime/backend/cuda/CudaStream.h"
#include "runtime/backend/cuda/FusedPlans.h"
#include "runtime/backend/cuda/kernels/AttentionPadding.h"
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
  bool isPadded = false; ///< what ran last
  bool refuses = false;
  bool isWrong = false, isLastRowLost = false;
  bool takesAllMemory = false; ///< that the device has left
  int64_t workspace = 0;
  bool isPaddingWrong = false;
  int alive = 0;         ///< plans
  int runsOfDropped = 0; ///< plans that ran when they were gone
};

/// As strict as NVIDIA's guide lets it be. Rows that see nothing, and those that
/// are padding, become what a library may leave there; keys that are padding
/// are read, and weigh 0.
template <typename T> class LoopAttention final : public FusedAttention {
public:
  LoopAttention(const FusedAttentionShape &shape, Log &log)
      : s(shape), log(log) {
    ++log.alive;
  }
  ~LoopAttention() override { --log.alive; }
  int64_t workspaceBytes() const override { return log.workspace; }
  Status run(const FusedAttentionOperands &operands, std::byte *,
             cudaStream_t stream) override {
    ++log.runs;
    log.isPadded = s.isPadded;
    EXPECT_EQ(s.isPadded, operands.queryLengths && operands.keyLengths);
    auto attend = [this, &all = log, lives = std::weak_ptr<int>(life),
                   operands] {
      if (lives.expired())
        ++all.runsOfDropped; // its code is not on the GPU any more
      else
        this->attend(onSimulatedGpu(operands));
    };
    return runtime::cudaStatus(enqueueSimulated(stream, attend), "attention");
  }

private:
  static const T *row(const std::byte *data, const int64_t (&strides)[3],
                      int64_t b, int64_t h, int64_t i) {
    return reinterpret_cast<const T *>(data) + b * strides[0] + h * strides[1] +
           i * strides[2];
  }
  bool sees(int64_t i, int64_t j) const {
    if (i >= queries || j >= keys)
      return false;
    const int64_t last = i + (s.alignsEnds ? keys - queries : 0);
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
    for (int64_t b = 0; b < s.batches; ++b) {
      queries = s.isPadded ? operands.queryLengths[b] : s.queries;
      keys = s.isPadded ? operands.keyLengths[b] : s.keys;
      ASSERT_TRUE(queries >= 0 && queries <= s.queries && keys >= 0 &&
                  keys <= s.keys);
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries; ++i)
          attend(operands, b, h, i);
    }
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
    for (int64_t j = keys; j < s.keys; ++j) {
      sum += 0 * scores[size_t(j)];
      for (int64_t d = 0; d < s.depth; ++d)
        values[size_t(d)] += 0 * double(row(operands.v, s.v, b, kv, j)[d]);
    }
    // A tile of a library's may reach behind a row, and weigh that with 0.
    const int64_t behind =
        s.hasBias ? std::min((s.keys + 7) / 8 * 8, s.bias[2]) : 0;
    for (int64_t j = s.keys; j < behind; ++j)
      sum += 0 * double(row(operands.bias, s.bias, b, h, i)[j]);
    T *y = const_cast<T *>(row(operands.y, s.y, b, h, i));
    for (int64_t d = 0; d < s.depth; ++d) {
      const double value = values[size_t(d)];
      y[d] = T(float(sum == 0 ? 77 : value / sum + (isWrong() ? 1 : 0)));
      if (log.isLastRowLost && i == queries - 1)
        y[d] = T(0.f);
    }
  }

  bool isWrong() const {
    return log.isWrong || (log.isPaddingWrong && s.isPadded);
  }

  const FusedAttentionShape s;
  Log &log;
  int64_t queries = 0, keys = 0; ///< of the batch at hand
  const std::shared_ptr<int> life = std::make_shared<int>();
};

class LoopEngine final : public runtime::FusedAttentionEngine {
public:
  explicit LoopEngine(Log &log) : log(log) {}
  ~LoopEngine() override { cudaFree(memory); }
  std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) override {
    log.planned.push_back(shape);
    spend(HostCost::AttentionPlan);
    size_t free = 0, total = 0;
    if (log.takesAllMemory && cudaMemGetInfo(&free, &total) == cudaSuccess &&
        free > 0) {
      EXPECT_EQ(cudaMalloc(&memory, free), cudaSuccess);
    }
    if (log.refuses || !isSupported(shape))
      return nullptr;
    if (shape.element == artifact::ElementType_Float16)
      return std::make_unique<LoopAttention<Float16>>(shape, log);
    return std::make_unique<LoopAttention<BFloat16>>(shape, log);
  }

private:
  /// What cuDNN's frontend refuses.
  static bool isSupported(const FusedAttentionShape &s) {
    const bool hasFewKeys = !s.isPadded && s.queries > s.keys;
    if (s.alignsEnds && (hasFewKeys || s.hasBias))
      return false;
    if (s.window != 0 && (hasFewKeys || s.hasBias))
      return false;
    for (const auto *strides : {&s.q, &s.k, &s.v, &s.y})
      for (const int64_t stride : *strides)
        if (stride % 8 != 0)
          return false;
    return s.depth % 8 == 0 && (!s.hasBias || s.bias[2] % 8 == 0);
  }

  Log &log;
  void *memory = nullptr;
};

/// Operands on a device, for launches that are waited for later.
template <typename T> class AttentionMemory {
public:
  AttentionMemory(runtime::Device &device, runtime::DeviceStream &stream,
                  const std::vector<Tensor> &inputs, const Tensor &result)
      : stream(stream), kernel(*device.findKernel("Attention")) {
    for (const Tensor &input : inputs)
      views.push_back(upload(device, input));
    output = upload(device, result);
    call.inputs = views.data();
    call.numInputs = static_cast<int>(views.size());
    call.outputs = &output;
    call.numOutputs = 1;
    EXPECT_TRUE(add().allocate(device, runtime::MemoryKind::Device,
                               kernel.scratchBytes(call)));
    call.scratch = memory.back()->data();
  }
  void launch() { EXPECT_OK(stream.launch(kernel, call, {})); }

private:
  runtime::DeviceBuffer &add() {
    return *memory.emplace_back(std::make_unique<runtime::DeviceBuffer>());
  }
  runtime::TensorView upload(runtime::Device &device, const Tensor &tensor) {
    const auto size = static_cast<int64_t>(tensor.bytes().size());
    runtime::DeviceBuffer &copy = add();
    EXPECT_TRUE(copy.allocate(device, runtime::MemoryKind::Device, size));
    EXPECT_OK(stream.copy(copy.data(), tensor.bytes().data(), {size},
                          runtime::CopyDirection::HostToDevice));
    EXPECT_OK(stream.synchronize());
    runtime::TensorView view = tensor.view;
    view.data = copy.data();
    return view;
  }

  runtime::DeviceStream &stream;
  const runtime::Kernel &kernel;
  std::vector<std::unique_ptr<runtime::DeviceBuffer>> memory;
  std::vector<runtime::TensorView> views;
  runtime::TensorView output;
  runtime::KernelCall call;
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
    cuda.fusedAttentions().setEngine(std::make_unique<LoopEngine>(log));
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
  runtime::FusedAttentions &library() {
    return static_cast<runtime::CudaStream &>(*stream).fusedAttentions();
  }
  /// Plans of other shapes, which do not run.
  void planOthers(int count) {
    for (int i = 0; i < count; ++i) {
      FusedAttentionShape shape;
      shape.element = runtime::host::elementTypeOf<T>();
      shape.batches = 100 + i;
      std::shared_ptr<FusedAttention> plan;
      runtime::FusedAttentions::Doubt doubt;
      EXPECT_OK(library().find(shape, plan, doubt));
    }
  }

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
      EXPECT_TRUE(this->planned().isPadded);
      EXPECT_EQ(this->planned().bias[2], 128);
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

//===----------------------------------------------------------------------===//
// Plans of few lengths
//===----------------------------------------------------------------------===//

TYPED_TEST(FusedAttentionOf, promptsOfAnyLengthAgree) {
  this->open();
  const Attributes causal = Attributes().ints("is_causal", {1});
  for (int64_t length : {65, 128, 129, 256, 300}) {
    this->make({2, 2, length, 8}, 1, length);
    this->expectSameAgain();
    EXPECT_EQ(this->log.isPadded, length % 128 != 0);
    this->expectSameAgain(causal);
    // A prompt behind what a cache has.
    this->make({1, 2, length, 8}, 2, length + 37);
    this->expectSameAgain(
        Attributes().ints("is_causal", {1}).ints("causal_offset", {37}));
    EXPECT_TRUE(this->log.isPadded);
  }
  EXPECT_EQ(this->log.runs, 2 * 3 * 5);
}

/// A plan is 100 ms; a prompt of each length would be one.
TYPED_TEST(FusedAttentionOf, allLengthsTakeFewPlans) {
  this->open();
  const auto planAll = [&](int64_t &padded) {
    for (int64_t length = 1; length <= 4096; ++length) {
      FusedAttentionShape whole;
      whole.batches = whole.heads = whole.kvHeads = 1;
      whole.queries = whole.keys = length;
      whole.depth = 8;
      whole.isCausal = true;
      for (auto *strides : {&whole.q, &whole.k, &whole.v, &whole.y})
        (*strides)[2] = 8;
      const FusedAttentionShape shape = runtime::cuda::paddedShape(whole);
      EXPECT_GE(shape.queries, length);
      EXPECT_LE(shape.queries, std::max(length + 127, length * 5 / 4));
      padded += shape.isPadded;
      std::shared_ptr<FusedAttention> plan;
      runtime::FusedAttentions::Doubt doubt;
      EXPECT_OK(this->library().find(shape, plan, doubt));
      EXPECT_NE(plan, nullptr);
    }
  };
  const long before = spentSoFar(HostCost::AttentionPlan);
  int64_t padded = 0;
  planAll(padded);
  EXPECT_EQ(padded, 4096 - 16);
  EXPECT_EQ(spentSoFar(HostCost::AttentionPlan) - before, 2 * 16);
  planAll(padded);
  EXPECT_EQ(spentSoFar(HostCost::AttentionPlan) - before, 2 * 16);
}

/// Copies that take too much memory are not made.
TEST(AttentionPadding, longPromptsHavePlansOfTheirOwn) {
  FusedAttentionShape whole;
  whole.batches = 1;
  whole.heads = whole.kvHeads = 32;
  whole.depth = 128;
  whole.queries = whole.keys = 14001;
  EXPECT_TRUE(runtime::cuda::paddedShape(whole).isPadded);
  whole.queries = whole.keys = 17001;
  EXPECT_EQ(runtime::cuda::paddedShape(whole), whole);
}

TYPED_TEST(FusedAttentionOf, aWrongPaddedPlanIsNotTrusted) {
  this->log.isPaddingWrong = true;
  this->open();
  this->make({1, 2, 128, 8}, 2, 128);
  this->expectSameAgain();
  EXPECT_EQ(this->log.runs, 2) << "what is not padded is right";
  this->make({1, 2, 100, 8}, 2, 100);
  ::testing::internal::CaptureStderr();
  this->expectSameAgain();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("disagrees"),
            std::string::npos);
  EXPECT_EQ(this->log.runs, 3);
}

//===----------------------------------------------------------------------===//
// Which plans stay
//===----------------------------------------------------------------------===//

constexpr int kMostPlans = int(runtime::FusedAttentions::kMostPlans);

TYPED_TEST(FusedAttentionOf, plansThatWereUsedLastStay) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  this->expectSameAgain();
  this->planOthers(kMostPlans - 1);
  this->expectSameAgain();
  EXPECT_EQ(int(this->log.planned.size()), kMostPlans);
  this->planOthers(kMostPlans); // more than there is room for
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.alive, kMostPlans);
  EXPECT_EQ(int(this->log.planned.size()), kMostPlans + 1);
  this->expectSameAgain(); // planned again
  EXPECT_EQ(int(this->log.planned.size()), kMostPlans + 2);
  EXPECT_EQ(this->log.runsOfDropped, 0);
}

/// A launch that is under way still has its plan's code.
TYPED_TEST(FusedAttentionOf, aPlanGoesWhenItsWorkIsDone) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> memory(*this->device, *this->stream, this->inputs,
                                    this->result);
  memory.launch();
  this->planOthers(kMostPlans);
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.runsOfDropped, 0);
  EXPECT_EQ(this->log.alive, kMostPlans);
}

TYPED_TEST(FusedAttentionOf, aGraphKeepsItsPlan) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> memory(*this->device, *this->stream, this->inputs,
                                    this->result);
  memory.launch();
  std::unique_ptr<runtime::DeviceGraph> graph;
  EXPECT_OK(this->stream->beginCapture());
  memory.launch();
  EXPECT_OK(this->stream->endCapture(graph));
  this->planOthers(kMostPlans);
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.alive, kMostPlans + 1);
  EXPECT_OK(this->stream->run(*graph));
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.runsOfDropped, 0);
  EXPECT_EQ(this->log.runs, 2);
  graph.reset();
  EXPECT_EQ(this->log.alive, kMostPlans);
}

/// What an update brings stays, too, and so does what it has replaced.
TYPED_TEST(FusedAttentionOf, anUpdatedGraphKeepsBoth) {
  this->open();
  this->make({1, 1, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> memory(*this->device, *this->stream, this->inputs,
                                    this->result);
  this->make({1, 2, 64, 8}, 1, 64);
  AttentionMemory<TypeParam> other(*this->device, *this->stream, this->inputs,
                                   this->result);
  memory.launch();
  other.launch();
  std::unique_ptr<runtime::DeviceGraph> graph;
  EXPECT_OK(this->stream->beginCapture());
  memory.launch();
  EXPECT_OK(this->stream->endCapture(graph));
  EXPECT_OK(this->stream->beginUpdate(*graph));
  other.launch();
  EXPECT_OK(this->stream->endUpdate());
  this->planOthers(kMostPlans);
  EXPECT_OK(this->stream->synchronize());
  EXPECT_OK(this->stream->run(*graph));
  EXPECT_OK(this->stream->synchronize());
  EXPECT_EQ(this->log.runsOfDropped, 0);
  EXPECT_EQ(this->log.alive, kMostPlans + 2);
}

TEST(FusedPlans, streamsOfADeviceShareThem) {
  Log log;
  const auto plans =
      std::make_shared<runtime::FusedPlans>(std::make_unique<LoopEngine>(log));
  FusedAttentionShape shape;
  auto first = plans->find(shape, 0), second = plans->find(shape, 0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(log.planned.size(), 1u);
  first.reset();
  EXPECT_EQ(log.alive, 1);
  second.reset();
  EXPECT_EQ(log.alive, 0) << "nobody has it";
  EXPECT_NE(plans->find(shape, 0), nullptr);
  EXPECT_EQ(log.planned.size(), 2u);
}

/// The handle is the last to go.
TEST(FusedPlans, aPlanKeepsItsLibrary) {
  Log log;
  auto plans =
      std::make_shared<runtime::FusedPlans>(std::make_unique<LoopEngine>(log));
  const auto plan = plans->find({}, 0);
  const std::weak_ptr<runtime::FusedPlans> library = plans;
  plans.reset();
  EXPECT_FALSE(library.expired());
}

} // namespace
} // namespace shardc::testing
