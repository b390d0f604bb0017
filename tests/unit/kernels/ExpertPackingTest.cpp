// Weights of MixtureOfExperts that were packed once.
#include "tests/unit/kernels/FieldWeights.h"

#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/launch/HostThreads.h"
#include "runtime/weights/PackedOperands.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

constexpr int64_t kExperts = 3, kTokens = 40, kInputs = 50, kHidden = 37,
                  kOutputs = 21;

/// Values that bfloat16 does not have.
template <typename T> Tensor fractions(const Dims &dims, uint32_t seed) {
  const Tensor tensor = Tensor::filled<T>(dims, T(Compute<T>(0)));
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.view.as<T>()[i] = T(Compute<T>(std::sin(double(seed >> 8))));
  }
  return tensor;
}

/// Every third token's choices are all of the last expert.
Tensor someIndices() {
  Tensor indices = Tensor::filled<int64_t>({kTokens, 2}, kExperts - 1);
  for (int64_t n = 0; n < kTokens; ++n)
    if (n % 3 != 0)
      indices.view.as<int64_t>()[2 * n] = n % 2;
  return indices;
}

using Inputs = std::vector<Tensor>;

/// Columns that lie dense, as exporters write them, or rows.
template <typename T> Inputs inputsOf(bool hasDenseRows) {
  const auto weights = [&](int64_t rows, int64_t columns, uint32_t seed) {
    return hasDenseRows ? fractions<T>({kExperts, rows, columns}, seed)
                        : fractions<T>({kExperts, columns, rows}, seed)
                              .permuted({0, 2, 1});
  };
  return {fractions<T>({kTokens, kInputs}, 1), someIndices(),
          fractions<T>({kTokens, 2}, 2), weights(kInputs, kHidden, 3),
          weights(kHidden, kOutputs, 4)};
}

using Round = double (*)(double);
double asIs(double x) { return x; }
double toBFloat16(double x) { return float(BFloat16(float(x))); }

/// In double, both operands of both products being rounded.
template <typename T>
double expectedAt(const Inputs &in, int64_t token, int64_t output,
                  Round round) {
  double sum = 0;
  for (int64_t k = 0; k < 2; ++k) {
    const int64_t e = in[1].at<int64_t>({token, k});
    double result = 0;
    for (int64_t h = 0; h < kHidden; ++h) {
      double x = 0;
      for (int64_t d = 0; d < kInputs; ++d)
        x += round(double(in[0].at<T>({token, d}))) *
             round(double(in[3].at<T>({e, d, h})));
      result += round(x / (1 + std::exp(-x))) *
                round(double(in[4].at<T>({e, h, output})));
    }
    sum += double(in[2].at<T>({token, k})) * result;
  }
  return sum;
}

template <typename T>
Tensor mixed(std::string_view kernel, const Inputs &inputs, bool packs,
             const Attributes &attributes = {}) {
  const Tensor out =
      Tensor::filled<T>({inputs[0].view.dims[0], kOutputs}, T(Compute<T>(9)));
  EXPECT_OK(packs ? runPacked(kernel, inputs, {out}, attributes)
                  : runKernel(kernel, inputs, {out}, attributes));
  return out;
}

template <typename T>
void expectMixed(const Inputs &in, const Tensor &out, Round round,
                 double tolerance) {
  for (int64_t n = 0; n < kTokens; ++n)
    for (int64_t o = 0; o < kOutputs; ++o)
      ASSERT_NEAR(double(out.at<T>({n, o})), expectedAt<T>(in, n, o, round),
                  tolerance)
          << n << ", " << o;
}

/// The token's row, when it comes with fewer others.
template <typename T>
void expectBitsOfItsOwn(std::string_view kernel, const Inputs &in,
                        const Tensor &whole) {
  for (auto [first, count] : {std::pair{0, 1}, {17, 5}, {9, 31}}) {
    Inputs part = in;
    for (size_t i = 0; i < 3; ++i)
      part[i] = in[i].slice(0, first, count);
    EXPECT_EQ(mixed<T>(kernel, part, /*packs=*/true).template values<T>(),
              whole.slice(0, first, count).template values<T>());
  }
}

template <typename T> void packsOnce(double tolerance) {
  for (int threads : {1, 3})
    for (bool hasDenseRows : {false, true}) {
      setHostThreads(threads);
      const Inputs in = inputsOf<T>(hasDenseRows);
      const Tensor out = mixed<T>("MixtureOfExperts", in, /*packs=*/true);
      // Tiles of bfloat16 take what is between the products rounded.
      expectMixed<T>(in, out,
                     std::is_same_v<T, BFloat16> && areBFloat16InTiles()
                         ? toBFloat16
                         : asIs,
                     tolerance);
      expectBitsOfItsOwn<T>("MixtureOfExperts", in, out);
    }
  setHostThreads(1);
}

TEST(ExpertPacking, BitsOfATokenAreItsOwn) {
  packsOnce<float>(2e-5);
  packsOnce<Float16>(2e-2);
  packsOnce<BFloat16>(2e-1);
  packsOnce<double>(1e-12);
}

