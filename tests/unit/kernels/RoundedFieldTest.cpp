//===- RoundedFieldTest.cpp - Quantised weights times bfloat16 ------------===//

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/quant/RoundedFields.h"
#include "runtime/kernels/host/simd/FieldPairs.h"
#include "runtime/kernels/host/simd/Pairs.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/FieldWeights.h"

namespace shardc::runtime::host {
namespace {

double rounded(double value) { return float(BFloat16(float(value))); }

Attributes rounding(const Case &c) {
  return blocks(c).ints("activation_bits", {16});
}

struct Product {
  explicit Product(const Case &c)
      : c(c), w(c), scale(fractions(w.parameterDims(), 2)) {}

  Tensor run(const Tensor &a) const {
    const Tensor out = Tensor::filled<float>({a.view.dims[0], c.n}, 9);
    const Tensor packed = out.copy();
    for (const Tensor &each : {out, packed}) {
      EXPECT_OK((each.view.data == out.view.data ? runKernel : runPacked)(
          "MatMulDequantized",
          {a, seen(c, w.data.tensor), parameter(c, scale),
           parameter(c, w.zeros.tensor)},
          {each}, rounding(c)));
    }
    EXPECT_EQ(packed.values<uint32_t>(), out.values<uint32_t>());
    return packed;
  }
  double weightAt(int64_t l, int64_t j) const {
    const Dims at =
        c.hasDenseColumns ? Dims{j, w.blockOf(l)} : Dims{w.blockOf(l), j};
    return float(w.dataAt(l, j) - w.zeroAt(l, j)) * scale.at<float>(at);
  }

  Case c;
  Weights w;
  Tensor scale;
};

/// The product of what bfloat16 makes of both, in double.
TEST(RoundedFields, BothOperandsAreRounded) {
  if (!roundsFields())
    GTEST_SKIP() << "the processor has no fast products of bfloat16";
  for (int threads : {1, 3}) {
    setHostThreads(threads);
    for (ElementType element : kElements)
      for (bool hasDenseColumns : {true, false})
        for (int64_t m : {1, 17, 40})
          for (int64_t n : {1, 70})
            for (int64_t block : {0, 16, 32})
              for (int64_t k : {3, 500, 4131}) {
                if (k > 500 && (m != 17 || n != 70))
                  continue; // in two parts
                const Case c = {element, hasDenseColumns, m, k, n, block};
                SCOPED_TRACE(testing::Message()
                             << artifact::elementName(element) << " " << m
                             << " x " << k << " x " << n << ", blocks of "
                             << block << (hasDenseColumns ? ", columns" : ""));
                const Product product(c);
                const Tensor a = fractions({m, k}, 1);
                const Tensor out = product.run(a);
                for (int64_t i = 0; i < m; i += 5)
                  for (int64_t j = 0; j < n; ++j) {
                    double sum = 0, size = 0;
                    for (int64_t l = 0; l < k; ++l) {
                      const double term = rounded(a.at<float>({i, l})) *
                                          rounded(product.weightAt(l, j));
                      sum += term;
                      size += std::fabs(term);
                    }
                    ASSERT_NEAR(out.at<float>({i, j}), sum, 1e-6 * size)
                        << "at " << i << ", " << j;
                  }
              }
  }
  setHostThreads(1);
}

TEST(RoundedFields, BitsOfARowDoNotDependOnTheOthers) {
  for (ElementType element : kElements) {
    const Product product({element, true, 61, 5000, 150, 32});
    const Tensor a = fractions({61, 5000}, 1);
    const Tensor together = product.run(a);
    for (int64_t rows : {1, 2, 8, 16, 33})
      EXPECT_EQ(product.run(a.slice(0, 20, rows)).values<float>(),
                together.slice(0, 20, rows).values<float>())
          << rows << " rows";
  }
}

/// What this processor has, by itself: of one block, packed nowhere.
TEST(RoundedFields, InTilesAndByPairs) {
  if (!hasPairs())
    GTEST_SKIP() << "the processor has no products of bfloat16";
  const Product product({artifact::ElementType_UInt4, true, 21, 500, 70, 32});
  const Case &c = product.c;
  const Tensor a = fractions({c.m, c.k}, 1);
  for (bool inTiles : {false, true}) {
    if (inTiles && !hasTiles())
      continue;
    const Tensor out = Tensor::filled<float>({c.m, c.n}, 9);
    const TensorView inputs[] = {a.view, seen(c, product.w.data.tensor).view,
                                 seen(c, product.scale).view,
                                 seen(c, product.w.zeros.tensor).view};
    const Attributes attributes = rounding(c);
    const std::vector<KernelAttribute> list = attributes.list();
    KernelCall call;
    call.attributes = list.data();
    call.numAttributes = list.size();
    call.inputs = inputs;
    call.numInputs = 4;
    call.outputs = &out.view;
    call.numOutputs = 1;
    DequantizedOperands operands;
    EXPECT_OK(operands.read(call, "MatMulDequantized"));
    FieldMatrix matrix;
    ASSERT_TRUE(matrix.read(call, operands));
    AlignedBuffer scratch;
    ASSERT_TRUE(scratch.allocate(roundedScratchBytes(matrix, c.m, c.k, c.n)));
    PackedProduct rows;
    rows.m = c.m;
    rows.n = rows.leadingC = c.n;
    rows.k = rows.rowStepA = c.k;
    rows.a = a.view.as<float>();
    rows.c = out.view.as<float>();
    multiplyRoundedFields(matrix, rows, scratch.data(), inTiles);
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t l = 0; l < c.k; ++l) {
          const double term =
              rounded(a.at<float>({i, l})) * rounded(product.weightAt(l, j));
          sum += term;
          size += std::fabs(term);
        }
        ASSERT_NEAR(out.at<float>({i, j}), sum, 1e-6 * size);
      }
  }
}

