//===- RowLaunch.h - A generated kernel's call on a GPU -------------------===//
//
// A block takes a row at a time, its threads the row's columns; where columns
// do not mix, the blocks along x share them out and those along y take the
// rows:
//
//   softmax over [2, 12, 128, 512]   3072 blocks, 128 threads each
//   x * y over one row of 400,000    391 blocks along x, 256 threads each
//
// What a kernel is given is described in compiler/codegen/cuda/CudaKernels.h.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_ROWLAUNCH_H
#define SHARDC_RUNTIME_DEVICE_CUDA_ROWLAUNCH_H

#include "runtime/device/RowSpace.h"

#include <array>

namespace shardc::runtime {

/// Row dims that a kernel tells apart.
inline constexpr int kLaunchRowDims = 3;

struct RowGrid {
  unsigned blocksX = 1, blocksY = 1;
  unsigned threads = 32; ///< of a block
  unsigned sharedBytes = 0;
  int64_t slotFloats = 0;   ///< of a row of one slot
  int64_t scratchBytes = 0; ///< of slots that shared memory has no room for
};

/// `space` is folded.
RowGrid gridFor(const artifact::GeneratedForm &form, const RowSpace &space);

/// What the launches of one call are given: one for each place of the dims that
/// a kernel does not tell apart, which is one for most calls.
class RowArguments {
public:
  RowArguments(const RowSpace &space, const RowGrid &grid, std::byte *scratch);

  int64_t numLaunches() const { return launches; }
  /// For launch number `launch`: a pointer to each argument's 8 bytes.
  void **of(int64_t launch);

private:
  static constexpr size_t kMostWords =
      artifact::kMaxGeneratedOperands * (1 + kLaunchRowDims) + 1 +
      kLaunchRowDims + 2;

  const RowSpace &space;
  int firstDim; ///< that the kernel sees; those before it make launches
  int64_t launches = 1;
  std::array<int64_t, kMostWords> words;
  std::array<void *, kMostWords> pointers;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_ROWLAUNCH_H
