// MixtureOfExperts.
#include "tests/unit/kernels/FieldWeights.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

struct Mixture {
  Tensor tokens, indices, weights, up, down;
  Tensor bias = Tensor::absent();
  std::string_view activation = "silu", gate = "none";
  double alpha = 1, shift = 0, limit = INFINITY;

  Attributes attributes() const {
    Attributes list = Attributes()
                          .text("activation", activation)
                          .text("gate", gate)
                          .number("alpha", alpha)
                          .number("shift", shift);
    return std::isinf(limit) ? list : std::move(list).number("limit", limit);
  }
};

double activate(const Mixture &s, double x) {
  if (s.activation == "silu")
    return x / (1 + std::exp(-s.alpha * x));
  if (s.activation == "relu")
    return std::max(x, 0.0);
  if (s.activation == "gelu")
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2)));
  if (s.activation == "gelu_tanh")
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

/// Element i of what is between the products, for a row of the first.
double hiddenAt(const Mixture &s, const std::vector<double> &row, int64_t i) {
  if (s.gate == "none")
    return activate(s, row[i]);
  const int64_t half = int64_t(row.size()) / 2;
  const bool isBeside = s.gate == "interleaved";
  const double g = row[isBeside ? 2 * i : i];
  const double u = row[isBeside ? 2 * i + 1 : half + i];
  return activate(s, std::min(g, s.limit)) *
         (std::min(std::max(u, -s.limit), s.limit) + s.shift);
}

template <typename T>
double mixtureAt(const Mixture &s, int64_t token, int64_t output) {
  double sum = 0;
  for (int64_t k = 0; k < s.indices.view.dims[1]; ++k) {
    const int64_t chosen =
        s.indices.view.as<int64_t>()[s.indices.offset({token, k})];
    const int64_t e = chosen < 0 ? chosen + s.up.view.dims[0] : chosen;
    std::vector<double> row(s.up.view.dims[2]);
    for (int64_t h = 0; h < int64_t(row.size()); ++h) {
      row[h] = s.bias.view.isAbsent() ? 0 : double(s.bias.at<T>({e, h}));
      for (int64_t d = 0; d < s.tokens.view.dims[1]; ++d)
        row[h] +=
            double(s.tokens.at<T>({token, d})) * double(s.up.at<T>({e, d, h}));
    }
    double result = 0;
    for (int64_t f = 0; f < s.down.view.dims[1]; ++f)
      result += hiddenAt(s, row, f) * double(s.down.at<T>({e, f, output}));
    sum += double(s.weights.at<T>({token, k})) * result;
  }
  return sum;
}

template <typename T> void expectMixture(const Mixture &s, double tolerance) {
  const Dims dims = {s.tokens.view.dims[0], s.down.view.dims[2]};
  const Tensor plain = Tensor::filled<T>(dims, T(Compute<T>(9)));
  for (const Tensor &out : {plain, plain.scattered()}) {
    EXPECT_OK(runKernel("MixtureOfExperts",
                        {s.tokens, s.indices, s.weights, s.up, s.down, s.bias},
                        {out}, s.attributes()));
    forEach(dims, [&](const Dims &at) {
      const double expected = mixtureAt<T>(s, at[0], at[1]);
      EXPECT_NEAR(double(out.at<T>(at)), expected,
                  tolerance * (1 + std::abs(expected)));
    });
  }
}

/// 150 tokens, all through expert 2, and one of the others but expert 1.
template <typename T> Mixture twoOfFour(int64_t wide) {
  Tensor indices = Tensor::filled<int64_t>({150, 2}, 2);
  for (int64_t n = 0; n < 150; ++n)
    indices.view.as<int64_t>()[2 * n] = n % 3 == 0 ? -4 : 3;
  return {Tensor::integers<T>({150, 3}, 1), indices,
          Tensor::integers<T>({150, 2}, 2),
          Tensor::integers<T>({4, 3, wide}, 3),
          Tensor::integers<T>({4, 4, 5}, 4)};
}

TEST(MixtureOfExperts, EachActivation) {
  Mixture s = twoOfFour<float>(4);
  for (std::string_view name :
       {"silu", "gelu", "gelu_tanh", "relu", "identity"}) {
    s.activation = name;
    expectMixture<float>(s, 1e-5);
  }
}

