// PagedAttention, its parts, and what merges them.
#include "runtime/kernels/attention/PagedChecks.h"
#include "runtime/kernels/elementwise/CastFloat8.h"
#include "runtime/kernels/host/product/MatrixProduct.h"
#include "tests/unit/kernels/AttentionReference.h"

namespace shardc::runtime::host {
namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kSize = 4, kValues = 3;

/// Rows of any lengths, their keys and values one after the other and in pages.
struct Rows {
  struct Row {
    int64_t past, count;
  };

  /// Pages are taken from the end of the pool, so that none is where its number
  /// is in the row.
  template <typename T>
  static Rows make(std::vector<Row> rows, int64_t ofPage, int64_t numPages = 12,
                   int64_t size = kSize, int64_t values = kValues) {
    Rows made{rows, ofPage};
    std::vector<int64_t> first{0}, past, pages;
    int64_t most = 1, next = numPages;
    for (const Row &row : rows) {
      first.push_back(first.back() + row.count);
      past.push_back(row.past);
      most = std::max(most, (row.past + row.count + ofPage - 1) / ofPage);
    }
    for (const Row &row : rows)
      for (int64_t p = 0; p < most; ++p)
        pages.push_back(p * ofPage < row.past + row.count ? --next : -1);
    const auto count = int64_t(rows.size());
    made.q = Tensor::integers<T>({1, kHeads, first.back(), size}, 1);
    made.k = Tensor::integers<T>({numPages, kKvHeads, ofPage, size}, 2);
    made.v = Tensor::integers<T>({numPages, kKvHeads, ofPage, values}, 3);
    made.pages = Tensor::of<int64_t>({count, most}, pages);
    made.past = Tensor::of<int64_t>({count}, past);
    made.first = Tensor::of<int64_t>({count + 1}, first);
    return made;
  }

  /// Keys or values of a row, dense.
  template <typename T> Tensor ofRow(const Tensor &pool, size_t row) const {
    const int64_t keys = rows[row].past + rows[row].count;
    const Tensor dense = Tensor::filled<T>(
        {1, kKvHeads, keys, pool.view.dims[3]}, T(Compute<T>(0)));
    forEach(dense.dims(), [&](const Dims &at) {
      const int64_t page = pages.at<int64_t>({int64_t(row), at[2] / ofPage});
      dense.view.as<T>()[dense.offset(at)] =
          T(pool.at<T>({page, at[1], at[2] % ofPage, at[3]}));
    });
    return dense;
  }

  /// That row as a problem of its own.
  template <typename T> Problem problem(size_t row) const {
    const int64_t begin = first.at<int64_t>({int64_t(row)});
    Problem s{q.slice(2, begin, rows[row].count), ofRow<T>(k, row),
              ofRow<T>(v, row)};
    s.offset = rows[row].past;
    if (mask.view.isAbsent())
      return s;
    s.mask = mask;
    if (mask.view.dims[0] != 1)
      s.mask = s.mask.slice(0, int64_t(row), 1);
    if (mask.view.dims[2] != 1)
      s.mask = s.mask.slice(2, begin, rows[row].count);
    s.mask = s.mask.slice(3, 0, rows[row].past + rows[row].count)
                 .broadcast({1, kHeads, rows[row].count,
                             rows[row].past + rows[row].count});
    return s;
  }