/// Each number by itself, to the bit: zero points that are no integers, and
/// scales that are none, tiny, or not finite, as well.
TEST(RoundedFields, DecodesEveryField) {
  if (!hasPairs())
    GTEST_SKIP() << "the processor has no products of bfloat16";
  for (int bits : {2, 4, 8})
    for (float ownZero : {0.f, 8.f, 128.f, -3.f, 255.f, 7.5f, 1e9f})
      for (float ownScale :
           {1.f, -0.0371f, 0.f, 1e-33f, 1e-37f, INFINITY, NAN}) {
        const int64_t ofWord = 32 / bits, depth = 50 * ofWord + 1;
        std::vector<uint32_t> words(51 * 16);
        std::vector<float> scales(2 * 16, ownScale), zeros(2 * 16, ownZero);
        for (size_t i = 0; i < words.size(); ++i)
          words[i] = uint32_t(i * 2654435761u) ^ uint32_t(i << 7);
        scales[20] *= 3;
        FieldPanels fields;
        fields.kind = bits == 2   ? FieldKind::Integer2
                      : bits == 4 ? FieldKind::Integer4
                                  : FieldKind::Integer8;
        fields.depth = depth;
        fields.words = words.data();
        fields.scales = scales.data();
        fields.zeros = zeros.data();
        fields.firstRows = 2 * ofWord;
        fields.blockRows = depth;
        AlignedBuffer out;
        ASSERT_TRUE(out.allocate(tiledDepth(depth) * 16 * 2));
        auto *numbers = reinterpret_cast<BFloat16 *>(out.data());
        std::fill_n(numbers, tiledDepth(depth) * 16, BFloat16(9.f));
        decodePairs(fields, 0, numbers);
        for (int64_t row = 0; row < tiledDepth(depth); ++row)
          for (int64_t c = 0; c < 16; ++c) {
            const uint32_t word =
                words[size_t(std::min(row, depth - 1) / ofWord * 16 + c)];
            const int field =
                int(word >> (row % ofWord * bits)) & ((1 << bits) - 1);
            const size_t at = size_t((row >= 2 * ofWord) * 16 + c);
            float expected = (float(field) - zeros[at]) * scales[at];
            if (std::fabs(expected) < 0x1p-126f || row >= depth)
              expected = 0; // as products have it
            const float found = numbers[row / 2 * 32 + c * 2 + row % 2];
            if (std::isnan(expected))
              ASSERT_TRUE(std::isnan(found));
            else
              ASSERT_EQ(found, float(BFloat16(expected)))
                  << bits << " bits, zero " << ownZero << ", scale " << ownScale
                  << ", row " << row;
          }
      }
}

} // namespace
} // namespace shardc::runtime::host