template <typename T> void gates(double tolerance) {
  Mixture s = twoOfFour<T>(8);
  for (std::string_view gate : {"halves", "interleaved"}) {
    s.gate = gate;
    s.bias = Tensor::absent();
    s.limit = INFINITY;
    s.alpha = 1;
    s.shift = 0;
    expectMixture<T>(s, tolerance);
    s.bias = Tensor::integers<T>({4, 8}, 5);
    s.limit = 2;
    s.alpha = 1.702;
    s.shift = 1;
    expectMixture<T>(s, tolerance);
    s.up = s.up.scattered();
    s.tokens = s.tokens.scattered();
    s.indices = s.indices.scattered();
  }
}

TEST(MixtureOfExperts, Gates) {
  gates<float>(1e-5);
  gates<double>(1e-12);
  gates<Float16>(2e-3);
  gates<BFloat16>(2e-2);
}

/// Numbers of 8 bits with a scale for each row, or for each two.
TEST(MixtureOfExperts, QuantizedWeights) {
  Mixture s = twoOfFour<float>(4);
  const Tensor up = Tensor::integers<int8_t>({4, 3, 4}, 5);
  const Tensor down = Tensor::integers<int8_t>({4, 4, 5}, 6);
  const Tensor upScale = Tensor::integers<float>({4, 1, 4}, 7);
  const Tensor downScale = Tensor::integers<float>({4, 2, 5}, 8);
  forEach({4, 3, 4}, [&](const Dims &at) {
    s.up.view.as<float>()[s.up.offset(at)] =
        float(up.at<int8_t>(at)) * upScale.at<float>({at[0], 0, at[2]});
  });
  forEach({4, 4, 5}, [&](const Dims &at) {
    s.down.view.as<float>()[s.down.offset(at)] =
        float(down.at<int8_t>(at) - 1) *
        downScale.at<float>({at[0], at[1] / 2, at[2]});
  });
  const Tensor zero = Tensor::filled<int8_t>({4, 2, 5}, 1);
  const Tensor out = Tensor::filled<float>({150, 5}, 9);
  EXPECT_OK(runKernel(
      "MixtureOfExperts",
      {s.tokens, s.indices, s.weights, up, down, Tensor::absent(),
       upScale.broadcast({4, 3, 4}), Tensor::absent(), downScale, zero},
      {out},
      s.attributes().ints("down_axis", {1}).ints("down_block_size", {2})));
  forEach({150, 5}, [&](const Dims &at) {
    const double expected = mixtureAt<float>(s, at[0], at[1]);
    EXPECT_NEAR(double(out.at<float>(at)), expected,
                1e-5 * (1 + std::abs(expected)));
  });
}

/// Some tokens' results, to parts of the largest one, since sums cancel.
template <typename T>
void expectSome(const Mixture &s, const Tensor &out, double tolerance) {
  std::vector<double> found, expected;
  double most = 0;
  for (int64_t n = 0; n < out.view.dims[0]; n += 13)
    for (int64_t o = 0; o < out.view.dims[1]; o += 5) {
      found.push_back(double(out.at<T>({n, o})));
      expected.push_back(mixtureAt<T>(s, n, o));
      most = std::max(most, std::abs(expected.back()));
    }
  ASSERT_GT(most, 0);
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * most) << "number " << i;
}

/// Fields of all experts, [e, rows, columns], of columns that lie dense, with a
/// scale and a zero point for each block of 16 rows of a column.
template <typename T> struct ExpertFields {
  static constexpr int64_t kExperts = 4, kBlock = 16;

  ExpertFields(ElementType element, int64_t rows, int64_t columns,
               uint32_t seed)
      : fields(element, kExperts * columns, rows, seed),
        points(element, kExperts * columns, rows / kBlock, seed + 1),
        data(seen(fields.tensor, columns)), zero(seen(points.tensor, columns)),
        scale(Tensor::integers<T>({kExperts, columns, rows / kBlock}, seed + 2)
                  .permuted({0, 2, 1})),
        numbers(Tensor::filled<T>({kExperts, rows, columns}, T())) {
    forEach({kExperts, rows, columns}, [&](const Dims &at) {
      const int64_t line = at[0] * columns + at[2], block = at[1] / kBlock;
      numbers.view.template as<T>()[numbers.offset(at)] = T(Compute<T>(
          (fields.at(line, at[1]) - points.at(line, block)) *
          double(scale.template at<T>({at[0], block, at[2]})) / 1024));
    });
    forEach({kExperts, rows / kBlock, columns}, [&](const Dims &at) {
      T &each = scale.view.template as<T>()[scale.offset(at)];
      each = T(Compute<T>(double(each) / 1024));
    });
  }

  /// [e * columns, rows] as [e, rows, columns].
  static Tensor seen(const Tensor &lines, int64_t columns) {
    Tensor view = lines;
    const int64_t rows = lines.view.dims[1];
    view.view.rank = 3;
    const int64_t dims[] = {kExperts, rows, columns};
    const int64_t strides[] = {columns * rows, 1, rows};
    std::copy(dims, dims + 3, view.view.dims);
    std::copy(strides, strides + 3, view.view.strides);
    return view;
  }

  Fields fields, points;
  Tensor data, zero, scale, numbers;
};