  std::vector<Row> rows;
  int64_t ofPage;
  Tensor q = Tensor::absent(), k = q, v = q, pages = q, past = q, first = q,
         mask = q, sinks = q, keyScales = q, valueScales = q;
};

/// Numbers of 8 bits with a scale for each key, or value, in place of a pool, which
/// becomes what they stand for.
template <typename T>
void round(Tensor &pool, Tensor &stored, Tensor &scales, bool isDense) {
  Dims dims = pool.dims();
  stored = Tensor::integers<int8_t>(dims, 8);
  if (!isDense)
    stored = stored.scattered();
  dims[3] = 1;
  scales = Tensor::filled<float>(dims, 0.25f);
  for (int64_t i = 0; i < scales.view.numElements(); i += 3)
    scales.view.as<float>()[i] = 0.5f;
  scales = scales.scattered();
  pool = pool.copy();
  forEach(pool.dims(), [&](const Dims &at) {
    pool.view.as<T>()[pool.offset(at)] =
        T(Compute<T>(float(stored.at<int8_t>(at)) *
                     scales.at<float>({at[0], at[1], at[2], 0})));
  });
}
template <typename T> Rows rounded(Rows &rows, bool isDense = false) {
  Rows stored = rows;
  round<T>(rows.k, stored.k, stored.keyScales, isDense);
  round<T>(rows.v, stored.v, stored.valueScales, isDense);
  return stored;
}

/// As PagedAttention, of parts of each page's places: those of one rank, or each
/// of one of several ranks, which holds no others.
template <typename T>
void runParts(const Rows &rows, int64_t parts, bool areOfRanks,
              const Tensor &out, const Attributes &attributes) {
  const int64_t queries = rows.q.view.dims[2], here = rows.ofPage / parts;
  using Acc = Accumulator<T>;
  const Tensor seen = Tensor::filled<Acc>(
      {parts, kHeads, queries, rows.v.view.dims[3] + kSeenStatistics}, 9);
  const auto attend = [&](int64_t first, int64_t count, const Tensor &to) {
    const auto own = [&](const Tensor &pool) {
      return pool.view.isAbsent() ? pool : pool.slice(2, first, count);
    };
    EXPECT_OK(runKernel(
        "PagedAttentionParts",
        {rows.q, own(rows.k).copy(), own(rows.v), rows.pages, rows.past,
         rows.first, rows.mask, Tensor::absent(), own(rows.keyScales),
         own(rows.valueScales)},
        {to}, Attributes(attributes).ints("places", {first, rows.ofPage})));
  };
  for (int64_t p = 0; areOfRanks && p < parts; ++p)
    attend(p * here, here, seen.slice(0, p, 1));
  if (!areOfRanks)
    attend(0, rows.ofPage, seen);
  EXPECT_OK(runKernel("MergeAttention", {seen, rows.sinks}, {out}, attributes));
}

template <typename T>
void expectRows(const Rows &rows, const Rows &stored, const Problem &form,
                double tolerance) {
  const int64_t values = rows.v.view.dims[3];
  const Dims dims = {1, kHeads, rows.q.view.dims[2], values};
  const Tensor plain = Tensor::filled<T>(dims, T(Compute<T>(9)));
  std::vector<Tensor> outs;
  for (const Tensor &out : {plain, plain.scattered()}) {
    EXPECT_OK(runKernel("PagedAttention",
                        {rows.q, stored.k, stored.v, rows.pages, rows.past,
                         rows.first, rows.mask, rows.sinks, stored.keyScales,
                         stored.valueScales},
                        {out}, form.attributes()));
    outs.push_back(out);
  }
  for (int64_t parts : {1, 2, 4})
    for (const bool areOfRanks : {false, true}) {
      if (rows.ofPage % parts != 0)
        continue;
      outs.push_back(plain.copy());
      runParts<T>(stored, parts, areOfRanks, outs.back(), form.attributes());
    }
  for (size_t row = 0; row < rows.rows.size(); ++row) {
    Problem alone = rows.problem<T>(row);
    alone.causal = form.causal;
    alone.window = form.window;
    alone.softcap = form.softcap;
    alone.sinks = rows.sinks;
    alone.zeroRows = form.zeroRows;
    const int64_t begin = rows.first.at<int64_t>({int64_t(row)});
    forEach({1, kHeads, rows.rows[row].count, values}, [&](const Dims &at) {
      const double expected = attend<T>(alone, at);
      for (const Tensor &out : outs) {
        const double found =
            double(out.at<T>({0, at[1], at[2] + begin, at[3]}));
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(found));
        else
          EXPECT_NEAR(found, expected, tolerance) << "row " << row;
      }
    });
  }
}

template <typename T>
void expectRows(const Rows &rows, const Problem &form, double tolerance) {
  expectRows<T>(rows, rows, form, tolerance);
}

Problem formOf(const Rows &rows) { return {rows.q, rows.k, rows.v}; }

