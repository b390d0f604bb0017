#include "runtime/weights/PackedOperands.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

int timesPacked = 0;

/// Of matrices with two columns: their first column.
int64_t bytesOf(const TensorView &matrix) {
  return matrix.dims[1] == 2 ? matrix.dims[0] * int64_t(sizeof(float)) : 0;
}
void packFirstColumn(const TensorView &matrix, std::byte *to) {
  ++timesPacked;
  for (int64_t i = 0; i < matrix.dims[0]; ++i)
    reinterpret_cast<float *>(to)[i] =
        matrix.as<float>()[i * matrix.strides[0]];
}
constexpr OperandPacking kFirstColumn = {0, bytesOf, packFirstColumn};

class PackedOperandsTest : public testing::Test {
protected:
  float memory[6] = {1, 2, 3, 4, 5, 6};

  TensorView matrix() {
    TensorView view;
    view.data = reinterpret_cast<std::byte *>(memory);
    view.rank = 2;
    view.dims[0] = 3;
    view.dims[1] = 2;
    view.strides[0] = 2;
    view.strides[1] = 1;
    return view;
  }
  /// The matrix for each of `size` batches.
  TensorView batched(int64_t size, int64_t stride) {
    TensorView view = matrix();
    view.rank = 3;
    const int64_t dims[] = {size, 3, 2}, strides[] = {stride, 2, 1};
    std::copy(dims, dims + 3, view.dims);
    std::copy(strides, strides + 3, view.strides);
    return view;
  }
  const std::byte *packed(PackedOperands &operands, const TensorView &view) {
    const std::byte *found = nullptr;
    std::vector<PackedOperands::Unpacked> unpacked;
    EXPECT_TRUE(operands.find(kFirstColumn, view, found, unpacked).isOk());
    for (const PackedOperands::Unpacked &each : unpacked)
      each.pack();
    return found;
  }
};

TEST_F(PackedOperandsTest, PacksAMatrixOnceWhateverItsBatchIs) {
  timesPacked = 0;
  PackedOperands operands;
  const std::byte *first = packed(operands, matrix());
  ASSERT_TRUE(first);
  const float *column = reinterpret_cast<const float *>(first);
  EXPECT_EQ(std::vector<float>(column, column + 3),
            (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(packed(operands, batched(7, 0)), first);
  EXPECT_EQ(packed(operands, batched(1, 100)), first);
  EXPECT_EQ(timesPacked, 1);
  EXPECT_EQ(operands.bytes(), 12);
}

TEST_F(PackedOperandsTest, LeavesSeveralMatricesAndOtherForms) {
  PackedOperands operands;
  EXPECT_FALSE(packed(operands, batched(2, 6)));
  TensorView wide = matrix();
  wide.dims[0] = 2;
  wide.dims[1] = 3;
  EXPECT_FALSE(packed(operands, wide));
  EXPECT_EQ(operands.bytes(), 0);
}

TEST_F(PackedOperandsTest, RanksShareWhatLiesInTheSamePlace) {
  timesPacked = 0;
  {
    PackedOperands one, other;
    EXPECT_EQ(packed(one, matrix()), packed(other, matrix()));
    EXPECT_EQ(timesPacked, 1);
    TensorView second = matrix();
    second.data += 2 * sizeof(float);
    second.dims[0] = 2;
    EXPECT_NE(packed(one, second), packed(one, matrix()));
    EXPECT_EQ(timesPacked, 2);
  }
  memory[0] = 9; // nobody holds the old ones
  PackedOperands later;
  EXPECT_EQ(*reinterpret_cast<const float *>(packed(later, matrix())), 9);
}

} // namespace
} // namespace shardc::runtime
