// Attention and RotaryEmbedding.
#include "tests/unit/kernels/AttentionReference.h"

namespace shardc::runtime::host {
namespace {

template <typename T> void expectAttention(const Problem &s, double tolerance) {
  const Dims dims = {s.q.view.dims[0], s.q.view.dims[1], s.q.view.dims[2],
                     s.v.view.dims[3]};
  const Tensor plain = Tensor::filled<T>(dims, T(Compute<T>(9)));
  for (const Tensor &out : {plain, plain.scattered()}) {
    EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v, s.mask, s.sinks}, {out},
                        s.attributes()));
    forEach(dims, [&](const Dims &at) {
      const double expected = attend<T>(s, at);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(double(out.at<T>(at))));
      else
        EXPECT_NEAR(double(out.at<T>(at)), expected, tolerance);
    });
  }
}

/// 70 queries: more than one block.
template <typename T> Problem grouped() {
  return {Tensor::integers<T>({2, 70, 6, 4}, 1).permuted({0, 2, 1, 3}),
          Tensor::integers<T>({2, 9, 2, 4}, 2).permuted({0, 2, 1, 3}),
          Tensor::integers<T>({2, 2, 9, 3}, 3)};
}

template <typename T> void variants(double tolerance) {
  Problem s = grouped<T>();
  expectAttention<T>(s, tolerance);
  s.causal = true;
  expectAttention<T>(s, tolerance);
  s.offset = 3;
  s.softcap = 2;
  expectAttention<T>(s, tolerance);
  s.mask = Tensor::integers<Boolean>({70, 9}).broadcast({2, 6, 70, 9});
  expectAttention<T>(s, tolerance);
  s.q = s.q.scattered();
  s.k = s.k.scattered();
  s.v = s.v.scattered();
  expectAttention<T>(s, tolerance);
}

TEST(Attention, GroupedCausalCappedMasked) {
  variants<float>(1e-5);
  variants<double>(1e-12);
  variants<Float16>(5e-3);
  variants<BFloat16>(3e-2);
}

TEST(Attention, AddsAFloatMask) {
  Problem s = grouped<float>();
  s.mask = Tensor::integers<float>({2, 1, 70, 9}, 7).broadcast({2, 6, 70, 9});
  expectAttention<float>(s, 1e-5);
}

TEST(Attention, ARowThatSeesNothingIsZero) {
  Problem s = grouped<float>();
  s.mask = Tensor::filled<Boolean>({2, 6, 70, 9}, Boolean(false));
  expectAttention<float>(s, 0);
  s.mask = Tensor::absent();
  s.causal = true;
  s.offset = -3;
  expectAttention<float>(s, 1e-5);
}

/// 150 keys behind each other: blocks of queries see different ones.
TEST(Attention, SeesAWindow) {
  Problem s = {Tensor::integers<float>({2, 4, 150, 4}, 1),
               Tensor::integers<float>({2, 2, 153, 4}, 2),
               Tensor::integers<float>({2, 2, 153, 3}, 3)};
  s.causal = true;
  for (const int64_t offset : {0, 3})
    for (const int64_t window : {1, 100}) {
      s.offset = offset;
      s.window = window;
      s.mask = Tensor::absent();
      expectAttention<float>(s, 1e-5);
      s.mask =
          Tensor::integers<Boolean>({150, 153}).broadcast({2, 4, 150, 153});
      expectAttention<float>(s, 1e-5);
    }
}

/// One query: heads that share keys are rows of one product.
TEST(Attention, DecodesAStep) {
  Problem s = {Tensor::integers<float>({2, 1, 6, 4}, 1).permuted({0, 2, 1, 3}),
               Tensor::integers<float>({2, 2, 9, 4}, 2),
               Tensor::integers<float>({2, 2, 9, 3}, 3)};
  s.sinks = Tensor::integers<float>({6}, 5);
  expectAttention<float>(s, 1e-5);
  s.causal = true;
  s.offset = 6;
  s.window = 4;
  s.mask = Tensor::integers<float>({6, 1, 9}, 7).broadcast({2, 6, 1, 9});
  expectAttention<float>(s, 1e-5);
}

TEST(Attention, SinksTakeTheirShare) {
  const auto check = [](auto tag, double tolerance) {
    using T = decltype(tag);
    Problem s = grouped<T>();
    s.sinks = Tensor::integers<T>({6}, 5);
    expectAttention<T>(s, tolerance);
    s.causal = true;
    s.zeroRows = "none";
    expectAttention<T>(s, tolerance);
  };
  check(float(), 1e-5);
  check(double(), 1e-12);
  check(Float16(), 5e-3);
}