template <typename T> void variants(int64_t ofPage, double tolerance) {
  // Single tokens, a prompt, a part of one, one that ends a page, an empty past.
  Rows rows = Rows::make<T>({{0, 5}, {7, 1}, {3, 13}, {2, 1}, {0, 1}, {15, 1}},
                            ofPage, 64);
  Problem form = formOf(rows);
  expectRows<T>(rows, form, tolerance);
  form.causal = true;
  expectRows<T>(rows, form, tolerance);
  form.window = 4;
  form.softcap = 2;
  expectRows<T>(rows, form, tolerance);
  const int64_t keys = rows.pages.view.dims[1] * ofPage;
  rows.mask = Tensor::integers<Boolean>({6, 1, 1, keys}, 5);
  form.window = 0;
  expectRows<T>(rows, form, tolerance);
  rows.mask = Tensor::integers<Boolean>({1, kHeads, 22, keys}, 6);
  rows.sinks = Tensor::integers<T>({kHeads}, 7);
  rows.k = rows.k.scattered();
  rows.v = rows.v.scattered();
  rows.q = rows.q.scattered();
  expectRows<T>(rows, form, tolerance);
}

TEST(PagedAttention, RowsOfDifferentLengths) {
  for (int64_t ofPage : {1, 4, 16, 20}) {
    variants<float>(ofPage, 1e-5);
    variants<double>(ofPage, 1e-12);
    variants<Float16>(ofPage, 5e-3);
  }
}

template <typename T> void roundedVariants(double tolerance) {
  for (int64_t ofPage : {1, 4, 20}) {
    Rows rows = Rows::make<T>({{0, 5}, {7, 1}, {3, 13}, {25, 1}}, ofPage, 64);
    Problem form = formOf(rows);
    form.causal = true;
    const Rows stored = rounded<T>(rows);
    expectRows<T>(rows, stored, form, tolerance);
    rows.sinks = Tensor::integers<T>({kHeads}, 7);
    Rows withSinks = stored;
    withSinks.sinks = rows.sinks;
    expectRows<T>(rows, withSinks, form, tolerance);
  }
}

TEST(PagedAttention, KeysAndValuesOf8Bits) {
  roundedVariants<float>(1e-5);
  roundedVariants<double>(1e-6);
  roundedVariants<BFloat16>(3e-2);
}

/// Which few queries read as they are stored, and many as numbers.
template <typename T> void denseVariants(double tolerance) {
  for (auto [ofPage, size] : {std::pair<int64_t, int64_t>{20, 19}, {64, 16}}) {
    Rows rows =
        Rows::make<T>({{0, 5}, {7, 1}, {3, 13}, {61, 2}}, ofPage, 64, size, 32);
    Problem form = formOf(rows);
    form.causal = true;
    Rows stored = rounded<T>(rows, /*isDense=*/true);
    expectRows<T>(rows, stored, form, tolerance);
    form.window = 37; // from the midst of a page
    expectRows<T>(rows, stored, form, tolerance);
    rows.sinks = stored.sinks = Tensor::integers<T>({kHeads}, 7);
    form.softcap = 2;
    expectRows<T>(rows, stored, form, tolerance);
  }
}

/// Pages that are longer than a tile of keys, and a mask.
void longPages() {
  Rows rows = Rows::make<float>({{290, 1}, {3, 1}}, 300, 4, 16, 16);
  Rows stored = rounded<float>(rows, /*isDense=*/true);
  Problem form = formOf(rows);
  form.causal = true;
  expectRows<float>(rows, stored, form, 1e-5);
  const int64_t keys = rows.pages.view.dims[1] * rows.ofPage;
  rows.mask = stored.mask = Tensor::integers<Boolean>({2, 1, 1, keys}, 5);
  expectRows<float>(rows, stored, form, 1e-5);
}

TEST(PagedAttention, DenseKeysAndValuesOf8Bits) {
  denseVariants<float>(1e-5);
  longPages();
  denseVariants<BFloat16>(3e-2);
}

