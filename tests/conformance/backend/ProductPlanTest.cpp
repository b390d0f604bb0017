//===- ProductPlanTest.cpp - Products as cuBLASLt would compute them ------===//
//
// A plan is carried out as its words say, and compared with the sum over the
// views: small integers, so equality is exact.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/products/ProductPlan.h"
#include "runtime/tensor/CopyView.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shardc::runtime {
namespace {

constexpr auto kFloat = artifact::ElementType_Float32;

/// A view with memory; dims in the order `order` from major to minor, with
/// `gap` elements behind each row, and those in `repeated` at stride 0.
struct Operand {
  std::vector<float> values;
  TensorView view;

  Operand(const std::vector<int64_t> &dims, const std::vector<int> &order,
          int64_t gap, const std::vector<int> &repeated, std::mt19937 &random) {
    view = packedView(nullptr, kFloat, dims);
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      const int d = order[i];
      const bool repeats =
          std::find(repeated.begin(), repeated.end(), d) != repeated.end();
      view.strides[d] = repeats ? 0 : stride;
      if (!repeats)
        stride *= dims[static_cast<size_t>(d)];
      if (i + 1 == order.size())
        stride += gap;
    }
    values.resize(static_cast<size_t>(std::max<int64_t>(stride, 1)));
    for (float &value : values)
      value = static_cast<float>(random() % 7) - 3;
    view.data = reinterpret_cast<std::byte *>(values.data());
  }
};

float &at(const ProductOperand &operand, float *data, int64_t row,
          int64_t column) {
  return operand.isTransposed ? data[column * operand.leading + row]
                              : data[row * operand.leading + column];
}

/// cuBLASLt's part.
void carryOut(const ProductPlan &plan, float *a, float *b, float *c) {
  Status status =
      plan.forEachProduct([&](int64_t atA, int64_t atB, int64_t atC) {
        for (int64_t batch = 0; batch < plan.batches; ++batch)
          for (int64_t i = 0; i < plan.c.rows; ++i)
            for (int64_t j = 0; j < plan.c.columns; ++j) {
              float sum = 0;
              for (int64_t k = 0; k < plan.a.columns; ++k)
                sum += at(plan.a, a + atA + batch * plan.a.batchStride, i, k) *
                       at(plan.b, b + atB + batch * plan.b.batchStride, k, j);
              at(plan.c, c + atC + batch * plan.c.batchStride, i, j) = sum;
            }
        return Status::ok();
      });
  ASSERT_TRUE(status.isOk());
}

int64_t offsetOf(const TensorView &view, const int64_t *index) {
  int64_t offset = 0;
  for (int d = 0; d < view.rank; ++d)
    offset += index[d] * view.strides[d];
  return offset;
}

/// Every element of C against the sum over the views.
void expectProduct(const TensorView &a, const TensorView &b,
                   const TensorView &c) {
  const int row = c.rank - 2, column = c.rank - 1;
  for (int64_t e = 0; e < c.numElements(); ++e) {
    int64_t index[kMaxRank], inA[kMaxRank], inB[kMaxRank], rest = e;
    for (int d = c.rank - 1; d >= 0; --d) {
      index[d] = inA[d] = inB[d] = rest % c.dims[d];
      rest /= c.dims[d];
    }
    float sum = 0;
    for (int64_t k = 0; k < a.dims[column]; ++k) {
      inA[column] = inB[row] = k;
      sum += a.as<float>()[offsetOf(a, inA)] * b.as<float>()[offsetOf(b, inB)];
    }
    ASSERT_EQ(c.as<float>()[offsetOf(c, index)], sum) << "element " << e;
  }
}

TEST(ProductPlan, carriesOutViewsOfAllKinds) {
  std::mt19937 random(1);
  const std::vector<std::vector<int>> orders = {
      {0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {1, 0, 2, 3}, {2, 0, 1, 3}};
  int planned = 0;
  for (int round = 0; round < 3000; ++round) {
    auto pick = [&](int64_t most) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1;
    };
    const int64_t x = pick(3), y = pick(3), m = pick(4), k = pick(4),
                  n = pick(4);
    auto order = [&] { return orders[random() % orders.size()]; };
    auto gap = [&] { return random() % 2 ? int64_t{0} : pick(3); };
    std::vector<int> repeated;
    for (int d : {0, 1})
      if (random() % 3 == 0)
        repeated.push_back(d);
    Operand a({x, y, m, k}, order(), gap(), {}, random);
    Operand b({x, y, k, n}, order(), gap(), repeated, random);
    Operand c({x, y, m, n}, order(), gap(), {}, random);
    const ProductPlan plan = planProduct(a.view, b.view, c.view);
    if (plan.a.isPacked || plan.b.isPacked || plan.c.isPacked)
      continue;
    ++planned;
    carryOut(plan, a.values.data(), b.values.data(), c.values.data());
    expectProduct(a.view, b.view, c.view);
    if (HasFatalFailure())
      FAIL() << "round " << round;
  }
  EXPECT_GT(planned, 1000);
}

TEST(ProductPlan, batchesWithoutBAreRows) {
  const int64_t ofA[] = {2, 8, 96}, ofB[] = {2, 96, 192}, ofC[] = {2, 8, 192};
  TensorView a = packedView(nullptr, kFloat, ofA),
             b = packedView(nullptr, kFloat, ofB),
             c = packedView(nullptr, kFloat, ofC);
  b.strides[0] = 0;
  const ProductPlan plan = planProduct(a, b, c);
  EXPECT_EQ(plan.c.rows, 16);
  EXPECT_EQ(plan.batches, 1);
  EXPECT_EQ(plan.numLoops, 0);
}

TEST(ProductPlan, transposedKeyNeedsNoPacking) {
  // Keys [2, 12, 128, 64] as [2, 12, 64, 128].
  const int64_t ofA[] = {2, 12, 128, 64}, ofB[] = {2, 12, 64, 128},
                ofC[] = {2, 12, 128, 128};
  TensorView a = packedView(nullptr, kFloat, ofA),
             b = packedView(nullptr, kFloat, ofB),
             c = packedView(nullptr, kFloat, ofC);
  b.strides[2] = 1;
  b.strides[3] = 64;
  const ProductPlan plan = planProduct(a, b, c);
  EXPECT_TRUE(plan.b.isTransposed);
  EXPECT_EQ(plan.b.leading, 64);
  EXPECT_EQ(plan.batches, 24);
  EXPECT_EQ(plan.numLoops, 0);
  EXPECT_FALSE(plan.a.isPacked || plan.b.isPacked || plan.c.isPacked);
}

TEST(ProductPlan, denseAlongNothingIsPacked) {
  const int64_t dims[] = {4, 4};
  TensorView a = packedView(nullptr, kFloat, dims), b = a, c = a;
  a.strides[0] = 8;
  a.strides[1] = 2;
  EXPECT_TRUE(planProduct(a, b, c).a.isPacked);
}

} // namespace
} // namespace shardc::runtime
