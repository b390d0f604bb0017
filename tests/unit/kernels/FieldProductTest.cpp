//===- FieldProductTest.cpp - Products with weights of 2 to 8 bits --------===//

#include "runtime/artifact/ElementNames.h"
#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/tensor/CopyView.h"
#include "tests/unit/kernels/FieldWeights.h"

namespace shardc::runtime::host {
namespace {

enum class Zeros { None, Fields, One, Numbers };

template <typename T>
void expectProduct(const Case &c, Zeros kind, int64_t padding = 0) {
  SCOPED_TRACE(testing::Message()
               << artifact::elementName(c.element) << " " << c.m << " x " << c.k
               << " x " << c.n << ", blocks of " << c.block
               << (c.hasDenseColumns ? ", dense columns" : "") << ", zeros "
               << int(kind));
  const Weights w(c, padding);
  const Tensor a = Tensor::integers<T>({c.m, c.k}, 1);
  const Tensor scale = Tensor::integers<T>(w.parameterDims(), 2);
  const Tensor numbers = Tensor::integers<T>(w.parameterDims(), 3);
  Fields one(c.element, 1, 1, 5);
  std::vector<Tensor> inputs = {a, seen(c, w.data.tensor), parameter(c, scale)};
  if (kind == Zeros::Fields)
    inputs.push_back(parameter(c, w.zeros.tensor));
  else if (kind == Zeros::Numbers)
    inputs.push_back(parameter(c, numbers));
  else if (kind == Zeros::One)
    inputs.push_back(one.tensor.broadcast({c.block == 0 ? c.k : 1, c.n}));
  const Tensor out = Tensor::filled<T>({c.m, c.n}, T(Compute<T>(9)));
  EXPECT_OK(runKernel("MatMulDequantized", inputs, {out}, blocks(c)));
  const Tensor packed = Tensor::filled<T>({c.m, c.n}, T(Compute<T>(9)));
  EXPECT_OK(runPacked("MatMulDequantized", inputs, {packed}, blocks(c)));
  EXPECT_EQ(packed.values<T>(), out.values<T>());
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < c.k; ++l) {
        const Dims at =
            c.hasDenseColumns ? Dims{j, w.blockOf(l)} : Dims{w.blockOf(l), j};
        const double zero = kind == Zeros::Fields    ? w.zeroAt(l, j)
                            : kind == Zeros::Numbers ? numbers.at<T>(at)
                            : kind == Zeros::One     ? one.at(0, 0)
                                                     : 0;
        const double weight =
            T(Compute<T>((w.dataAt(l, j) - zero) * double(scale.at<T>(at))));
        sum += double(a.at<T>({i, l})) * weight;
        size += std::fabs(double(a.at<T>({i, l})) * weight);
      }
      const double step = sizeof(T) == 4 ? 0 : size / 128;
      ASSERT_NEAR(double(out.at<T>({i, j})), sum, step)
          << "at " << i << ", " << j;
    }
}

TEST(FieldProduct, IsTheProductOfTheNumbers) {
  for (ElementType element : kElements)
    for (bool hasDenseColumns : {true, false})
      for (int64_t m : {1, 3, 9})
        for (int64_t n : {1, 150})
          for (int64_t block : {0, 16, 32, 128})
            expectProduct<float>({element, hasDenseColumns, m, 256, n, block},
                                 Zeros::Fields);
}

/// Blocks of depth end inside of those of weights; the last ones are cut.
TEST(FieldProduct, RaggedDepths) {
  for (ElementType element : kElements)
    for (int64_t m : {1, 3, 7})
      for (int64_t k : {1, 2, 7, 33, 80, 383, 801}) {
        expectProduct<float>({element, true, m, k, 37, 32}, Zeros::None, k % 2);
        expectProduct<float>({element, true, m, k, 37, 256}, Zeros::One,
                             96 - k % 2 - k % 32);
        expectProduct<float>({element, false, m, k, 37, 0}, Zeros::Fields, 1);
      }
}

