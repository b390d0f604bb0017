#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "tests/unit/kernels/KernelTest.h"

#include <bit>
#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

using artifact::ElementType;

/// Of every kind of processor that this one can stand for.
class RowLoops : public testing::TestWithParam<const Loops *> {
protected:
  const Loops &loops() const { return *GetParam(); }
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<int64_t> kCounts = {0, 1, 7, 8, 15, 16, 17, 33, 100};

std::vector<float> scores(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(20 * std::sin(float(i * i + 1)));
  return values;
}

TEST_P(RowLoops, MaximumOfRaggedRows) {
  for (int64_t count : kCounts)
    for (int64_t largest = 0; largest < count; ++largest) {
      std::vector<float> row = scores(count);
      row[size_t(largest)] = 30;
      EXPECT_EQ(loops().maximumOfRow(row.data(), count), 30);
      row[size_t(largest)] = kNaN;
      EXPECT_TRUE(std::isnan(loops().maximumOfRow(row.data(), count)));
    }
  EXPECT_EQ(loops().maximumOfRow(nullptr, 0), -kInfinity);
}

TEST_P(RowLoops, ExponentialsAreLibrarysToThreeUlp) {
  for (int64_t count : kCounts) {
    std::vector<float> row = scores(count);
    if (count > 8)
      row[3] = -kInfinity;
    double expected = 0;
    const std::vector<float> before = row;
    const float sum = loops().exponentialsOfRow(row.data(), count, 20);
    for (size_t i = 0; i < row.size(); ++i) {
      const double value = std::exp(double(before[i] - 20.f));
      EXPECT_NEAR(row[i], value, value * 3 * 0x1p-23);
      expected += value;
    }
    EXPECT_NEAR(sum, expected, expected * 1e-6);
  }
}

TEST_P(RowLoops, ExponentialsOverTheWholeRange) {
  for (float x = 0; x > -120; x -= 0.37f) {
    float value = x;
    const double exact = std::exp(double(x));
    const float sum = loops().exponentialsOfRow(&value, 1, 0);
    EXPECT_EQ(sum, value);
    EXPECT_NEAR(value, x < -87 ? 0 : exact, exact * 3 * 0x1p-23) << x;
  }
  std::vector<float> row(20, -1.f);
  row[5] = row[18] = kNaN;
  EXPECT_TRUE(std::isnan(loops().exponentialsOfRow(row.data(), 20, 0)));
  EXPECT_TRUE(std::isnan(row[5]) && std::isnan(row[18]));
}

TEST_P(RowLoops, MasksHideWhateverTheScoreIs) {
  for (int64_t count : kCounts) {
    std::vector<float> hidden = scores(count), biased = hidden;
    std::vector<uint8_t> shown;
    std::vector<float> bias;
    for (int64_t i = 0; i < count; ++i) {
      shown.push_back(i % 3 == 0 ? 0 : uint8_t(i + 1));
      bias.push_back(i % 3 == 0 ? -kInfinity : float(i));
    }
    if (count > 0)
      hidden[0] = biased[0] = kNaN;
    const std::vector<float> before = hidden;
    loops().hideOfRow(hidden.data(), shown.data(), count);
    loops().addToRow.ofFloat(
        biased.data(), reinterpret_cast<const std::byte *>(bias.data()), count);
    for (size_t i = 0; i < hidden.size(); ++i) {
      EXPECT_EQ(hidden[i], i % 3 == 0 ? -kInfinity : before[i]);
      EXPECT_EQ(biased[i], i % 3 == 0 ? -kInfinity : before[i] + float(i));
    }
  }
}

/// All 65536 of them, and floats on both sides of each.
template <typename T> void convertsHalves(const Loops &loops) {
  const ElementType element = elementTypeOf<T>();
  std::vector<uint16_t> all(65536), back(3 * all.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = uint16_t(i);
  std::vector<float> wide(all.size()), near;
  const auto *halves = reinterpret_cast<const T *>(all.data());
  loops.widenRow.of(element)(reinterpret_cast<const std::byte *>(halves),
                             int64_t(all.size()), wide.data());
  for (size_t i = 0; i < all.size(); ++i) {
    const float number = halves[i];
    if (std::isnan(number))
      ASSERT_TRUE(std::isnan(wide[i]));
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]),
                std::bit_cast<uint32_t>(number));
    // Halfway to the next one, and beside that.
    const uint32_t halfway =
        std::bit_cast<uint32_t>(number) +
        (element == artifact::ElementType_BFloat16 ? 0x8000u : 0x1000u);
    for (uint32_t bits : {halfway - 1, halfway, halfway + 1})
      near.push_back(std::bit_cast<float>(bits));
  }
  for (int64_t count : {int64_t(0), int64_t(5), int64_t(near.size()) - 1})
    loops.narrowRow.of(element)(near.data(), count,
                                reinterpret_cast<std::byte *>(back.data()));
  for (size_t i = 0; i + 1 < near.size(); ++i) {
    const float found = reinterpret_cast<const T *>(back.data())[i];
    const float expected = T(near[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(found));
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(found),
                std::bit_cast<uint32_t>(expected));
  }
}