TEST(PagedAttention, FewQueriesReadEveryEightBitFloat) {
  Rows rows = Rows::make<float>({{63, 1}, {15, 1}}, 16, 12, 16, 16);
  Rows stored = rows;
  Float8Codec codec;
  ASSERT_TRUE(findFloat8(artifact::ElementType_Float8E4M3FN, codec));
  for (auto [pool, of, scales] :
       {std::tuple(&rows.k, &stored.k, &stored.keyScales),
        std::tuple(&rows.v, &stored.v, &stored.valueScales)}) {
    Dims dims = pool->dims();
    *of = Tensor::filled<uint8_t>(dims, 0);
    for (int64_t i = 0; i < of->view.numElements(); ++i) {
      const auto byte = uint8_t(i * 37);
      of->view.as<uint8_t>()[i] = (byte & 0x7f) == 0x7f ? 0 : byte; // no NaN
      pool->view.as<float>()[i] =
          float(codec.decode(of->view.as<uint8_t>()[i])) * 0x1p-8f;
    }
    of->view.element = artifact::ElementType_Float8E4M3FN;
    dims[3] = 1;
    *scales = Tensor::filled<float>(dims, 0x1p-8f);
  }
  Problem form = formOf(rows);
  form.causal = true;
  expectRows<float>(rows, stored, form, 1e-5);
}

/// Each e4m3 number of a page, as keys of one row that are their own values.
TEST(PagedAttention, KeysAndValuesOfEightBitFloats) {
  const std::vector<uint8_t> bits = {0x38, 0xb8, 0x7e, 0x08}; // 1 -1 448 2^-6
  const Tensor pool = Tensor::of<uint8_t>({1, 1, 4, 1}, bits);
  Tensor floats = pool;
  floats.view.element = artifact::ElementType_Float8E4M3FN;
  const Tensor scales = Tensor::of<float>({1, 1, 4, 1}, {2, 1, 0.5, 64});
  const Tensor out = Tensor::filled<float>({1, 1, 4, 1}, 9);
  EXPECT_OK(runKernel("PagedAttention",
                      {Tensor::filled<float>({1, 1, 4, 1}, 0), floats, floats,
                       Tensor::of<int64_t>({1, 1}, {0}),
                       Tensor::of<int64_t>({1}, {0}),
                       Tensor::of<int64_t>({2}, {0, 4}), Tensor::absent(),
                       Tensor::absent(), scales, scales},
                      {out}, Attributes().ints("is_causal", {1})));
  const std::vector<double> stored = {2, -1, 224, 1};
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    sum += stored[i];
    EXPECT_NEAR(out.values<float>()[i], sum / double(i + 1), 1e-5);
  }
}

/// Few queries weigh keys of several pages together, and come to several such tiles:
/// pages that fill a tile, that leave a rest of it, and more than it has room for.
template <typename T> void manyTiles(int64_t ofPage, double tolerance) {
  Rows rows = Rows::make<T>({{530, 1}, {300, 2}, {0, 1}}, ofPage,
                            840 / ofPage + 8, 64, 64);
  Rows stored = rounded<T>(rows, /*isDense=*/true);
  Problem form = formOf(rows);
  form.causal = true;
  form.window = 290; // from the midst of a page
  form.softcap = 2;
  expectRows<T>(rows, stored, form, tolerance);
  expectRows<T>(rows, form, tolerance);
  form.window = 0;
  const int64_t keys = rows.pages.view.dims[1] * ofPage;
  rows.mask = stored.mask = Tensor::integers<Boolean>({3, 1, 1, keys}, 5);
  expectRows<T>(rows, stored, form, tolerance);
}

TEST(PagedAttention, FewQueriesWeighPagesTogether) {
  manyTiles<float>(64, 1e-4);
  manyTiles<float>(100, 1e-4);
  manyTiles<Float16>(5, 1e-2);
}

TEST(PagedAttention, ALongRowInManyPages) {
  Rows rows = Rows::make<float>({{500, 1}, {300, 130}}, 16, 64);
  Problem form = formOf(rows);
  form.causal = true;
  expectRows<float>(rows, form, 1e-4);
}

/// Heads of one number, whose queries lie side by side.
TEST(PagedAttention, HeadsOfOneNumber) {
  Rows rows = Rows::make<Float16>({{7, 1}, {3, 2}}, 4, 12, 1, 16);
  rows.q =
      Tensor::integers<Float16>({1, 1, kHeads, 3}, 1).permuted({0, 2, 3, 1});
  Problem form = formOf(rows);
  form.causal = true;
  expectRows<Float16>(rows, form, 5e-3);
}