TEST(Attention, RowsThatSeeNothing) {
  Problem s = grouped<float>();
  s.mask = Tensor::integers<Boolean>({70, 1}).broadcast({2, 6, 70, 9});
  for (std::string_view rows : {"hidden", "nan", "none"}) {
    s.zeroRows = rows;
    expectAttention<float>(s, 1e-5);
  }
}

TEST(Attention, NaNRowsAreZeroWhereAsked) {
  Problem s = grouped<float>();
  s.q.view.as<float>()[s.q.offset({0, 0, 1, 0})] = NAN;
  const Tensor out = Tensor::filled<float>({2, 6, 70, 3}, 9);
  for (std::string_view rows : {"nan", "none"}) {
    EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v}, {out},
                        Attributes().text("zero_rows", rows)));
    const float value = out.at<float>({0, 0, 1, 2});
    EXPECT_TRUE(rows == "nan" ? value == 0 : std::isnan(value));
    EXPECT_FALSE(std::isnan(out.at<float>({0, 0, 0, 2})));
  }
}

/// More keys than a tile has: later ones raise the maximum of earlier ones.
TEST(Attention, ManyKeys) {
  Problem s = {Tensor::integers<float>({1, 4, 20, 4}, 1),
               Tensor::integers<float>({1, 2, 4200, 4}, 2),
               Tensor::integers<float>({1, 2, 4200, 3}, 3)};
  expectAttention<float>(s, 1e-5);
  s.causal = true;
  s.offset = 4150;
  s.sinks = Tensor::integers<float>({4}, 5);
  for (const int64_t window : {0, 3000}) {
    s.window = window;
    expectAttention<float>(s, 1e-5);
  }
  s.mask = Tensor::integers<Boolean>({20, 4200}).broadcast({1, 4, 20, 4200});
  expectAttention<float>(s, 1e-5);
}

/// Causality and a padded batch as exporters write them: most keys of a tile of
/// queries are hidden from all of them. `hidden` is what the mask has there, and
/// of a batch's second sequence the first 100 keys are padding.
template <typename T>
Problem maskedByNumbers(int64_t queries, int64_t keys, double hidden) {
  Problem s = {Tensor::integers<T>({2, 2, queries, 5}, 1),
               Tensor::integers<T>({2, 1, keys, 5}, 2),
               Tensor::integers<T>({2, 1, keys, 3}, 3)};
  const Tensor mask = Tensor::filled<T>({2, 1, queries, keys}, T(0));
  forEach(mask.dims(), [&](const Dims &at) {
    if (at[3] > at[2] + keys - queries || (at[0] == 1 && at[3] < 100))
      mask.view.as<T>()[mask.offset(at)] = T(Compute<T>(hidden));
  });
  s.mask = mask.broadcast({2, 2, queries, keys});
  s.scale = 0.01;
  return s;
}

/// The same bits as with a mask that no key is left out by: one of the queries
/// of each tile sees them all.
template <typename T> void leavesOutHiddenKeys(double hidden) {
  for (const auto &[queries, keys] :
       {std::pair<int64_t, int64_t>(300, 300), {97, 700}}) {
    for (const int64_t bits : {0, 16}) {
      Problem s = maskedByNumbers<T>(queries, keys, hidden);
      s.operandBits = bits;
      const Dims dims = {2, 2, queries, 3};
      const Tensor found = Tensor::filled<T>(dims, T(Compute<T>(9)));
      EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v, s.mask}, {found},
                          s.attributes()));
      const Tensor open = s.mask.copy();
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t i = 95; i < queries; i += 96)
            for (int64_t j = 0; j < keys; ++j)
              open.view.as<T>()[open.offset({b, h, i, j})] = T(Compute<T>(0));
      const Tensor whole = Tensor::filled<T>(dims, T(Compute<T>(9)));
      EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v, open}, {whole},
                          s.attributes()));
      forEach(dims, [&](const Dims &at) {
        if (at[2] % 96 == 95)
          return;
        ASSERT_EQ(double(found.at<T>(at)), double(whole.at<T>(at)))
            << queries << " x " << keys << " at " << at[0] << ", " << at[1]
            << ", " << at[2];
      });
    }
  }
}