TEST_P(RowLoops, HalvesAsFloatsAndBack) {
  convertsHalves<Float16>(loops());
  convertsHalves<BFloat16>(loops());
}

/// A narrow type's scores are of that type, and so is what is added to them.
template <typename T> void addsRounded(const Loops &loops) {
  for (int64_t count : kCounts) {
    std::vector<float> row = scores(count);
    const std::vector<float> before = row;
    std::vector<T> bias;
    for (int64_t i = 0; i < count; ++i)
      bias.push_back(T(i % 5 == 4 ? -kInfinity : 0.3f * float(i)));
    loops.addToRow.of(elementTypeOf<T>())(
        row.data(), reinterpret_cast<const std::byte *>(bias.data()), count);
    for (size_t i = 0; i < row.size(); ++i)
      EXPECT_EQ(row[i], i % 5 == 4
                            ? -kInfinity
                            : float(T(float(T(before[i])) + float(bias[i]))));
  }
}

TEST_P(RowLoops, BiasesOfHalves) {
  addsRounded<Float16>(loops());
  addsRounded<BFloat16>(loops());
}

template <typename T>
void multipliesRows(const Loops &loops, int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
  const Tensor a = Tensor::integers<float>({m, k + 1}, 1).slice(1, 1, k);
  const Tensor b = Tensor::integers<T>({n, k + 2}, 2).slice(1, 1, k);
  const Tensor room = Tensor::filled<float>({m, n + 1}, 9);
  const Tensor c = room.slice(1, 0, n);
  RowProduct product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = a.view.as<float>();
  product.rowStepA = a.view.strides[0];
  product.b = b.view.data;
  product.rowStepB = b.view.strides[0];
  product.c = c.view.as<float>();
  product.leadingC = c.view.strides[0];
  product.alpha = 2;
  loops.multiplyRows.of(b.view.element)(product);
  forEach(c.dims(), [&](const Dims &at) {
    double sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += double(a.at<float>({at[0], l})) * double(b.at<T>({at[1], l}));
    EXPECT_EQ(c.at<float>(at), 2 * sum);
  });
  for (int64_t i = 0; i < m; ++i)
    EXPECT_EQ(room.at<float>({i, n}), 9);
}

template <typename T> void multipliesRows(const Loops &loops) {
  for (int64_t k : {0, 1, 15, 16, 50, 128})
    for (int64_t n : {0, 1, 5, 16, 37})
      for (int64_t m : {1, 2, 3, 4, 7, 8})
        multipliesRows<T>(loops, m, n, k);
}

TEST_P(RowLoops, ProductsOfRaggedRows) {
  multipliesRows<float>(loops());
  multipliesRows<Float16>(loops());
  multipliesRows<BFloat16>(loops());
  multipliesRows<int8_t>(loops());
}

/// One product alone has the bits that it has among others; numbers of B up to
/// `most`, whatever its elements are read as.
template <typename T>
void productsAlone(const Loops &loops, int64_t k, float most = 1,
                   artifact::ElementType readAs = elementTypeOf<T>()) {
  const int64_t m = 7, n = 21;
  const auto noise = [&](auto type, int64_t rows, float phase, float most) {
    using N = decltype(type);
    const Tensor made = Tensor::filled<N>({rows, k}, N(0.f));
    for (int64_t i = 0; i < rows * k; ++i)
      made.view.as<N>()[i] =
          N(std::fabs(most * std::sin(float(i * i) + phase)));
    return made;
  };
  const Tensor a = noise(float(), m, 1, 1), b = noise(T(), n, 2, most);
  const auto multiply = [&](const Tensor &x, const Tensor &y) {
    const Tensor c = Tensor::filled<float>({x.view.dims[0], y.view.dims[0]}, 9);
    RowProduct product;
    product.m = x.view.dims[0];
    product.n = y.view.dims[0];
    product.k = k;
    product.a = x.view.as<float>();
    product.rowStepA = k;
    product.b = y.view.data;
    product.rowStepB = k;
    product.c = c.view.as<float>();
    product.leadingC = product.n;
    loops.multiplyRows.of(readAs)(product);
    return c;
  };
  const Tensor all = multiply(a, b);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const Tensor one = multiply(a.slice(0, i, 1), b.slice(0, j, 1));
      ASSERT_EQ(one.at<float>({0, 0}), all.at<float>({i, j})) << i << ", " << j;
    }
}