TEST(FieldProduct, EveryKindOfZeroPoint) {
  for (ElementType element : kElements)
    for (Zeros kind : {Zeros::None, Zeros::Fields, Zeros::One, Zeros::Numbers})
      for (int64_t m : {1, 6})
        for (int64_t block : {0, 16, 64})
          for (bool hasDenseColumns : {true, false})
            expectProduct<float>({element, hasDenseColumns, m, 192, 50, block},
                                 kind);
}

/// Those that do not start at a byte, or whose blocks cut words.
TEST(FieldProduct, WhatLiesOtherwiseIsMultipliedAsWell) {
  for (ElementType element : kElements) {
    expectProduct<float>({element, true, 3, 36, 20, 12}, Zeros::Fields);
    expectProduct<float>({element, true, 3, 45, 20, 5}, Zeros::Fields);
    expectProduct<float>({element, false, 3, 45, 21, 3}, Zeros::Fields);
  }
}

TEST(FieldProduct, SixteenBits) {
  for (ElementType element : kElements)
    for (int64_t m : {1, 9})
      for (int64_t block : {0, 32}) {
        expectProduct<Float16>({element, true, m, 64, 40, block},
                               Zeros::Fields);
        expectProduct<BFloat16>({element, true, m, 64, 40, block},
                                Zeros::Fields);
      }
}

TEST(FieldProduct, BitsOfARowDoNotDependOnTheOthers) {
  const int64_t all = 61, k = 900, n = 150;
  for (ElementType element : kElements) {
    const Case c = {element, true, all, k, n, 32};
    const Weights w(c);
    const Tensor a = fractions({all, k}, 1);
    const Tensor scale = fractions(w.parameterDims(), 2);
    const auto run = [&](int64_t first, int64_t rows) {
      const Tensor out = Tensor::filled<float>({rows, n}, 9);
      EXPECT_OK(runKernel("MatMulDequantized",
                          {a.slice(0, first, rows), seen(c, w.data.tensor),
                           seen(c, scale), seen(c, w.zeros.tensor)},
                          {out}, blocks(c)));
      return out;
    };
    const Tensor together = run(0, all);
    for (int64_t rows : {1, 2, 3, 4, 5, 8, 13})
      EXPECT_EQ(run(20, rows).values<float>(),
                together.slice(0, 20, rows).values<float>())
          << rows << " rows";
  }
}

/// Those that begin within a byte are packed one by one.
TEST(FieldProduct, OddStridesArePacked) {
  const int64_t all = 21;
  for (ElementType element : kElements)
    for (bool hasDenseColumns : {true, false})
      for (int64_t block : {0, 16}) {
        const Case c = {element, hasDenseColumns, all, 67, 37, block};
        const Weights w(c);
        const Tensor a = Tensor::integers<float>({all, c.k}, 1);
        const Tensor scale = Tensor::integers<float>(w.parameterDims(), 2);
        const auto run = [&](int64_t rows) {
          const Tensor out = Tensor::filled<float>({rows, c.n}, 9);
          EXPECT_OK(
              runPacked("MatMulDequantized",
                        {a.slice(0, 0, rows), seen(c, w.data.tensor),
                         parameter(c, scale), parameter(c, w.zeros.tensor)},
                        {out}, blocks(c)));
          return out;
        };
        const Tensor together = run(all);
        forEach(together.dims(), [&](const Dims &at) {
          double sum = 0;
          for (int64_t l = 0; l < c.k; ++l) {
            const int64_t b = w.blockOf(l);
            sum += double(a.at<float>({at[0], l})) *
                   (w.dataAt(l, at[1]) - w.zeroAt(l, at[1])) *
                   seen(c, scale).at<float>({b, at[1]});
          }
          ASSERT_EQ(together.at<float>(at), sum);
        });
        for (int64_t rows : {1, 5, 8})
          EXPECT_EQ(run(rows).values<float>(),
                    together.slice(0, 0, rows).values<float>());
      }
}

