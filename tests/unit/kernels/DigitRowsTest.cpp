// Rows of floats as digits, times rows of int8.
#include "runtime/kernels/host/simd/DigitRows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace shardc::runtime::host {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// All bytes, -128 too, in rows that do not lie side by side; behind the last of
/// them nothing may be read.
struct Stored {
  Stored(int64_t rows, int64_t columns, int64_t step)
      : step(step), numbers(size_t((rows - 1) * step + columns)) {
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = int8_t(i * 37 + i / 256);
  }
  const std::byte *bytes() const {
    return reinterpret_cast<const std::byte *>(numbers.data());
  }
  double at(int64_t row, int64_t column) const {
    return numbers[size_t(row * step + column)];
  }
  int64_t step;
  std::vector<int8_t> numbers;
};

std::vector<float> numbersOf(int64_t count, float from, float to) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> some(from, to);
  std::vector<float> made(static_cast<size_t>(count));
  for (float &x : made)
    x = some(random);
  return made;
}

/// Scores of `rows` queries with `count` keys, each row as many floats as there are.
std::vector<float> score(const std::vector<float> &queries, int64_t rows,
                         int64_t depth, const Stored &keys, int64_t count,
                         float alpha) {
  std::vector<std::byte> memory(size_t(DigitRows::bytes(rows, depth)));
  RowProduct product;
  product.m = rows;
  product.n = count;
  product.k = depth;
  product.b = keys.bytes();
  product.rowStepB = keys.step;
  std::vector<float> found(size_t(rows * count), 7);
  product.c = found.data();
  product.leadingC = count;
  product.alpha = alpha;
  product.next = {keys.bytes(), keys.step, depth};
  multiplyDigitRows(
      DigitRows::of(queries.data(), depth, rows, depth, memory.data()),
      product);
  return found;
}

TEST(DigitRows, QueriesTimesKeys) {
  if (!hasDigitRows())
    GTEST_SKIP() << "no VNNI in vectors of 64 bytes";
  for (int64_t depth : {64, 128, 256})
    for (int64_t rows : {1, 2, 3, 4, 8})
      for (int64_t count : {1, 15, 16, 17, 32, 33, 64}) {
        const auto queries = numbersOf(rows * depth, -3, 2);
        const Stored keys(count, depth, depth + 5);
        const auto found = score(queries, rows, depth, keys, count, 0.5f);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < count; ++j) {
            double sum = 0, most = 0;
            for (int64_t l = 0; l < depth; ++l) {
              const double product =
                  0.5 * queries[size_t(i * depth + l)] * keys.at(j, l);
              sum += product;
              most += 0.5 * std::abs(keys.at(j, l));
            }
            // A query is off by 3 / 65278 at most, each in its way.
            EXPECT_NEAR(found[size_t(i * count + j)], sum,
                        most * 3 / 65278 + 1e-6 * std::abs(sum))
                << depth << " " << rows << " " << count;
          }
      }
}

TEST(DigitRows, QueriesThatAreDigitsAreExact) {
  if (!hasDigitRows())
    GTEST_SKIP() << "no VNNI in vectors of 64 bytes";
  // The largest digits with the smallest and largest keys.
  for (float number : {32639.f, -32639.f}) {
    const std::vector<float> queries(128, number);
    Stored keys(2, 128, 128);
    std::fill_n(keys.numbers.begin(), 128, int8_t(-128));
    std::fill_n(keys.numbers.begin() + 128, 128, int8_t(127));
    const auto found = score(queries, 1, 128, keys, 2, 1);
    EXPECT_EQ(found[0], number * 128 * -128);
    EXPECT_EQ(found[1], number * 128 * 127);
  }
}

TEST(DigitRows, WhatIsNotFiniteAndWhatIsNothing) {
  if (!hasDigitRows())
    GTEST_SKIP() << "no VNNI in vectors of 64 bytes";
  const Stored keys(3, 64, 64);
  std::vector<float> queries(4 * 64, 1);
  queries[5] = std::nanf("");
  queries[64 + 63] = -kInfinity;
  std::fill_n(queries.begin() + 128, 64, 0.f);
  std::fill_n(queries.begin() + 192, 64, 1e-40f);
  const auto found = score(queries, 4, 64, keys, 3, 1);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_TRUE(std::isnan(found[i]));
  for (size_t i = 6; i < 12; ++i)
    EXPECT_EQ(found[i], 0);
}

std::vector<float> add(const std::vector<float> &weights, int64_t rows,
                       const Stored &values, int64_t count, int64_t columns) {
  std::vector<float> found(size_t(rows * columns), 7);
  WeightedRows sum;
  sum.m = rows;
  sum.n = columns;
  sum.k = count;
  sum.weights = weights.data();
  sum.leadingWeights = count;
  sum.b = values.bytes();
  sum.rowStepB = values.step;
  sum.c = found.data();
  sum.leadingC = columns;
  sum.next = {values.bytes(), values.step, columns};
  addDigitRows(sum);
  return found;
}

TEST(DigitRows, WeightsTimesValues) {
  if (!hasDigitRows())
    GTEST_SKIP() << "no VNNI in vectors of 64 bytes";
  for (int64_t columns : {64, 128, 320})
    for (int64_t rows : {1, 2, 3, 4, 8})
      for (int64_t count : {1, 3, 4, 18, 64, 256, 259}) {
        const auto weights = numbersOf(rows * count, 0, 1);
        const Stored values(count, columns, columns + 3);
        const auto found = add(weights, rows, values, count, columns);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            double sum = 7, most = 0;
            for (int64_t l = 0; l < count; ++l) {
              sum += weights[size_t(i * count + l)] * values.at(l, j);
              most += std::abs(values.at(l, j));
            }
            EXPECT_NEAR(found[size_t(i * columns + j)], sum,
                        most / 131070 + 1e-6 * std::abs(sum))
                << columns << " " << rows << " " << count;
          }
      }
}

/// A row's sums do not depend on the others, and what hides a key hides it.
TEST(DigitRows, RowsAreByThemselves) {
  if (!hasDigitRows())
    GTEST_SKIP() << "no VNNI in vectors of 64 bytes";
  const int64_t count = 50, columns = 64;
  const Stored stored(count, columns, columns);
  auto weights = numbersOf(8 * count, 0, 1);
  weights[3] = std::nanf("");
  std::fill_n(weights.begin() + count, count, 0.f);
  const auto sums = add(weights, 8, stored, count, columns);
  auto queries = numbersOf(8 * columns, -1, 1);
  queries[3] = kInfinity;
  const auto scores = score(queries, 8, columns, stored, count, 1);
  for (int64_t i = 1; i < 8; ++i) {
    const std::vector<float> own(weights.begin() + i * count,
                                 weights.begin() + (i + 1) * count);
    EXPECT_EQ(add(own, 1, stored, count, columns),
              std::vector<float>(sums.begin() + i * columns,
                                 sums.begin() + (i + 1) * columns));
    const std::vector<float> query(queries.begin() + i * columns,
                                   queries.begin() + (i + 1) * columns);
    EXPECT_EQ(score(query, 1, columns, stored, count, 1),
              std::vector<float>(scores.begin() + i * count,
                                 scores.begin() + (i + 1) * count));
  }
  for (int64_t j = 0; j < columns; ++j) {
    EXPECT_TRUE(std::isnan(sums[size_t(j)]));
    EXPECT_EQ(sums[size_t(columns + j)], 7);
  }
}

} // namespace
} // namespace shardc::runtime::host
