#include "runtime/device/cuda/RowLaunch.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

constexpr int64_t kWarp = 32;
/// Columns of a 16-byte vector of the widest usual element: threads that only
/// some of a narrower one's vectors keep busy are few.
constexpr int64_t kColumnsPerThread = 4;
constexpr int64_t kMostThreads = 256;
constexpr int64_t kMostThreadsOfRow = 512;
/// Blocks go on from there: enough to fill any GPU.
constexpr int64_t kMostBlocks = 4096;
/// The limit along y.
constexpr int64_t kMostBlocksY = 65535;
/// What a block may ask for everywhere without asking the driver first.
constexpr int64_t kMostShared = 48 << 10;
/// Floats in front of the slots: one for each warp.
constexpr int64_t kReductionFloats = 32;
constexpr int64_t kSlotUnit = 8;
/// How often a kernel halves a block to take several short rows at once.
constexpr int kMostHalves = 5;

int64_t ceilDivide(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Whole warps for these columns.
unsigned threadsFor(int64_t columns, int64_t most) {
  const int64_t wanted = ceilDivide(columns, kColumnsPerThread);
  return static_cast<unsigned>(
      std::clamp(ceilDivide(wanted, kWarp) * kWarp, kWarp, most));
}

/// Of short rows that a block of the most threads takes at once, at least.
int64_t rowsOfBlock(int64_t columns) {
  int64_t rows = 1;
  for (int i = 0; i < kMostHalves; ++i)
    if (kMostThreads / (2 * rows) * kColumnsPerThread >= columns)
      rows *= 2;
  return rows;
}

/// The first dim that a kernel sees: its rows have 32-bit numbers.
int firstDimOf(const RowSpace &space) {
  int first = space.rank;
  int64_t rows = 1;
  while (first > 0 && space.rank - first < kLaunchRowDims &&
         rows * space.dims[first - 1] < (int64_t{1} << 31))
    rows *= space.dims[--first];
  return first;
}

} // namespace

RowGrid gridFor(const artifact::GeneratedForm &form, const RowSpace &space) {
  RowGrid grid;
  int64_t rows = 1;
  for (int d = firstDimOf(space); d < space.rank; ++d)
    rows *= space.dims[d];
  if (!form.mixesColumns) {
    const int64_t atOnce = rowsOfBlock(space.columns);
    grid.threads =
        threadsFor(space.columns * std::min(rows, atOnce), kMostThreads);
    const int64_t along =
        ceilDivide(space.columns, int64_t{grid.threads} * kColumnsPerThread);
    grid.blocksX =
        static_cast<unsigned>(std::clamp<int64_t>(along, 1, kMostBlocks));
    grid.blocksY = static_cast<unsigned>(
        std::clamp<int64_t>(ceilDivide(rows, atOnce), 1,
                            std::max<int64_t>(1, kMostBlocksY / grid.blocksX)));
  } else {
    grid.threads = threadsFor(space.columns, kMostThreadsOfRow);
    grid.blocksX =
        static_cast<unsigned>(std::clamp<int64_t>(rows, 1, kMostBlocks));
  }
  grid.slotFloats = (ceilDivide(space.columns, kSlotUnit) + 1) * kSlotUnit;
  const int64_t slots = 4 * form.slots * grid.slotFloats;
  const int64_t shared = 4 * kReductionFloats + slots;
  if (shared <= kMostShared)
    grid.sharedBytes = static_cast<unsigned>(shared);
  else {
    grid.sharedBytes = 4 * kReductionFloats;
    grid.scratchBytes = slots * grid.blocksX * grid.blocksY;
  }
  return grid;
}

RowArguments::RowArguments(const RowSpace &space, const RowGrid &grid,
                           std::byte *scratch)
    : space(space), firstDim(firstDimOf(space)) {
  for (int d = 0; d < firstDim; ++d)
    launches *= space.dims[d];
  // Operands first, which each launch sets.
  size_t next = static_cast<size_t>(space.numOperands);
  words[next++] = space.columns;
  for (int d = 0; d < kLaunchRowDims; ++d) {
    const int dim = space.rank - 1 - d;
    words[next++] = dim >= firstDim ? space.dims[dim] : 1;
  }
  for (int i = 0; i < space.numOperands; ++i)
    for (int d = 0; d < kLaunchRowDims; ++d) {
      const int dim = space.rank - 1 - d;
      words[next++] = dim >= firstDim ? space.operands[i].strides[dim] : 0;
    }
  words[next++] =
      grid.scratchBytes > 0 ? reinterpret_cast<int64_t>(scratch) : 0;
  words[next++] = grid.slotFloats;
  for (size_t i = 0; i < next; ++i)
    pointers[i] = &words[i];
}

void **RowArguments::of(int64_t launch) {
  for (int i = 0; i < space.numOperands; ++i) {
    const RowOperand &operand = space.operands[i];
    int64_t rest = launch, elements = 0;
    for (int d = firstDim - 1; d >= 0; --d) {
      elements += rest % space.dims[d] * operand.strides[d];
      rest /= space.dims[d];
    }
    words[static_cast<size_t>(i)] =
        reinterpret_cast<int64_t>(operand.data + elements * operand.bytes);
  }
  return pointers.data();
}

} // namespace shardc::runtime