/// Nor on how they are written down: numbers that were packed give the same.
TEST(FieldProduct, BitsAreThoseOfPackedNumbers) {
  const int64_t m = 3, k = 500, n = 70;
  const Case c = {artifact::ElementType_UInt4, true, m, k, n, 32};
  const Weights w(c);
  const Tensor a = fractions({m, k}, 1),
               scale = fractions(w.parameterDims(), 2);
  const Tensor out = Tensor::filled<float>({m, n}, 9);
  EXPECT_OK(runKernel("MatMulDequantized",
                      {a, seen(c, w.data.tensor), seen(c, scale)}, {out},
                      blocks(c)));
  const Tensor numbers = Tensor::filled<float>({n, k}, 9);
  EXPECT_OK(runKernel("DequantizeLinear", {w.data.tensor, scale}, {numbers},
                      Attributes().ints("axis", {1}).ints("block_size", {32})));
  const Tensor expected = Tensor::filled<float>({m, n}, 9);
  EXPECT_OK(runPacked("MatMul", {a, numbers.permuted({1, 0})}, {expected}));
  EXPECT_EQ(out.values<float>(), expected.values<float>());
}

/// What the kernel says of one of its packings and a call.
static bool readsPackedAlone(size_t packing, std::vector<Tensor> inputs,
                             const Tensor &out, const Attributes &attributes) {
  const Kernel *kernel = findHostKernel("MatMulDequantized");
  std::vector<TensorView> views;
  for (const Tensor &input : inputs)
    views.push_back(input.view);
  const std::vector<KernelAttribute> list = attributes.list();
  KernelCall call;
  call.inputs = views.data();
  call.numInputs = static_cast<int>(views.size());
  call.outputs = &out.view;
  call.numOutputs = 1;
  call.attributes = list.data();
  call.numAttributes = static_cast<int>(list.size());
  return kernel->packings[packing].replaces(call);
}

/// Rank 1 of 2 has rows 128 to 255, whose first block is the third.
TEST(FieldProduct, ThePartOfARank) {
  const Case c = {artifact::ElementType_UInt4, true, 2, 256, 20, 64};
  const Weights w(c);
  const Tensor a = Tensor::integers<float>({2, 128}, 1);
  const Tensor scale = Tensor::integers<float>({20, 4}, 2);
  Tensor part = w.data.tensor;
  part.view.data += 64;
  part.view.dims[1] = 128;
  const Tensor out = Tensor::filled<float>({2, 20}, 9);
  EXPECT_OK(runPacked("MatMulDequantized", {a, seen(c, part), seen(c, scale)},
                      {out},
                      Attributes()
                          .ints("axis", {0})
                          .ints("block_size", {64})
                          .ints("starts", {128})
                          .ints("locals", {128})
                          .ints("globals", {256})));
  forEach(out.dims(), [&](const Dims &at) {
    double sum = 0;
    for (int64_t l = 0; l < 128; ++l)
      sum += double(a.at<float>({at[0], l})) * w.dataAt(l + 128, at[1]) *
             scale.at<float>({at[1], (l + 128) / 64});
    ASSERT_EQ(out.at<float>(at), sum);
  });
}