TEST(Attention, LeavesOutKeysThatAMaskHides) {
  leavesOutHiddenKeys<float>(-INFINITY);
  leavesOutHiddenKeys<float>(std::numeric_limits<float>::lowest());
  leavesOutHiddenKeys<float>(-1e9); // a score may be as large: looked at
  leavesOutHiddenKeys<Float16>(-65504);
  leavesOutHiddenKeys<BFloat16>(-INFINITY);
  leavesOutHiddenKeys<double>(-1e300);
  expectAttention<float>(maskedByNumbers<float>(1, 400, -INFINITY), 1e-5);
  expectAttention<float>(maskedByNumbers<float>(200, 333, -INFINITY), 1e-5);
}

/// What the last of many tiles sees is not what the next head's first one sees.
TEST(Attention, LeavesOutKeysOfManyTiles) {
  constexpr int64_t queries = 33 * 96, keys = 300;
  Problem s = {Tensor::integers<float>({1, 2, queries, 4}, 1),
               Tensor::integers<float>({1, 1, keys, 4}, 2),
               Tensor::integers<float>({1, 1, keys, 2}, 3)};
  const Tensor mask =
      Tensor::filled<Boolean>({1, 1, queries, keys}, Boolean(true));
  for (int64_t i = 32 * 96; i < queries; ++i)
    for (int64_t j = 10; j < keys; ++j)
      mask.view.as<Boolean>()[mask.offset({0, 0, i, j})] = Boolean(false);
  s.mask = mask.broadcast({1, 2, queries, keys});
  const Tensor out = Tensor::filled<float>({1, 2, queries, 2}, 9.f);
  EXPECT_OK(
      runKernel("Attention", {s.q, s.k, s.v, s.mask}, {out}, s.attributes()));
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < queries; i += 5)
      EXPECT_NEAR(out.at<float>({0, h, i, 0}), attend<float>(s, {0, h, i, 0}),
                  1e-4)
          << h << ", " << i;
}

/// Of rows that see no key a number hides none: all count alike.
TEST(Attention, RowsWhoseKeysAreAllFarBelow) {
  Problem s =
      maskedByNumbers<float>(120, 300, std::numeric_limits<float>::lowest());
  const Tensor mask = s.mask.copy();
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t j = 0; j < 300; ++j)
      mask.view.as<float>()[mask.offset({0, h, 7, j})] =
          std::numeric_limits<float>::lowest();
  s.mask = mask;
  const Tensor found = Tensor::filled<float>({2, 2, 120, 3}, 9.f);
  EXPECT_OK(
      runKernel("Attention", {s.q, s.k, s.v, s.mask}, {found}, s.attributes()));
  double sum = 0;
  for (int64_t j = 0; j < 300; ++j)
    sum += s.v.at<float>({0, 0, j, 0});
  EXPECT_NEAR(found.at<float>({0, 1, 7, 0}), sum / 300, 1e-4);
}

/// What is not finite behind a number that hides is seen, as a sum sees it; so
/// are values behind -inf.
TEST(Attention, HidesNoNaN) {
  const float lowest = std::numeric_limits<float>::lowest();
  for (const auto &[isValue, hidden] :
       {std::pair(false, lowest), {true, lowest}, {true, -INFINITY}}) {
    Problem s = maskedByNumbers<float>(300, 300, hidden);
    const Tensor &changed = isValue ? s.v : s.k;
    changed.view.as<float>()[changed.offset({0, 0, 299, 1})] =
        isValue ? INFINITY : NAN;
    const Tensor found = Tensor::filled<float>({2, 2, 300, 3}, 9.f);
    EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v, s.mask}, {found},
                        s.attributes()));
    EXPECT_TRUE(std::isnan(found.at<float>({0, 0, 3, 1}))) << isValue << hidden;
  }
}

/// Values whose rows fill panels, of heads that lie side by side.
template <typename T> void readsHeadsSideBySide(double tolerance) {
  for (int64_t rows : {1, 10}) {
    Problem s = {
        Tensor::integers<T>({1, rows, 4, 21}, 1).permuted({0, 2, 1, 3}),
        Tensor::integers<T>({1, 40, 2, 21}, 2).permuted({0, 2, 1, 3}),
        Tensor::integers<T>({1, 40, 2, 16}, 3).permuted({0, 2, 1, 3})};
    s.scale = 0.1;
    expectAttention<T>(s, tolerance);
    s.causal = true;
    s.offset = 40 - rows;
    s.window = 18;
    expectAttention<T>(s, tolerance);
  }
}

