//===- Ownership.h - Which elements of a dim belong to a rank -------------===//
//
// A DimLayout (Program.fbs) says how a global dim is split; resolved for a rank
// it is a sorted list of runs. Local order is global order restricted to what
// the rank owns. Example: a packed q|k|v dim of 3 segments, each 6 heads of 2
// elements over 4 ways; way 1 owns heads [1, 3) of each segment:
//   runs {2, 4}, {14, 4}, {26, 4}   globalSize 36, localSize 12
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_OWNERSHIP_H
#define SHARDC_RUNTIME_TENSOR_OWNERSHIP_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardc::runtime {

struct OwnedRun {
  int64_t start;
  int64_t length; ///< at least 1
  bool operator==(const OwnedRun &) const = default;
};

/// Runs are sorted, disjoint and not adjacent.
struct OwnedRuns {
  int64_t globalSize = 0;
  int64_t localSize = 0;
  std::vector<OwnedRun> runs;

  bool isWhole() const { return localSize == globalSize; }
  bool operator==(const OwnedRuns &) const = default;

  /// All of a dim of `size` elements.
  static OwnedRuns whole(int64_t size);
};

/// First element of way `index` of `ways` on a factor of `size`.
int64_t wayBegin(int64_t size, int64_t ways, int64_t index);
/// The same of ways that have parts as `bounds` says (Program.fbs); without, they
/// are equal.
int64_t wayBegin(int64_t size, int64_t ways,
                 const flatbuffers::Vector<int64_t> *bounds, int64_t index);

/// Resolves a layout with the scalars of one rank.
Status resolveLayout(const artifact::DimLayout &layout,
                     std::span<const int64_t> scalars, OwnedRuns &owned);

/// The same of all dims of a tensor.
using Layouts = flatbuffers::Vector<flatbuffers::Offset<artifact::DimLayout>>;
Status resolveLayouts(const Layouts &layouts, std::span<const int64_t> scalars,
                      std::vector<OwnedRuns> &dims);

/// Whether the block that `dims` describe is one piece of the row-major global
/// tensor; `offset` is then its first element. An empty block is.
bool isContiguousBlock(std::span<const OwnedRuns> dims, int64_t &offset);

/// The same block, where elements that share bytes are counted as bytes: of 4 bits
/// elements [4, 8) are bytes [2, 4). Nothing where one begins or ends within a byte.
std::optional<std::vector<OwnedRuns>>
inWholeBytes(artifact::ElementType element, std::span<const OwnedRuns> dims);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_OWNERSHIP_H
