#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"
#include "tests/conformance/cuda/QuantizedTensors.h"

#include <cmath>
#include <optional>
#include <vector>

namespace shardc::testing {
namespace {

using namespace runtime::host;
using artifact::ElementType;

/// 5 experts of which tokens choose 2, of which one may be chosen twice.
constexpr int64_t kExperts = 5, kChoices = 2;

struct Mixture {
  int64_t tokens = 3, input = 32, hidden = 16, outputs = 24;
  std::string_view activation = "silu", gate = "none";
  bool isByColumns = true, hasBias = false;
  std::optional<ElementType> element; ///< of quantised weights
  int64_t block = 0;                  ///< of them; 0: one for each column
  int64_t all = kExperts;             ///< experts
  int64_t first = 0, here = kExperts; ///< those of this rank
  std::vector<int64_t> chosen;        ///< in turn; empty: some

  int64_t wide() const { return gate == "none" ? hidden : 2 * hidden; }
};

/// Numbers near 1 / 4, as weights [e, k, n].
template <typename T>
Tensor weightsOf(const Mixture &m, int64_t k, int64_t n, uint32_t seed) {
  const Tensor tensor =
      scales<T>(m.isByColumns ? Dims{m.here, n, k} : Dims{m.here, k, n}, seed);
  for (int64_t i = 0; i < tensor.view.numElements(); ++i)
    tensor.view.as<T>()[i] = T(Compute<T>(tensor.view.as<T>()[i]) * 32);
  return m.isByColumns ? tensor.permuted({0, 2, 1}) : tensor;
}

/// Weights, scales and zero points.
template <typename T>
std::vector<Tensor> operandsOf(const Mixture &m, int64_t k, int64_t n,
                               uint32_t seed) {
  if (!m.element)
    return {weightsOf<T>(m, k, n, seed), Tensor::absent(), Tensor::absent()};
  const Dims dims = {m.here, k, n};
  const Dims blocks = {m.here, m.block ? (k + m.block - 1) / m.block : 1, n};
  const auto seen = [&](const Tensor &t) {
    return m.block ? t : t.broadcast(dims);
  };
  return {quantizedInOrder(*m.element, dims,
                           m.isByColumns ? std::vector<int>{0, 2, 1}
                                         : std::vector<int>{0, 1, 2},
                           seed),
          seen(scales<T>(blocks, seed + 1)),
          isScaledFloat8(*m.element)
              ? Tensor::absent()
              : seen(quantized(*m.element, blocks, seed + 2))};
}

template <typename T> Tensor choicesOf(const Mixture &m) {
  const Tensor indices = Tensor::filled<T>({m.tokens, kChoices}, 0);
  for (int64_t i = 0; i < m.tokens * kChoices; ++i)
    indices.view.as<T>()[i] =
        T(!m.chosen.empty() ? m.chosen[size_t(i) % m.chosen.size()]
          : i * i % 7 == 3  ? -1
                            : i * i % 7 % kExperts);
  return indices;
}

template <typename T, typename Index = int64_t>
void compareMixture(const Mixture &m) {
  SCOPED_TRACE(::testing::Message()
               << m.tokens << " tokens, " << m.activation << ", " << m.gate
               << (m.isByColumns ? ", by columns" : ", by rows")
               << (m.element ? EnumNameElementType(*m.element) : "")
               << ", blocks of " << m.block << ", " << m.input << " -> "
               << m.hidden << " -> " << m.outputs);
  const Tensor x = numbers<T>({m.tokens, m.input}, 1);
  const Tensor chosen = choicesOf<Index>(m);
  const Tensor weights = numbers<T>({m.tokens, kChoices}, 2);
  const auto up = operandsOf<T>(m, m.input, m.wide(), 3);
  const auto down = operandsOf<T>(m, m.hidden, m.outputs, 6);
  const Tensor bias =
      m.hasBias ? numbers<T>({m.here, m.wide()}, 9) : Tensor::absent();
  std::vector<Tensor> inputs = {x,    chosen, weights, up[0],   down[0],
                                bias, up[1],  up[2],   down[1], down[2]};
  Attributes all = Attributes()
                       .text("activation", m.activation)
                       .text("gate", m.gate)
                       .number("alpha", 1.25)
                       .number("shift", 0.5)
                       .number("limit", 1.5)
                       .ints("experts", {m.all, m.first});
  const Attributes attributes = m.block
                                    ? std::move(all)
                                          .ints("up_axis", {1})
                                          .ints("up_block_size", {m.block})
                                          .ints("down_axis", {1})
                                          .ints("down_block_size", {m.block})
                                    : std::move(all);
  const Tensor out = Tensor::filled<T>({m.tokens, m.outputs}, T());
  const double tolerance = 8 * toleranceOf(elementTypeOf<T>());
  compare("MixtureOfExperts", inputs, {out}, attributes, tolerance);
  for (const size_t i : {0, 1, 2})
    inputs[i] = inputs[i].scattered();
  compare("MixtureOfExperts", inputs, {out.scattered()}, attributes, tolerance);
}

TEST(ExpertKernels, multiplyFewAndManyTokens) {
  forTypes(FloatTypes(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const bool isByColumns : {true, false})
      for (const int64_t tokens : {0, 1, 8, 9, 150}) {
        Mixture m;
        m.tokens = tokens;
        m.isByColumns = isByColumns;
        compareMixture<T>(m);
        m.gate = isByColumns ? "halves" : "interleaved";
        m.hasBias = true;
        compareMixture<T, int32_t>(m);
      }
  });
}

TEST(ExpertKernels, activate) {
  for (const std::string_view activation :
       {"silu", "gelu", "gelu_tanh", "relu", "identity"})
    for (const int64_t tokens : {2, 20}) {
      Mixture m;
      m.tokens = tokens;
      m.activation = activation;
      m.gate = "halves";
      compareMixture<float>(m);
      compareMixture<double>(m);
    }
}

TEST(ExpertKernels, multiplyQuantizedWeights) {
  for (const ElementType element : kScaledTypes)
    for (const bool isByColumns : {true, false})
      for (const int64_t tokens : {2, 20})
        for (const int64_t block : {0, 5, 8, 16}) {
          Mixture m;
          m.tokens = tokens;
          m.isByColumns = isByColumns;
          m.element = element;
          m.block = block;
          m.hidden = 32;
          compareMixture<float>(m);
          if (block == 8)
            compareMixture<Float16>(m);
        }
}

/// Sizes that are no multiples of anything, or 0, or more than a tile.
TEST(ExpertKernels, multiplyRaggedMatrices) {
  for (const bool isByColumns : {true, false})
    for (const int64_t tokens : {3, 70}) {
      Mixture m;
      m.tokens = tokens;
      m.isByColumns = isByColumns;
      m.input = 19;
      m.hidden = 67;
      m.outputs = 131;
      compareMixture<float>(m);
      m.element = artifact::ElementType_UInt4;
      compareMixture<float>(m);
      m.input = 0;
      compareMixture<float>(m);
      m.hidden = 0;
      compareMixture<float>(m);
    }
}

//===--- Tensor cores -----------------------------------------------------===//

using HalfTypes = TypeList<Float16, BFloat16>;

/// Small tiles and large ones; what comes in runs of 8 and what does not.
TEST(ExpertKernels, multiplyHalvesOfAnySizes) {
  struct Sizes {
    int64_t input, hidden, outputs;
  };
  forTypes(HalfTypes(), [](auto tag) {
    for (const bool isByColumns : {true, false})
      for (const int64_t tokens : {9, 330})
        for (const auto [input, hidden, outputs] :
             {Sizes{64, 96, 128}, {40, 8, 136}, {19, 67, 131}, {1, 33, 1}}) {
          Mixture m;
          m.tokens = tokens;
          m.isByColumns = isByColumns;
          m.input = input;
          m.hidden = hidden;
          m.outputs = outputs;
          m.gate = isByColumns ? "halves" : "none";
          m.hasBias = isByColumns;
          compareMixture<typename decltype(tag)::Type>(m);
        }
  });
}

TEST(ExpertKernels, multiplyHalvesOfAnyChoices) {
  forTypes(HalfTypes(), [](auto tag) {
    using Choices = std::vector<int64_t>;
    for (const Choices &chosen :
         {Choices{3}, {0, 4}, {4, 2, 2, 2, 2, 2, 2, 2}, {1, 1, 1, -5}})
      for (const int64_t tokens : {9, 330}) {
        Mixture m;
        m.tokens = tokens;
        m.chosen = chosen;
        compareMixture<typename decltype(tag)::Type>(m);
        m.first = 1;
        m.here = 2;
        compareMixture<typename decltype(tag)::Type>(m);
      }
    Mixture many; // more experts than pairs
    many.tokens = 9;
    many.all = many.here = 40;
    many.chosen = {39, 0, 17, -3, 20};
    compareMixture<typename decltype(tag)::Type>(many);
  });
}

TEST(ExpertKernels, multiplyHalvesByQuantizedWeights) {
  for (const ElementType element :
       {artifact::ElementType_Int4, artifact::ElementType_UInt4,
        artifact::ElementType_Int8, artifact::ElementType_UInt8,
        artifact::ElementType_Int16, artifact::ElementType_Float8E4M3FN,
        artifact::ElementType_Float8E5M2})
    for (const bool isByColumns : {true, false})
      for (const int64_t block : {0, 5, 8, 32}) {
        Mixture m;
        m.tokens = block == 0 && isByColumns ? 200 : 9;
        m.isByColumns = isByColumns;
        m.element = element;
        m.block = block;
        m.input = 64;
        m.hidden = 40;
        m.outputs = 136;
        compareMixture<BFloat16>(m);
        m.tokens = 9;
        m.input = 37;
        m.hidden = 41;
        compareMixture<Float16>(m);
      }
}

/// y [tokens, 40] of tokens each of which chooses one expert.
template <typename T>
Tensor mixed(const Tensor &tokens, const Tensor &chosen, bool isByColumns) {
  Mixture m;
  m.here = 3; // of 5
  m.isByColumns = isByColumns;
  const int64_t count = tokens.view.dims[0];
  const Tensor y = Tensor::filled<T>({count, 40}, T());
  EXPECT_OK(
      runOnDevice("MixtureOfExperts",
                  {tokens, chosen, Tensor::filled<T>({count, 1}, T(1.f)),
                   weightsOf<T>(m, 72, 48, 3), weightsOf<T>(m, 48, 40, 4)},
                  {y}, Attributes().ints("experts", {kExperts, 0})));
  return y;
}

/// Pairs come to tiles in any order, as atomics have it: nobody may see that.
TEST(ExpertKernels, bitsOfATokenAreItsOwn) {
  forTypes(FloatTypes(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    constexpr int64_t kTokens = 250;
    for (const bool isByColumns : {true, false}) {
      const Tensor tokens = numbers<T>({kTokens, 72});
      const Tensor turned = tokens.copy();
      const Tensor chosen = Tensor::filled<int64_t>({kTokens, 1}, 0);
      const Tensor turnedChosen = chosen.copy();
      for (int64_t i = 0; i < kTokens; ++i) {
        const int64_t other = kTokens - 1 - i;
        chosen.view.as<int64_t>()[i] = i % 3;
        turnedChosen.view.as<int64_t>()[other] = i % 3;
        std::copy_n(&tokens.view.as<T>()[i * 72], 72,
                    &turned.view.as<T>()[other * 72]);
      }
      const Tensor y = mixed<T>(tokens, chosen, isByColumns);
      const Tensor turnedY = mixed<T>(turned, turnedChosen, isByColumns);
      for (int64_t i = 0; i < kTokens; ++i)
        for (int64_t c = 0; c < 40; ++c)
          ASSERT_EQ(y.at<T>({i, c}), turnedY.at<T>({kTokens - 1 - i, c}));
      // Alone: the others' expert is not here.
      for (const int64_t i : {int64_t{0}, int64_t{77}, kTokens - 1}) {
        const Tensor few = numbers<T>({9, 72}, 5);
        const Tensor fewChosen = Tensor::filled<int64_t>({9, 1}, 4);
        fewChosen.view.as<int64_t>()[5] = i % 3;
        std::copy_n(&tokens.view.as<T>()[i * 72], 72,
                    &few.view.as<T>()[5 * 72]);
        const Tensor alone = mixed<T>(few, fewChosen, isByColumns);
        for (int64_t c = 0; c < 40; ++c)
          ASSERT_EQ(y.at<T>({i, c}), alone.at<T>({5, c}));
      }
    }
  });
}

//===----------------------------------------------------------------------===//

TEST(ExpertKernels, multiplyExpertsOfThisRankAlone) {
  for (const int64_t tokens : {4, 40})
    for (auto [first, here] : {std::pair{0, 2}, {2, 0}, {2, 3}}) {
      Mixture m;
      m.tokens = tokens;
      m.first = first;
      m.here = here;
      compareMixture<float>(m);
    }
}

TEST(ExpertKernels, refuseAnExpertThatIsNone) {
  for (const int64_t tokens : {2, 20}) {
    const Tensor chosen = Tensor::filled<int64_t>({tokens, 1}, 1);
    chosen.view.as<int64_t>()[1] = 2;
    const Status status = runOnDevice(
        "MixtureOfExperts",
        {numbers<float>({tokens, 8}), chosen, numbers<float>({tokens, 1}),
         numbers<float>({2, 8, 8}), numbers<float>({2, 8, 8})},
        {Tensor::filled<float>({tokens, 8}, 0)});
    EXPECT_NE(status.message().find("an index is outside of its dim"),
              std::string::npos)
        << status.message();
  }
}

} // namespace
} // namespace shardc::testing