TEST(Attention, HeadsSideBySide) {
  readsHeadsSideBySide<float>(1e-5);
  readsHeadsSideBySide<double>(1e-12);
  readsHeadsSideBySide<Float16>(5e-3);
  readsHeadsSideBySide<BFloat16>(3e-2);
}

/// More keys than are packed at once, more queries than a tile has.
TEST(Attention, ManyKeysOfAWideHead) {
  Problem s = {Tensor::integers<float>({1, 1, 100, 64}, 1),
               Tensor::integers<float>({1, 1, 790, 64}, 2),
               Tensor::integers<float>({1, 1, 790, 1}, 3)};
  s.scale = 0.05;
  s.causal = true;
  s.offset = 690;
  s.mask = Tensor::integers<Boolean>({100, 790}).broadcast({1, 1, 100, 790});
  expectAttention<float>(s, 1e-5);
}

/// Of values that are at most 4 and exact in bfloat16: what weights are rounded
/// by is a part of 2^-9, which is all that a result is off.
constexpr double kRounded = 4.0 / 512 + 1e-5;

template <typename T> void rounds(double tolerance) {
  Problem s = grouped<T>();
  s.operandBits = 16;
  expectAttention<T>(s, tolerance);
  s.causal = true;
  s.offset = -3; // rows that see nothing
  expectAttention<T>(s, tolerance);
  s.offset = 3;
  s.softcap = 2;
  s.sinks = Tensor::integers<T>({6}, 5);
  expectAttention<T>(s, tolerance);
  s.mask = Tensor::integers<Boolean>({70, 9}).broadcast({2, 6, 70, 9});
  expectAttention<T>(s, tolerance);
  s.q = s.q.scattered();
  s.k = s.k.scattered();
  s.v = s.v.scattered();
  expectAttention<T>(s, tolerance);
}

TEST(Attention, MayRoundItsOperands) {
  rounds<float>(kRounded);
  rounds<Float16>(kRounded + 5e-3);
  rounds<BFloat16>(kRounded + 3e-2);
  rounds<double>(1e-12); // these it does not
}

TEST(Attention, MayRoundOperandsOfManyKeys) {
  for (auto [rows, depth, keys, columns] :
       {std::array<int64_t, 4>{110, 64, 120, 3},
        {40, 33, 330, 19},
        {20, 4, 4200, 2}}) {
    Problem s = {Tensor::integers<float>({1, 2, rows, depth}, 1),
                 Tensor::integers<float>({1, 1, keys, depth}, 2),
                 Tensor::integers<float>({1, 1, keys, columns}, 3)};
    s.operandBits = 16;
    s.scale = 0.05;
    expectAttention<float>(s, kRounded);
    s.causal = true;
    s.offset = keys - rows;
    for (int64_t window : {0, 40}) {
      s.window = window;
      expectAttention<float>(s, kRounded);
    }
  }
}

/// Rows in any number are summed alike where ranks have different ones.
TEST(Attention, RoundedRowsDoNotDependOnTheOthers) {
  Problem s = {Tensor::integers<float>({1, 2, 40, 16}, 1),
               Tensor::integers<float>({1, 1, 300, 16}, 2),
               Tensor::integers<float>({1, 1, 300, 16}, 3)};
  s.operandBits = 16;
  s.scale = 0.1;
  const auto run = [&](int64_t first, int64_t count) {
    const Tensor out = Tensor::filled<float>({1, 2, count, 16}, 9);
    EXPECT_OK(runKernel("Attention", {s.q.slice(2, first, count), s.k, s.v},
                        {out}, s.attributes().ints("split_rows", {1})));
    return out;
  };
  const Tensor whole = run(0, 40);
  for (auto [first, count] : {std::pair{0, 2}, {7, 5}, {20, 20}})
    EXPECT_EQ(run(first, count).values<float>(),
              whole.slice(2, first, count).values<float>());
}