/// Rank 1 of 2 has rows 112 to 223, of which 16 are of the second block: weights are
/// read as they were packed all the same.
TEST(FieldProduct, APartThatBeginsWithinABlock) {
  for (ElementType element : kElements) {
    const Case c = {element, true, 2, 112, 20, 0};
    const Weights w(c);
    const Tensor a = Tensor::integers<float>({2, 112}, 1);
    const Tensor scale = Tensor::integers<float>({4, 20}, 2);
    const Tensor out = Tensor::filled<float>({2, 20}, 9);
    const Attributes part = Attributes()
                                .ints("axis", {0})
                                .ints("block_size", {64})
                                .ints("starts", {112})
                                .ints("locals", {112})
                                .ints("globals", {224});
    const Tensor weights = seen(c, w.data.tensor);
    EXPECT_OK(runPacked("MatMulDequantized", {a, weights, scale}, {out}, part));
    forEach(out.dims(), [&](const Dims &at) {
      double sum = 0;
      for (int64_t l = 0; l < 112; ++l)
        sum += double(a.at<float>({at[0], l})) * w.dataAt(l, at[1]) *
               scale.at<float>({(l + 112) / 64, at[1]});
      ASSERT_EQ(out.at<float>(at), sum);
    });
    EXPECT_TRUE(readsPackedAlone(0, {a, weights, scale}, out, part));
    EXPECT_FALSE(readsPackedAlone(1, {a, weights, scale}, out, part))
        << "each scale is read several times";
  }
}

/// Scales that differ from row to row, which no loop reads: a row gets the same bits
/// beside others.
TEST(FieldProduct, RowsOfNumbersAreAlone) {
  const int64_t k = 600, n = 40;
  const Tensor weights = Tensor::integers<int8_t>({k, n}, 1);
  const Tensor scale = fractions({k, 1}, 2).broadcast({k, n});
  const Tensor all = fractions({33, k}, 3);
  const Tensor out = Tensor::filled<float>({33, n}, 9);
  EXPECT_OK(runPacked("MatMulDequantized", {all, weights, scale}, {out}));
  for (int64_t count : {1, 2, 8, 16}) {
    Tensor some = all;
    some.view.dims[0] = count;
    const Tensor found = Tensor::filled<float>({count, n}, 9);
    EXPECT_OK(runPacked("MatMulDequantized", {some, weights, scale}, {found}));
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(found.at<float>({i, j}), out.at<float>({i, j})) << count;
  }
}

/// A column of several whose rows begin within a byte.
TEST(FieldProduct, AColumnOfOddRows) {
  const int64_t k = 40, all = 5;
  for (ElementType element : kElements) {
    const Weights w({element, false, 1, k, all, 0});
    const Tensor a = Tensor::integers<float>({2, k}, 1);
    const Tensor one = Tensor::filled<float>({1, 1}, 1).broadcast({k, 1});
    for (int64_t column = 0; column < all; ++column) {
      const Tensor out = Tensor::filled<float>({2, 1}, 9);
      Tensor weights = w.data.tensor;
      weights.view = narrowed(weights.view, 1, column, 1);
      EXPECT_OK(runPacked("MatMulDequantized", {a, weights, one}, {out}));
      for (int64_t i = 0; i < 2; ++i) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += double(a.at<float>({i, l})) * w.dataAt(l, column);
        EXPECT_EQ(out.at<float>({i, 0}), sum);
      }
    }
  }
}

/// What is packed has the bits of the weights, and no more.
TEST(FieldProduct, PackedWeightsAreAsSmallAsTheFile) {
  const int64_t k = 768, n = 3072;
  for (ElementType element : kElements) {
    const Weights w({element, true, 1, k, n, 32});
    const Kernel *kernel = findHostKernel("MatMulDequantized");
    ASSERT_TRUE(kernel && kernel->packings.size() == 2);
    EXPECT_EQ(kernel->packings[0].bytes(seen(w.c, w.data.tensor).view),
              k * n * bitsOf(element) / 8);
  }
}