/// As of cross-attention, where an encoder gave less than a step has tokens.
TEST(PagedAttention, MoreQueriesThanKeys) {
  const Rows rows = Rows::make<float>({{-3, 5}, {-1, 2}, {7, 2}}, 4);
  expectRows<float>(rows, formOf(rows), 1e-5);
}

/// The same bits, whoever shares the step.
TEST(PagedAttention, ARowDoesNotDependOnOthers) {
  const std::vector<Rows::Row> all = {{21, 1}, {3, 30}, {40, 2}};
  const Rows rows = Rows::make<float>(all, 16);
  const Tensor out =
      Tensor::filled<float>({1, kHeads, rows.q.view.dims[2], kValues}, 9);
  const auto run = [](const Rows &of, const Tensor &to) {
    return runKernel("PagedAttention",
                     {of.q, of.k, of.v, of.pages, of.past, of.first}, {to},
                     Attributes().ints("is_causal", {1}));
  };
  EXPECT_OK(run(rows, out));
  for (size_t row = 0; row < all.size(); ++row) {
    Rows one = rows;
    const int64_t begin = rows.first.at<int64_t>({int64_t(row)});
    one.q = rows.q.slice(2, begin, all[row].count);
    one.pages = rows.pages.slice(0, int64_t(row), 1);
    one.past = rows.past.slice(0, int64_t(row), 1);
    one.first = Tensor::of<int64_t>({2}, {0, all[row].count});
    const Tensor alone =
        Tensor::filled<float>({1, kHeads, all[row].count, kValues}, 9);
    EXPECT_OK(run(one, alone));
    EXPECT_EQ(out.slice(2, begin, all[row].count).values<float>(),
              alone.values<float>());
  }
}

TEST(PagedAttention, QueriesOfNoRowAreZero) {
  Rows rows = Rows::make<float>({{2, 1}, {0, 2}}, 4);
  rows.q = Tensor::integers<float>({1, kHeads, 6, kSize}, 1);
  rows.first = Tensor::of<int64_t>({3}, {1, 2, 4});
  const Tensor out = Tensor::filled<float>({1, kHeads, 6, kValues}, 9);
  EXPECT_OK(
      runKernel("PagedAttention",
                {rows.q, rows.k, rows.v, rows.pages, rows.past, rows.first},
                {out}, Attributes().ints("is_causal", {1})));
  const Tensor ofParts = out.copy();
  runParts<float>(
      rows, 2, true, ofParts,
      Attributes().ints("is_causal", {1}).text("zero_rows", "none"));
  for (int64_t token : {0, 4, 5})
    for (const Tensor &each : {out, ofParts})
      for (float value : each.slice(2, token, 1).values<float>())
        EXPECT_EQ(value, 0);
}

/// A part that sees no key takes no share, one whose scores are NaN all of it.
TEST(MergeAttention, PartsThatSeeNothing) {
  const float inf = INFINITY;
  const Tensor seen = Tensor::of<float>(
      {2, 1, 4, 3}, {0, -inf, 0, 6, 1,    2, 0, -inf, 0, NAN, NAN, NAN, //
                     4, 5,    2, 0, -inf, 0, 0, -inf, 0, 4,   5,   2});
  for (const auto &[zeroRows, none] :
       {std::pair("hidden", 0.f), {"nan", 0.f}, {"none", float(NAN)}}) {
    const Tensor out = Tensor::filled<float>({1, 1, 4, 1}, 9);
    EXPECT_OK(runKernel("MergeAttention", {seen}, {out},
                        Attributes().text("zero_rows", zeroRows)));
    const std::vector<float> found = out.values<float>();
    EXPECT_EQ(found[0], 2);
    EXPECT_EQ(found[1], 3);
    EXPECT_EQ(std::isnan(found[2]), std::isnan(none));
    EXPECT_EQ(std::isnan(found[3]), zeroRows != std::string_view("nan"));
  }
  const Tensor out = Tensor::filled<float>({1, 1, 4, 1}, 9);
  EXPECT_OK(runKernel("MergeAttention", {seen, Tensor::of<float>({1}, {5.f})},
                      {out}));
  EXPECT_NEAR(out.values<float>()[0], 4. / 3, 1e-6);
}