/// Values behind the last key that a tile sees are not read.
TEST(Attention, RoundedRowsSeeNoValueBehindTheirKeys) {
  for (int64_t rows : {9, 31, 40}) {
    Problem s = {Tensor::integers<float>({1, 1, rows, 8}, 1),
                 Tensor::integers<float>({1, 1, 128, 8}, 2),
                 Tensor::integers<float>({1, 1, 128, 19}, 3)};
    s.operandBits = 16;
    s.scale = 0.1;
    s.causal = true;
    for (int64_t key = rows; key < 128; ++key)
      std::fill_n(s.v.view.as<float>() + key * 19, 19, NAN);
    const Tensor out = Tensor::filled<float>({1, 1, rows, 19}, 9);
    EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v}, {out}, s.attributes()));
    std::fill_n(s.v.view.as<float>() + rows * 19, (128 - rows) * 19, 0.f);
    forEach({1, 1, rows, 19}, [&](const Dims &at) {
      EXPECT_NEAR(out.at<float>(at), attend<float>(s, at), kRounded);
    });
  }
}

/// What is not a number, or is infinite, stays so for the rows that see it.
TEST(Attention, RoundsWhatIsNotFinite) {
  Problem s = {Tensor::integers<float>({1, 1, 40, 8}, 1),
               Tensor::integers<float>({1, 1, 64, 8}, 2),
               Tensor::integers<float>({1, 1, 64, 8}, 3)};
  s.operandBits = 16;
  s.scale = 0.1;
  s.q.view.as<float>()[8 * 5] = NAN;
  s.v.view.as<float>()[8 * 3 + 2] = INFINITY;
  const Tensor out = Tensor::filled<float>({1, 1, 40, 8}, 9);
  EXPECT_OK(runKernel("Attention", {s.q, s.k, s.v}, {out}, s.attributes()));
  forEach({1, 1, 40, 8}, [&](const Dims &at) {
    const double expected = attend<float>(s, at), found = out.at<float>(at);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(found));
    else if (std::isinf(expected))
      EXPECT_EQ(found, expected);
    else
      EXPECT_NEAR(found, expected, kRounded);
  });
}

TEST(Attention, RanksWithoutHeadsOrKeys) {
  const auto make = [](int64_t queryHeads, int64_t heads, int64_t keys) {
    return Problem{Tensor::integers<float>({1, queryHeads, 3, 4}),
                   Tensor::integers<float>({1, heads, keys, 4}),
                   Tensor::integers<float>({1, heads, keys, 2})};
  };
  expectAttention<float>(make(0, 0, 5), 0);
  expectAttention<float>(make(0, 2, 5), 0);
  for (std::string_view rows : {"hidden", "nan", "none"}) {
    Problem s = make(2, 1, 0); // zeros
    s.zeroRows = rows;
    expectAttention<float>(s, 0);
  }
}

template <typename T> void rotates(double tolerance) {
  const Tensor whole =
      Tensor::integers<T>({2, 5, 3, 8}, 1).permuted({0, 2, 1, 3});
  const Tensor cos = Tensor::integers<T>({5, 3}, 2).broadcast({2, 5, 3});
  const Tensor sin = Tensor::integers<T>({2, 5, 3}, 3);
  for (const Tensor &x : {whole, whole.scattered()})
    for (const bool interleaved : {false, true}) {
      const Tensor out = Tensor::filled<T>(x.dims(), T(Compute<T>(9)));
      EXPECT_OK(runKernel("RotaryEmbedding", {x, cos, sin}, {out},
                          Attributes().ints("interleaved", {interleaved})));
      forEach({2, 3, 5, 3}, [&](const Dims &at) {
        const int64_t i = at[3];
        const int64_t first = interleaved ? 2 * i : i;
        const int64_t second = interleaved ? 2 * i + 1 : i + 3;
        const auto value = [&](const Tensor &t, int64_t d) {
          return double(t.at<T>({at[0], at[1], at[2], d}));
        };
        const double c = cos.at<T>({at[0], at[2], i});
        const double s = sin.at<T>({at[0], at[2], i});
        EXPECT_NEAR(value(out, first),
                    c * value(x, first) - s * value(x, second), tolerance);
        EXPECT_NEAR(value(out, second),
                    s * value(x, first) + c * value(x, second), tolerance);
        for (int64_t rest : {6, 7})
          EXPECT_EQ(value(out, rest), value(x, rest));
      });
    }
}

TEST(RotaryEmbedding, HalvesAndInterleavedPairs) {
  rotates<float>(0);
  rotates<double>(0);
  rotates<Float16>(0);
  rotates<BFloat16>(0);
}

} // namespace
} // namespace shardc::runtime::host