/// Scales as well; those that are alike in a column or a row stay as they are.
TEST(FieldProduct, PackedScalesAreAsSmallAsTheFile) {
  const Kernel *kernel = findHostKernel("MatMulDequantized");
  ASSERT_TRUE(kernel && kernel->packings.size() == 2);
  const auto bytesOf = [&](const Tensor &scales) {
    return kernel->packings[1].bytes(scales.view);
  };
  EXPECT_EQ(bytesOf(Tensor::filled<float>({24, 3072}, 1)), 24 * 3072 * 4);
  EXPECT_EQ(bytesOf(Tensor::filled<Float16>({24, 3072}, Float16(1))),
            24 * 3072 * 2);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({24, 5}, 1)), 24 * 16 * 4);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({1, 3072}, 1)), 0);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({1, 5}, 1).broadcast({24, 5})), 0);
  EXPECT_EQ(bytesOf(Tensor::filled<float>({24, 1}, 1).broadcast({24, 5})), 0);
}

/// Whether scales of a call are read from what was packed is asked where sizes that
/// requests decide on are 1: of weights with gaps in rows and columns a real call
/// makes numbers, with the scales as they lie.
TEST(FieldProduct, ScalesOfWeightsWithGapsStay) {
  const int64_t n = 40;
  const Tensor every = Tensor::integers<int8_t>({1, 2 * n}, 1);
  Tensor gaps = every;
  gaps.view.dims[1] = n;
  gaps.view.strides[1] = 2;
  const Tensor dense = Tensor::integers<int8_t>({1, n}, 1);
  const Tensor a = Tensor::integers<float>({1, 1}, 1);
  const Tensor scales = Tensor::integers<float>({4, n}, 2);
  const Tensor out = Tensor::filled<float>({1, n}, 9);
  const Attributes blocks =
      Attributes().ints("axis", {0}).ints("block_size", {32});
  const auto areReplaced = [&](const Tensor &weights) {
    return readsPackedAlone(1, {a, weights, scales}, out, blocks);
  };
  EXPECT_TRUE(areReplaced(dense));
  EXPECT_FALSE(areReplaced(gaps));
}

/// A rank that has the later rows of a matrix, and scales of all blocks.
TEST(FieldProduct, PackedScalesOfLaterBlocks) {
  const int64_t k = 64, n = 20, block = 32;
  for (ElementType element : kElements) {
    const Weights w({element, true, 1, k, n, 0});
    const Tensor a = Tensor::integers<float>({2, k}, 1);
    const Tensor scales = Tensor::integers<float>({6, n}, 2);
    const Tensor halves = Tensor::integers<Float16>({6, n}, 2);
    const Tensor out = Tensor::filled<float>({2, n}, 9);
    const Tensor half = Tensor::filled<Float16>({2, n}, Float16(9));
    const Attributes later = Attributes()
                                 .ints("axis", {0})
                                 .ints("block_size", {block})
                                 .ints("starts", {128})
                                 .ints("locals", {k})
                                 .ints("globals", {192});
    EXPECT_OK(runPacked("MatMulDequantized",
                        {a, seen(w.c, w.data.tensor), scales}, {out}, later));
    EXPECT_OK(runPacked("MatMulDequantized",
                        {Tensor::integers<Float16>({2, k}, 1),
                         seen(w.c, w.data.tensor), halves},
                        {half}, later));
    forEach(out.dims(), [&](const Dims &at) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(a.at<float>({at[0], l})) * w.dataAt(l, at[1]) *
               scales.at<float>({4 + l / block, at[1]});
      ASSERT_EQ(out.at<float>(at), sum);
      ASSERT_EQ(float(half.at<Float16>(at)), float(Float16(float(sum))));
    });
  }
}