TEST(PagedAttention, ScalesThatDoNotFitAreErrors) {
  Rows rows = Rows::make<float>({{2, 1}, {0, 2}}, 4);
  const Rows stored = rounded<float>(rows);
  const auto errorOfStored = [&](const Tensor &k, const Tensor &keyScales,
                                 const Tensor &valueScales) {
    const Tensor out = Tensor::filled<float>({1, kHeads, 3, kValues}, 9);
    return runKernel("PagedAttention",
                     {rows.q, k, stored.v, rows.pages, rows.past, rows.first,
                      rows.mask, rows.sinks, keyScales, valueScales},
                     {out})
        .message();
  };
  const Tensor &scales = stored.keyScales;
  EXPECT_EQ(errorOfStored(stored.k, scales, stored.valueScales), "");
  EXPECT_NE(errorOfStored(stored.k, Tensor::absent(), scales), "");
  EXPECT_NE(errorOfStored(stored.k, scales, Tensor::absent()), "");
  EXPECT_NE(errorOfStored(rows.k, scales, scales), "");
  EXPECT_NE(errorOfStored(stored.k, scales.slice(2, 0, 2), scales), "");
}

TEST(PagedAttention, PartsThatDoNotFitAreErrors) {
  const Rows rows = Rows::make<float>({{2, 1}, {0, 2}}, 4);
  const auto errorOfParts = [&](int64_t parts, std::vector<int64_t> places) {
    const Tensor seen =
        Tensor::filled<float>({parts, kHeads, 3, kValues + 2}, 9);
    return runKernel(
               "PagedAttentionParts",
               {rows.q, rows.k, rows.v, rows.pages, rows.past, rows.first},
               {seen}, Attributes().ints("places", std::move(places)))
        .message();
  };
  EXPECT_EQ(errorOfParts(2, {4, 8}), "");
  EXPECT_EQ(errorOfParts(2, {5, 8}), "PagedAttentionParts: places 5 to 9 of 8");
  EXPECT_EQ(errorOfParts(3, {4, 8}),
            "PagedAttentionParts: 3 dense parts of 4 places");
}

std::string errorOf(const Rows &rows, const Attributes &form = {}) {
  const Tensor out =
      Tensor::filled<float>({1, kHeads, rows.q.view.dims[2], kValues}, 9);
  return runKernel("PagedAttention",
                   {rows.q, rows.k, rows.v, rows.pages, rows.past, rows.first},
                   {out}, form)
      .message();
}

TEST(PagedAttention, RowsThatDoNotFitAreErrors) {
  const Rows rows = Rows::make<float>({{2, 1}, {0, 2}}, 4);
  EXPECT_EQ(errorOf(rows), "");
  Rows bad = rows;
  bad.pages = Tensor::of<int64_t>({2, 1}, {11, 12});
  EXPECT_EQ(errorOf(bad),
            "PagedAttention: index 12 is outside of a dim of size 12");
  bad = rows;
  bad.past = Tensor::of<int64_t>({2}, {4, 0});
  EXPECT_EQ(errorOf(bad),
            "PagedAttention: a row has 5 keys: expected at most 4");
  bad.past = Tensor::of<int64_t>({2}, {-2, 0});
  EXPECT_NE(errorOf(bad).find("row 0 has queries 0 to 1 of 3, and -2 keys"),
            std::string::npos);
  bad.past = Tensor::of<int64_t>({2}, {-1, 0});
  EXPECT_EQ(errorOf(bad), ""); // no key at all
  EXPECT_NE(errorOf(bad, Attributes().ints("is_causal", {1}))
                .find("and -1 keys before"),
            std::string::npos);
  bad = rows;
  bad.first = Tensor::of<int64_t>({3}, {0, 1, 4});
  EXPECT_NE(errorOf(bad).find("row 1 has queries 1 to 4 of 3"),
            std::string::npos);
  bad.first = Tensor::of<int64_t>({3}, {0, 2, 1});
  EXPECT_NE(errorOf(bad).find("row 1 has queries 2 to 1"), std::string::npos);
  bad = rows;
  bad.first = Tensor::of<int64_t>({2}, {0, 3});
  EXPECT_NE(errorOf(bad), "");
}

} // namespace
} // namespace shardc::runtime::host
