#include "runtime/weights/PackedOperands.h"

#include "runtime/base/MappedFile.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

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
  const std::byte *packed(PackedOperands &operands, const TensorView &view,
                          const TransientBytes *transient = nullptr) {
    const std::byte *found = nullptr;
    std::vector<PackedOperands::Unpacked> unpacked;
    EXPECT_TRUE(
        operands.find(kFirstColumn, view, transient, found, unpacked).isOk());
    for (const PackedOperands::Unpacked &each : unpacked)
      EXPECT_TRUE(each.pack().isOk());
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

/// First columns of experts, each from a multiple of 64 bytes on.
constexpr OperandPacking kEveryExpert = {0, bytesOf, packFirstColumn,
                                         /*rank=*/3};

TEST_F(PackedOperandsTest, PacksMatricesOfExpertsAsOne) {
  PackedOperands operands;
  const std::byte *found = nullptr;
  std::vector<PackedOperands::Unpacked> unpacked;
  const TensorView experts = batched(2, 1);
  ASSERT_TRUE(
      operands.find(kEveryExpert, experts, nullptr, found, unpacked).isOk());
  ASSERT_EQ(unpacked.size(), 1u);
  EXPECT_TRUE(unpacked[0].pack().isOk());
  const float *numbers = reinterpret_cast<const float *>(found);
  EXPECT_EQ(std::vector<float>(numbers, numbers + 3),
            (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(std::vector<float>(numbers + 16, numbers + 19),
            (std::vector<float>{2, 4, 6}));
  // A matrix alone has none.
  ASSERT_TRUE(
      operands.find(kEveryExpert, matrix(), nullptr, found, unpacked).isOk());
  EXPECT_FALSE(found);
}

/// Columns 0 and 2 of the memory as [2, 3], which are nowhere by themselves.
TEST_F(PackedOperandsTest, CopiesOnlyWhatItPacks) {
  WeightSlice slice;
  slice.bytes = 4 * int64_t(sizeof(float));
  slice.whole = matrix();
  slice.whole.dims[0] = 2;
  slice.whole.dims[1] = slice.whole.strides[0] = 3;
  slice.dims = {OwnedRuns::whole(2), {3, 2, {{0, 1}, {2, 1}}}};
  TransientSlice transient;
  ASSERT_TRUE(transient.reserve(slice).isOk());
  TensorView view = matrix();
  view.data = transient.data();
  view.dims[0] = 2;
  PackedOperands operands;
  const float *column =
      reinterpret_cast<const float *>(packed(operands, view, &transient));
  ASSERT_TRUE(column);
  EXPECT_EQ(std::vector<float>(column, column + 2), (std::vector<float>{1, 4}));
  // A part of it: its second row.
  view.data += 2 * sizeof(float);
  view.dims[0] = 1;
  EXPECT_EQ(
      *reinterpret_cast<const float *>(packed(operands, view, &transient)), 4);
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

/// Of this page; -1 where the system does not tell.
int isInProcess(const std::byte *address) {
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  uint64_t entry = 0;
  const auto page = reinterpret_cast<uintptr_t>(address) /
                    static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const bool isRead =
      fd >= 0 && pread(fd, &entry, 8, static_cast<off_t>(page * 8)) == 8;
  if (fd >= 0)
    close(fd);
  return isRead ? int(entry >> 63) : -1;
}

/// A file's weight is in memory once, as it was packed; others are left alone.
TEST_F(PackedOperandsTest, PagesOfAFileLeaveTheProcess) {
  const std::string path =
      testing::TempDir() + "packed-" + std::to_string(getpid());
  constexpr int64_t kRows = 100000;
  std::vector<float> numbers(2 * kRows);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = float(i);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(numbers.data()),
             std::streamsize(numbers.size() * 4));
  MappedFile file;
  ASSERT_TRUE(MappedFile::open(path, file).isOk());
  std::remove(path.c_str());
  ASSERT_TRUE(readMapped(file.data(), file.size()).isOk());
  const std::byte *middle = file.data() + file.size() / 2;
  const int before = isInProcess(middle);
  PackedOperands operands;
  TensorView view = matrix();
  view.dims[0] = kRows;
  for (const std::byte *data :
       {file.data(), reinterpret_cast<const std::byte *>(numbers.data())}) {
    view.data = const_cast<std::byte *>(data);
    const auto *column =
        reinterpret_cast<const float *>(packed(operands, view));
    ASSERT_TRUE(column);
    for (int64_t i = 0; i < kRows; ++i)
      ASSERT_EQ(column[i], float(2 * i));
  }
  if (before == 1) {
    EXPECT_EQ(isInProcess(middle), 0);
  }
  EXPECT_EQ(std::memcmp(file.data(), numbers.data(), file.size()), 0);
}

} // namespace
} // namespace shardc::runtime