/// Also those that are not the fastest here.
static void expectLoopsAlike(ElementType element, const Tensor &zeros,
                             bool hasOneZero) {
  const int64_t k = 70, n = 40, panels = 3;
  const Weights w({element, true, 1, k, n, 0});
  const int64_t ofWord = 32 / bitsOf(element),
                words = (k + ofWord - 1) / ofWord;
  const Tensor a = Tensor::integers<float>({kFewRows, k}, 1);
  const Tensor scales = Tensor::integers<float>({panels, 3, 16}, 2);
  std::vector<Tensor> outs;
  for (const Loops *each : supportedLoops()) {
    std::vector<uint32_t> room(size_t(panels * words * 16 + 16));
    uint32_t *to = room.data();
    while (reinterpret_cast<uintptr_t>(to) % 64 != 0)
      ++to;
    for (int64_t p = 0; p < panels; ++p)
      each->gatherWords(
          {w.data.tensor.view.data + p * 16 * k * bitsOf(element) / 8,
           k * bitsOf(element) / 8, std::min<int64_t>(16, n - p * 16),
           (k * bitsOf(element) + 7) / 8, 0},
          to + p * words * 16);
    FieldProduct product;
    product.b = {bitsOf(element) == 2   ? FieldKind::Integer2
                 : bitsOf(element) == 4 ? FieldKind::Integer4
                                        : FieldKind::Integer8,
                 k,
                 to,
                 words * 16,
                 scales.view.as<float>(),
                 zeros.view.as<float>(),
                 3 * 16,
                 16,
                 32,
                 hasOneZero};
    product.n = n;
    product.a = a.view.as<float>();
    product.rowStepA = k;
    for (product.m = 1; product.m <= kFewRows; ++product.m) {
      const Tensor out = Tensor::filled<float>({product.m, n}, 9);
      product.c = out.view.as<float>();
      product.leadingC = n;
      product.adds = product.m % 2 == 0;
      each->multiplyFields(product);
      outs.push_back(out);
    }
  }
  for (size_t i = kFewRows; i < outs.size(); ++i)
    EXPECT_EQ(outs[i].values<float>(), outs[i % kFewRows].values<float>());
}

TEST(FieldProduct, LoopsOfEveryProcessor) {
  const Dims dims = {3, 3, 16}; // panels, blocks, columns
  for (ElementType element : kElements) {
    expectLoopsAlike(element, Tensor::integers<float>(dims, 3), false);
    expectLoopsAlike(element, Tensor::filled<float>(dims, 7.5f), false);
    expectLoopsAlike(element, Tensor::filled<float>(dims, 7.5f), true);
  }
}

TEST(FieldProduct, MatricesThatArePackedInParts) {
  for (bool hasDenseColumns : {true, false})
    expectProduct<float>({artifact::ElementType_UInt8, hasDenseColumns, 1, 2112,
                          2100, hasDenseColumns ? 32 : 0},
                         Zeros::Fields);
}

constexpr std::pair<ElementType, FieldKind> kFloat8Kinds[] = {
    {artifact::ElementType_Float8E4M3FN, FieldKind::Float8E4M3},
    {artifact::ElementType_Float8E4M3FNUZ, FieldKind::Float8E4M3FNUZ},
    {artifact::ElementType_Float8E5M2, FieldKind::Float8E5M2},
    {artifact::ElementType_Float8E5M2FNUZ, FieldKind::Float8E5M2FNUZ}};

TEST(FieldProduct, AllNumbersOf8BitsOfFloat) {
  for (auto [element, kind] : kFloat8Kinds) {
    Float8Codec codec;
    ASSERT_TRUE(findFloat8(element, codec));
    alignas(64) uint32_t words[4 * kPanelColumns]; // 16 rows of 16 columns
    for (uint32_t i = 0; i < 256; ++i) {
      const uint32_t row = i / 16, column = i % 16;
      uint32_t &word = words[row / 4 * kPanelColumns + column];
      word = (row % 4 == 0 ? 0 : word) | i << (row % 4 * 8);
    }
    alignas(64) float scales[16], zeros[16] = {};
    std::fill_n(scales, 16, 1.0f);
    FieldPanels fields;
    fields.kind = kind;
    fields.depth = 16;
    fields.words = words;
    fields.scales = scales;
    fields.zeros = zeros;
    fields.firstRows = fields.blockRows = 16;
    for (const Loops *each : supportedLoops()) {
      alignas(64) float numbers[256];
      each->decodePanel.ofFloat(fields, 0,
                                reinterpret_cast<std::byte *>(numbers));
      for (int i = 0; i < 256; ++i) {
        const auto expected = float(codec.decode(uint8_t(i)));
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(numbers[i])) << i;
          continue;
        }
        EXPECT_EQ(numbers[i], expected) << i;
        EXPECT_EQ(std::signbit(numbers[i]), std::signbit(expected)) << i;
      }
    }
  }
}