TEST_P(RowLoops, ProductsOfRowsDoNotDependOnTheOthers) {
  for (int64_t k : {13, 100, 111}) {
    productsAlone<float>(loops(), k);
    productsAlone<Float16>(loops(), k);
    productsAlone<BFloat16>(loops(), k);
    productsAlone<int8_t>(loops(), k, 100);
    productsAlone<uint8_t>(loops(), k, 100, artifact::ElementType_Float8E4M3FN);
  }
}

template <typename T> void addsRows(const Loops &loops) {
  for (int64_t k : {0, 1, 5, 64})
    for (int64_t n : {16, 48, 64, 144})
      for (int64_t m : {1, 3, 4, 8}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        const Tensor weights =
            Tensor::integers<float>({m, k + 1}, 1).slice(1, 0, k);
        const Tensor b = Tensor::integers<T>({k, n + 2}, 2).slice(1, 1, n);
        const Tensor c = Tensor::integers<float>({m, n + 16}, 3);
        const Tensor before = c.copy();
        WeightedRows sum;
        sum.m = m;
        sum.n = n;
        sum.k = k;
        sum.weights = weights.view.as<float>();
        sum.leadingWeights = weights.view.strides[0];
        sum.b = b.view.data;
        sum.rowStepB = b.view.strides[0];
        sum.c = c.view.as<float>();
        sum.leadingC = c.view.strides[0];
        loops.addRows.of(b.view.element)(sum);
        forEach(c.dims(), [&](const Dims &at) {
          double expected = before.at<float>(at);
          for (int64_t l = 0; at[1] < n && l < k; ++l)
            expected += double(weights.at<float>({at[0], l})) *
                        double(b.at<T>({l, at[1]}));
          ASSERT_EQ(c.at<float>(at), expected);
        });
      }
}

/// In the order of products with panels, which add them up in attention of more
/// queries, or with --bitwise.
TEST_P(RowLoops, SumsOfWeightedRowsAreThoseOfPanels) {
  const int64_t m = 7, n = 80, k = 37;
  const auto noise = [](int64_t rows, int64_t columns, float phase) {
    const Tensor made = Tensor::filled<float>({rows, columns}, 0);
    for (int64_t i = 0; i < rows * columns; ++i)
      made.view.as<float>()[i] = std::sin(float(i * i) + phase);
    return made;
  };
  const Tensor weights = noise(m, k, 1), b = noise(k, n, 2);
  const Tensor c = noise(m, n, 3), expected = c.copy();
  WeightedRows sum;
  sum.m = m;
  sum.n = n;
  sum.k = k;
  sum.weights = weights.view.as<float>();
  sum.leadingWeights = k;
  sum.b = b.view.data;
  sum.rowStepB = n;
  sum.c = c.view.as<float>();
  sum.leadingC = n;
  loops().addRows.ofFloat(sum);
  PackedProduct product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = weights.view.as<float>();
  product.rowStepA = k;
  product.setRows(b.view.data, artifact::ElementType_Float32, n);
  product.c = expected.view.as<float>();
  product.leadingC = n;
  product.beta = 1;
  loops().multiplyPanels.ofFloat(product, {0, n / kPanelColumns});
  EXPECT_EQ(c.values<float>(), expected.values<float>());
}

TEST_P(RowLoops, SumsOfWeightedRows) {
  addsRows<float>(loops());
  addsRows<Float16>(loops());
  addsRows<BFloat16>(loops());
  addsRows<int8_t>(loops());
}

