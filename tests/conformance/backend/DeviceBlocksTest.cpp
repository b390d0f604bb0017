//===- DeviceBlocksTest.cpp - Blocks of what callers have on devices ------===//
#include "runtime/device/DeviceBlocks.h"
#include "runtime/device/ViewRows.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <numeric>

namespace shardc::test {
namespace {

using namespace runtime;
using namespace artifact;

constexpr int64_t kRows = 6, kColumns = 9;

/// Rows 1 to 4 of six, and columns 2, 3, 6, 7 of nine.
std::vector<OwnedRuns> block() {
  return {{kRows, 4, {{1, 4}}}, {kColumns, 4, {{2, 2}, {6, 2}}}};
}
constexpr int64_t kBlockRows[] = {1, 2, 3, 4}, kBlockColumns[] = {2, 3, 6, 7};

struct Layout {
  int64_t strides[2], first;
};
constexpr Layout kDense{{9, 1}, 0}, kTurned{{1, 7}, 3}, kApart{{22, 2}, 1},
    kBackwards{{-9, 1}, 54}, kMirrored{{10, -1}, 9};

/// Elements that count from 1, as integers that all floats have.
std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.f);
  return values;
}

/// [kRows, kColumns] in memory of a caller's.
DeviceView wholeAt(std::byte *memory, const Layout &layout, int device) {
  const int64_t dims[] = {kRows, kColumns};
  DeviceView whole{
      packedView(memory + layout.first * 4, ElementType_Float32, dims), device};
  std::copy_n(layout.strides, 2, whole.view.strides);
  return whole;
}

size_t placeIn(const Layout &layout, int64_t row, int64_t column) {
  return static_cast<size_t>(layout.first + row * layout.strides[0] +
                             column * layout.strides[1]);
}

/// The rank's part as floats; as it holds them it is dense.
template <typename T> std::vector<float> widened(const std::vector<T> &values) {
  return {values.begin(), values.end()};
}

TEST_P(BackendTest, blocksOfCallersMemoryGoBothWays) {
  constexpr size_t kCount = 160;
  const DeviceBuffer from = memory(kCount * 4), to = memory(kCount * 4),
                     part = memory(16 * 4);
  const std::vector<float> values = counted(kCount);
  int numSettled = 0;
  DeviceBlocks blocks(*device, *stream, [&] {
    ++numSettled;
    return stream->synchronize();
  });
  const int own = device->info().number;
  for (const int at : {own, own + 1}) // as of another device
    for (const ElementType held : {ElementType_Float32, ElementType_Float16})
      for (const Layout &layout :
           {kDense, kTurned, kApart, kBackwards, kMirrored}) {
        upload(from, values);
        upload(to, std::vector<float>(kCount, -77));
        const int64_t dims[] = {4, 4};
        const TensorView local = packedView(part.data(), held, dims);
        ASSERT_OK(
            blocks.copyIn(wholeAt(from.data(), layout, at), block(), local));
        ASSERT_OK(
            blocks.copyOut(wholeAt(to.data(), layout, at), block(), local));
        ASSERT_OK(stream->synchronize());
        std::vector<float> expected, written(kCount, -77);
        for (const int64_t row : kBlockRows)
          for (const int64_t column : kBlockColumns) {
            const size_t place = placeIn(layout, row, column);
            expected.push_back(values[place]);
            written[place] = values[place];
          }
        EXPECT_EQ(held == ElementType_Float32
                      ? download<float>(part.data(), 16)
                      : widened(download<_Float16>(part.data(), 16)),
                  expected)
            << "at " << at;
        EXPECT_EQ(download<float>(to.data(), kCount), written) << "at " << at;
        // What was launched before may be launched behind anything.
        const int before = numSettled;
        if (at == own)
          EXPECT_GT(before, 0);
        ASSERT_OK(
            blocks.copyIn(wholeAt(from.data(), layout, at), block(), local));
        EXPECT_EQ(numSettled, before);
        ASSERT_OK(stream->synchronize());
      }
}

TEST_P(BackendTest, copiesOfRowsThatAreTooManyAreRefused) {
  const DeviceBuffer a = memory(4), b = memory(4);
  const int64_t dims[] = {200, 200, 2};
  TensorView to = packedView(a.data(), ElementType_Float32, dims);
  const TensorView from = packedView(b.data(), ElementType_Float32, dims);
  std::swap(to.strides[0], to.strides[1]);
  to.strides[0] = -1; // no rows on this side
  to.strides[1] = -200;
  const Status status = copyRows(*stream, to, from);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("bind memory that is dense"),
            std::string::npos)
      << status.message();
}

/// What others enqueue where no stream of theirs is known is no matter; of CUDA
/// DeviceBindingTest.cpp has more.
TEST_P(BackendTest, waitsForOthersOfItsDevice) {
  const DeviceBuffer a = memory(4);
  ASSERT_OK(stream->waitForOthers(device->info().number));
  upload(a, counted(1));
  EXPECT_EQ(download<float>(a.data(), 1), counted(1));
}

} // namespace
} // namespace shardc::test
