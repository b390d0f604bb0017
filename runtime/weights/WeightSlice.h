//===- WeightSlice.h - A rank's part of a weight --------------------------===//
//
// One piece of memory, or pieces of the mapped file that nobody has packed yet:
// a device gets those packed on their way, without a copy on the host. Weight
// [4, 6] on rank 1 of tp = 2, split by columns:
//
//   file    0 1 2 [3 4 5] 6 7 8 [9 10 11] ...
//   packed  3 4 5 9 10 11 15 16 17 ...
//
// A host may read those columns in the file, too, where views of them become views
// of rows of six (BlockLayout.h).
//
// Several slices may lie side by side in one, as one matrix of several: beside
// the columns of the weight above those of another one, in each row.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_WEIGHTSLICE_H
#define SHARDC_RUNTIME_WEIGHTS_WEIGHTSLICE_H

#include "runtime/tensor/BlockLayout.h"

#include <vector>

namespace shardc::runtime {

struct WeightSlice {
  const std::byte *data = nullptr; ///< null: it was not packed
  int64_t bytes = 0;
  bool isTransient = false; ///< a host need have it only while it is packed
  int64_t extent = 0;       ///< bytes from `data` to behind its last one
  /// Of what lies at `data`; nothing: it lies dense.
  std::optional<BlockLayout> block = {};
  // What is packed if it was not, or lies as a block: what is owned of each dim of
  // the row-major `whole`, whose elements are bytes where the weight's are less.
  TensorView whole = {};
  std::vector<OwnedRuns> dims = {};
  // Or it is joined: in each of so many rows, a row of each of these.
  std::vector<const WeightSlice *> parts = {};
  int64_t rows = 0;
};

/// Bytes [begin, end) of the packed slice.
void copyPacked(const WeightSlice &slice, int64_t begin, int64_t end,
                std::byte *to);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_WEIGHTSLICE_H