TEST_P(RowLoops, BytesTimesTheScaleOfTheirRow) {
  Float8Codec codec;
  ASSERT_TRUE(findFloat8(artifact::ElementType_Float8E4M3FN, codec));
  for (int64_t columns : {1, 16, 39, 256}) {
    const int64_t rows = 3;
    const Tensor bytes = Tensor::filled<uint8_t>({rows, columns + 3}, 0);
    for (int64_t i = 0; i < bytes.view.numElements(); ++i)
      bytes.view.as<uint8_t>()[i] = uint8_t(i * 7);
    const float scales[] = {0.5f, 9, 3, 9, -0.3f};
    for (bool isInt8 : {true, false}) {
      const Tensor to = Tensor::filled<float>({rows + 1, columns}, 9);
      ScaledRows scaled;
      scaled.rows = rows;
      scaled.columns = columns;
      scaled.from = bytes.view.data;
      scaled.rowStep = columns + 3;
      scaled.scales = scales;
      scaled.scaleStep = 2;
      scaled.to = to.view.as<float>();
      (isInt8 ? loops().scaleInt8 : loops().scaleFloat8E4M3)(scaled);
      forEach(to.dims(), [&](const Dims &at) {
        if (at[0] == rows) {
          ASSERT_EQ(to.at<float>(at), 9);
          return;
        }
        const uint8_t byte = bytes.at<uint8_t>(at);
        const float number =
            isInt8 ? float(int8_t(byte)) : float(codec.decode(byte));
        const float expected = number * scales[2 * at[0]];
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(to.at<float>(at)));
        else
          EXPECT_EQ(to.at<float>(at), expected) << int(byte);
      });
    }
  }
}

/// Rows of bytes, none of them a NaN of e4m3, and what each byte is.
struct Float8Rows {
  Float8Codec codec;
  Tensor bytes;

  Float8Rows(int64_t rows, int64_t columns, int64_t room)
      : bytes(Tensor::filled<uint8_t>({rows, columns + room}, 0)) {
    EXPECT_TRUE(findFloat8(artifact::ElementType_Float8E4M3FN, codec));
    for (int64_t i = 0; i < bytes.view.numElements(); ++i) {
      const uint8_t byte = uint8_t(i * 7 + i / 256);
      bytes.view.as<uint8_t>()[i] = (byte & 0x7f) == 0x7f ? 0x40 : byte;
    }
  }
  float at(int64_t row, int64_t column) const {
    return float(codec.decode(bytes.at<uint8_t>({row, column})));
  }
};

/// With rows of a unit matrix, each number of B by itself.
Tensor unitMatrix(int64_t size) {
  const Tensor made = Tensor::filled<float>({size, size}, 0);
  for (int64_t i = 0; i < size; ++i)
    made.view.as<float>()[i * size + i] = 1;
  return made;
}

TEST_P(RowLoops, ProductsWithEachNumberOfFloat8) {
  for (int64_t k : {5, 16, 64, 150}) {
    const int64_t n = 37;
    Float8Rows b(n, k, 3);
    const Tensor a = unitMatrix(k), c = Tensor::filled<float>({k, n}, 9);
    RowProduct product;
    product.m = product.k = k;
    product.n = n;
    product.a = a.view.as<float>();
    product.rowStepA = k;
    product.b = b.bytes.view.data;
    product.rowStepB = k + 3;
    product.c = c.view.as<float>();
    product.leadingC = n;
    loops().multiplyRows.ofFloat8E4M3(product);
    forEach(c.dims(), [&](const Dims &at) {
      ASSERT_EQ(c.at<float>(at), b.at(at[1], at[0])) << at[0] << ", " << at[1];
    });
    // A NaN is one in all products with it, and in no other.
    b.bytes.view.as<uint8_t>()[4 * (k + 3) + k - 1] = 0xff;
    loops().multiplyRows.ofFloat8E4M3(product);
    forEach(c.dims(), [&](const Dims &at) {
      ASSERT_EQ(std::isnan(c.at<float>(at)), at[1] == 4);
    });
  }
}

TEST_P(RowLoops, SumsWithEachNumberOfFloat8) {
  const int64_t k = 37, n = 208;
  Float8Rows b(k, n, 3);
  b.bytes.view.as<uint8_t>()[4 * (n + 3) + 70] = 0x7f;
  const Tensor weights = unitMatrix(k), c = Tensor::filled<float>({k, n}, 0);
  WeightedRows sum;
  sum.m = sum.k = k;
  sum.n = n;
  sum.weights = weights.view.as<float>();
  sum.leadingWeights = k;
  sum.b = b.bytes.view.data;
  sum.rowStepB = n + 3;
  sum.c = c.view.as<float>();
  sum.leadingC = n;
  loops().addRows.ofFloat8E4M3(sum);
  forEach(c.dims(), [&](const Dims &at) {
    if (at[1] == 70)
      ASSERT_TRUE(std::isnan(c.at<float>(at)));
    else
      ASSERT_EQ(c.at<float>(at), b.at(at[0], at[1])) << at[0] << ", " << at[1];
  });
}

INSTANTIATE_TEST_SUITE_P(Processors, RowLoops,
                         testing::ValuesIn(supportedLoops().begin(),
                                           supportedLoops().end()));

} // namespace
} // namespace shardc::runtime::host