/// 150 tokens, all through expert 2, and each also through another one.
template <typename T> void readsFields(ElementType element, double tolerance) {
  const int64_t inputs = 32, wide = 32, outputs = 19;
  const ExpertFields<T> up(element, inputs, 2 * wide, 3);
  const ExpertFields<T> down(element, wide, outputs, 4);
  Mixture s = twoOfFour<T>(4);
  s.tokens = Tensor::integers<T>({150, inputs}, 1);
  s.up = up.numbers;
  s.down = down.numbers;
  s.gate = "halves";
  const auto run = [&](int64_t first, int64_t count, const Tensor &out,
                       bool packs = false) {
    EXPECT_OK((packs ? runPacked : runKernel)(
        "MixtureOfExperts",
        {s.tokens.slice(0, first, count), s.indices.slice(0, first, count),
         s.weights.slice(0, first, count), up.data, down.data, Tensor::absent(),
         up.scale, up.zero, down.scale, down.zero},
        {out},
        s.attributes()
            .ints("up_axis", {1})
            .ints("up_block_size", {16})
            .ints("down_axis", {1})
            .ints("down_block_size", {16})));
  };
  const Tensor out = Tensor::filled<T>({150, outputs}, T(Compute<T>(9)));
  run(0, 150, out);
  expectSome<T>(s, out, tolerance);
  const Tensor packed = Tensor::filled<T>({150, outputs}, T(Compute<T>(9)));
  run(0, 150, packed, /*packs=*/true);
  EXPECT_EQ(packed.template values<T>(), out.template values<T>());
  // A token's bits do not depend on the others.
  for (auto [first, count] : {std::pair{0, 1}, {17, 5}, {90, 60}}) {
    const Tensor part = Tensor::filled<T>({count, outputs}, T(Compute<T>(9)));
    run(first, count, part);
    EXPECT_EQ(part.template values<T>(),
              out.slice(0, first, count).template values<T>());
  }
}

TEST(MixtureOfExperts, ReadsFieldsAsTheyLie) {
  for (ElementType element : kElements) {
    readsFields<float>(element, 2e-6);
    readsFields<Float16>(element, 2e-3);
    readsFields<BFloat16>(element, 2e-2);
  }
}

/// Rows of halves as they lie, and columns, which are copied.
template <typename T> void readsRows(double tolerance) {
  Mixture s = twoOfFour<T>(4);
  s.down = Tensor::integers<T>({4, 32, 48}, 4);
  s.gate = "halves";
  for (const Tensor &up :
       {Tensor::integers<T>({4, 3, 64}, 3),
        Tensor::integers<T>({4, 64, 3}, 3).permuted({0, 2, 1})}) {
    s.up = up;
    const Tensor out = Tensor::filled<T>({150, 48}, T(Compute<T>(9)));
    EXPECT_OK(runKernel("MixtureOfExperts",
                        {s.tokens, s.indices, s.weights, s.up, s.down}, {out},
                        s.attributes()));
    expectSome<T>(s, out, tolerance);
  }
}

TEST(MixtureOfExperts, ReadsRowsOfHalves) {
  readsRows<float>(2e-6);
  readsRows<Float16>(2e-3);
  readsRows<BFloat16>(2e-2);
}