/// Weights of 8 bits of float, as exporters have them: a scale for each column,
/// or for each block of one, zero points that are 0 or missing.
template <typename T>
void expectFloat8Product(ElementType element, const Case &c, bool hasZeros) {
  SCOPED_TRACE(testing::Message()
               << artifact::elementName(element) << " " << c.m << " x " << c.k
               << " x " << c.n << ", blocks " << c.block << c.hasDenseColumns);
  Float8Codec codec;
  ASSERT_TRUE(findFloat8(element, codec));
  const Dims lies = c.hasDenseColumns ? Dims{c.n, c.k} : Dims{c.k, c.n};
  Tensor weights = Tensor::integers<int8_t>(lies, 5);
  for (int64_t i = 0; i < c.k * c.n; ++i) // small numbers, none of them NaN
    weights.view.as<uint8_t>()[i] = uint8_t(i * 7 % 64 + i % 2 * 128);
  weights.view.element = element;
  const Weights like(c);
  const Tensor scale = Tensor::integers<T>(like.parameterDims(), 2);
  Tensor zero = Tensor::filled<int8_t>(like.parameterDims(), 0);
  zero.view.element = element;
  const Tensor a = Tensor::integers<T>({c.m, c.k}, 1);
  std::vector<Tensor> inputs = {a, seen(c, weights), parameter(c, scale)};
  if (hasZeros)
    inputs.push_back(parameter(c, zero));
  const Tensor out = Tensor::filled<T>({c.m, c.n}, T(Compute<T>(9)));
  EXPECT_OK(runKernel("MatMulDequantized", inputs, {out}, blocks(c)));
  const Tensor packed = Tensor::filled<T>({c.m, c.n}, T(Compute<T>(9)));
  EXPECT_OK(runPacked("MatMulDequantized", inputs, {packed}, blocks(c)));
  EXPECT_EQ(packed.values<T>(), out.values<T>());
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < c.k; ++l) {
        const Dims at = c.hasDenseColumns ? Dims{j, like.blockOf(l)}
                                          : Dims{like.blockOf(l), j};
        const uint8_t byte =
            weights.view
                .as<uint8_t>()[c.hasDenseColumns ? j * c.k + l : l * c.n + j];
        const double weight =
            T(Compute<T>(codec.decode(byte) * double(scale.at<T>(at))));
        sum += double(a.at<T>({i, l})) * weight;
        size += std::fabs(double(a.at<T>({i, l})) * weight);
      }
      ASSERT_NEAR(double(out.at<T>({i, j})), sum,
                  sizeof(T) == 4 ? size * 1e-6 : size / 128)
          << "at " << i << ", " << j;
    }
}

TEST(FieldProduct, Of8BitsOfFloat) {
  const ElementType any = artifact::ElementType_UInt8; // as wide
  for (auto [element, kind] : kFloat8Kinds)
    for (bool hasDenseColumns : {true, false})
      for (bool hasZeros : {true, false})
        for (int64_t m : {1, 3, 9, 40})
          for (auto [k, n, block] :
               {std::array<int64_t, 3>{64, 40, 32}, {70, 17, 0}, {33, 16, 0}}) {
            const Case c{any, hasDenseColumns, m, k, n, block};
            expectFloat8Product<float>(element, c, hasZeros);
            expectFloat8Product<Float16>(element, c, hasZeros);
          }
}

} // namespace
} // namespace shardc::runtime::host