/// One order of sums, packed or not.
TEST(ExpertPacking, OrderOfItsOwn) {
  const Attributes inOrder = Attributes().ints("in_order", {1});
  const auto isSame = [&](auto tag) {
    using T = decltype(tag);
    for (bool hasDenseRows : {false, true}) {
      const Inputs in = inputsOf<T>(hasDenseRows);
      EXPECT_EQ(
          mixed<T>("MixtureOfExperts", in, true, inOrder).template values<T>(),
          mixed<T>("MixtureOfExperts", in, false, inOrder)
              .template values<T>());
    }
  };
  isSame(0.0f);
  isSame(0.0);
  isSame(Float16());
  isSame(BFloat16());
}

template <typename T> void rounds(double tolerance) {
  constexpr char kernel[] = "MixtureOfExpertsBFloat16";
  for (bool hasDenseRows : {false, true}) {
    const Inputs in = inputsOf<T>(hasDenseRows);
    const Tensor out = mixed<T>(kernel, in, /*packs=*/true);
    expectMixed<T>(in, out, toBFloat16, tolerance);
    expectBitsOfItsOwn<T>(kernel, in, out);
    EXPECT_EQ(mixed<T>(kernel, in, /*packs=*/false).template values<T>(),
              out.template values<T>());
  }
}

TEST(ExpertPacking, RoundsBothOperands) {
  // What is between the products is rounded, and may fall to either side.
  rounds<float>(0.1);
  rounds<Float16>(0.1);
  // Without rounding it is further off than rounding goes to either side.
  const Inputs in = inputsOf<float>(true);
  const Tensor out =
      mixed<float>("MixtureOfExpertsBFloat16", in, /*packs=*/true);
  double ofRounded = 0, ofExact = 0;
  for (int64_t n = 0; n < kTokens; ++n)
    for (int64_t o = 0; o < kOutputs; ++o) {
      const double found = out.at<float>({n, o});
      ofRounded += std::abs(found - expectedAt<float>(in, n, o, toBFloat16));
      ofExact += std::abs(found - expectedAt<float>(in, n, o, asIs));
    }
  EXPECT_LT(ofRounded * 5, ofExact);
}

TEST(ExpertPacking, RoundsNoDoubles) {
  const Inputs in = inputsOf<double>(true);
  const Tensor out = Tensor::filled<double>({kTokens, kOutputs}, 9);
  EXPECT_FALSE(runKernel("MixtureOfExpertsBFloat16", in, {out}).isOk());
}

/// Weights that were rounded when they were compiled: halves times one number.
TEST(ExpertPacking, HalvesTimesOne) {
  Inputs in = inputsOf<float>(/*hasDenseRows=*/false);
  const auto rounded = [](const Tensor &weights) {
    const Tensor halves = Tensor::filled<BFloat16>(weights.dims(), BFloat16());
    forEach(weights.dims(), [&](const Dims &at) {
      halves.view.as<BFloat16>()[halves.offset(at)] =
          BFloat16(weights.at<float>(at));
    });
    return halves;
  };
  const Tensor one = Tensor::filled<float>({1, 1, 1}, 1);
  const Inputs halves = {in[0],
                         in[1],
                         in[2],
                         rounded(in[3]),
                         rounded(in[4]),
                         Tensor::absent(),
                         one.broadcast({kExperts, kInputs, kHidden}),
                         Tensor::absent(),
                         one.broadcast({kExperts, kHidden, kOutputs})};
  for (size_t i : {3, 4})
    forEach(in[i].dims(), [&](const Dims &at) {
      float &number = in[i].view.as<float>()[in[i].offset(at)];
      number = float(BFloat16(number));
    });
  for (bool packs : {false, true})
    expectMixed<float>(in, mixed<float>("MixtureOfExperts", halves, packs),
                       asIs, 2e-5);
  // They are read as they were packed, and nothing is left of the others.
  std::vector<TensorView> views;
  for (const Tensor &each : halves)
    views.push_back(each.view);
  KernelCall call;
  call.inputs = views.data();
  call.numInputs = int(views.size());
  const TensorView out = Tensor::filled<float>({kTokens, kOutputs}, 0).view;
  call.outputs = &out;
  call.numOutputs = 1;
  for (const OperandPacking &packing :
       findHostKernel("MixtureOfExperts")->packings)
    EXPECT_TRUE(packing.replaces(call));
}

/// The memory of packed fields is that of the file.
TEST(ExpertPacking, FieldsKeepTheirBits) {
  const Kernel *kernel = findHostKernel("MixtureOfExperts");
  ASSERT_TRUE(kernel && kernel->packings.size() == 2);
  const auto bytesOf = [&](const Tensor &weights) {
    return packedBytes(kernel->packings[0], weights.view);
  };
  EXPECT_EQ(bytesOf(Tensor::filled<int8_t>({3, 128, 64}, 1)), 3 * 128 * 64);
  EXPECT_EQ(bytesOf(Tensor::filled<Float16>({3, 128, 64}, Float16())),
            3 * 128 * 64 * 2);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({3, 128, 64}, 1)), 3 * 128 * 64 * 4);
  EXPECT_EQ(bytesOf(Tensor::filled<double>({3, 128, 64}, 1)), 0);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({0, 128, 64}, 1)), 0);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({3, 128, 0}, 1)), 0);
}

} // namespace
} // namespace shardc::runtime::host