TEST(MixtureOfExperts, NoTokensNoHidden) {
  Mixture s = twoOfFour<float>(4);
  Mixture none = s;
  none.tokens = s.tokens.slice(0, 0, 0);
  none.indices = s.indices.slice(0, 0, 0);
  none.weights = s.weights.slice(0, 0, 0);
  expectMixture<float>(none, 0);
  s.up = s.up.slice(2, 0, 0);
  s.down = s.down.slice(1, 0, 0);
  expectMixture<float>(s, 0); // zeros: a rank without a part of the experts
}

TEST(MixtureOfExperts, RanksWithSomeOfTheExpertsSumUp) {
  const Mixture s = twoOfFour<float>(4);
  std::vector<double> sums(150 * 5, 0.0);
  for (auto [first, count] : {std::pair{0, 1}, {1, 0}, {1, 3}}) {
    const Tensor part = Tensor::filled<float>({150, 5}, 9);
    EXPECT_OK(
        runKernel("MixtureOfExperts",
                  {s.tokens, s.indices, s.weights, s.up.slice(0, first, count),
                   s.down.slice(0, first, count)},
                  {part}, s.attributes().ints("experts", {4, first})));
    forEach({150, 5}, [&](const Dims &at) {
      sums[at[0] * 5 + at[1]] += part.at<float>(at);
    });
  }
  forEach({150, 5}, [&](const Dims &at) {
    const double expected = mixtureAt<float>(s, at[0], at[1]);
    EXPECT_NEAR(sums[at[0] * 5 + at[1]], expected,
                1e-5 * (1 + std::abs(expected)));
  });
}

/// Of each choice one rank has the number that one rank has of all, to the bit,
/// and the others have zeros that add nothing, not even to a zero's sign.
template <typename T> void keepsChoicesApart() {
  Mixture s = twoOfFour<T>(4);
  for (int64_t n = 0; n < 30; ++n) // results that are zeros of either sign
    s.weights.view.template as<T>()[2 * n] = T(Compute<T>(n % 2 ? 0.0 : -0.0));
  const Tensor whole = Tensor::filled<T>({150, 2, 5}, T(Compute<T>(9)));
  Tensor sums = Tensor::filled<T>({150, 2, 5}, T(Compute<T>(0)));
  auto run = [&](int64_t first, int64_t count, const Tensor &out) {
    EXPECT_OK(
        runKernel("MixtureOfExperts",
                  {s.tokens, s.indices, s.weights, s.up.slice(0, first, count),
                   s.down.slice(0, first, count)},
                  {out},
                  s.attributes()
                      .ints("experts", {4, first})
                      .ints("keeps_choices", {1})
                      .ints("in_order", {1})));
  };
  run(0, 4, whole);
  for (auto [first, count] : {std::pair{0, 1}, {1, 0}, {1, 3}}) {
    const Tensor part =
        Tensor::filled<T>({150, 2, 5}, T(Compute<T>(9))).scattered();
    run(first, count, part);
    forEach({150, 2, 5}, [&](const Dims &at) {
      T &sum = sums.view.template as<T>()[sums.offset(at)];
      sum = T(Compute<T>(sum) + Compute<T>(part.at<T>(at)));
    });
  }
  EXPECT_EQ(sums.values<std::byte>(), whole.values<std::byte>());
  forEach({150, 5}, [&](const Dims &at) {
    const double expected = mixtureAt<T>(s, at[0], at[1]);
    double sum = 0;
    for (int64_t k : {0, 1})
      sum += double(whole.at<T>({at[0], k, at[1]}));
    EXPECT_NEAR(sum, expected, 0.01 * (1 + std::abs(expected)));
  });
}

TEST(MixtureOfExperts, ChoicesThatStayApart) {
  keepsChoicesApart<float>();
  keepsChoicesApart<double>();
  keepsChoicesApart<Float16>();
}

TEST(MixtureOfExperts, RefusesAnotherExpert) {
  Mixture s = twoOfFour<float>(4);
  s.indices.view.as<int64_t>()[7] = 4;
  const Tensor out = Tensor::filled<float>({150, 5}, 9);
  const Status status =
      runKernel("MixtureOfExperts",
                {s.tokens, s.indices, s.weights, s.up, s.down}, {out});
  EXPECT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("index 4 is outside"), std::string::npos);
}

} // namespace
} // namespace shardc::runtime::host
