#include "runtime/weights/WeightSlice.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {
namespace {

/// Element `index` of what is owned, in the whole dim.
int64_t globalIndex(const OwnedRuns &dim, int64_t index) {
  for (const OwnedRun &run : dim.runs) {
    if (index < run.length)
      return run.start + index;
    index -= run.length;
  }
  return 0; // there is none
}

/// A slice as rows of equal length, each of runs that are dense in the whole.
class Rows {
public:
  explicit Rows(const WeightSlice &slice)
      : slice(slice), split(static_cast<int>(slice.dims.size()) - 1),
        inner(artifact::elementBytes(slice.whole.element)) {
    while (split > 0 && dim(split).isWhole())
      inner *= dim(split--).globalSize;
    rowBytes = split < 0 ? inner : dim(split).localSize * inner;
  }

  /// Bytes [begin, end) of row `row`.
  void copy(int64_t row, int64_t begin, int64_t end, std::byte *to) const {
    const std::byte *from = start(row);
    if (split < 0) {
      std::memcpy(to, from + begin, static_cast<size_t>(end - begin));
      return;
    }
    int64_t at = 0; // of the run in the row
    for (const OwnedRun &run : dim(split).runs) {
      const int64_t first = std::max(at, begin);
      const int64_t last = std::min(at + run.length * inner, end);
      if (first < last) {
        std::memcpy(to, from + run.start * inner + (first - at),
                    static_cast<size_t>(last - first));
        to += last - first;
      }
      at += run.length * inner;
      if (at >= end)
        return;
    }
  }

  int64_t rowBytes = 0;

private:
  const OwnedRuns &dim(int d) const {
    return slice.dims[static_cast<size_t>(d)];
  }
  const std::byte *start(int64_t row) const {
    int64_t offset = 0;
    for (int d = split - 1; d >= 0; --d) {
      offset +=
          globalIndex(dim(d), row % dim(d).localSize) * slice.whole.strides[d];
      row /= dim(d).localSize;
    }
    return slice.whole.data +
           offset * artifact::elementBytes(slice.whole.element);
  }

  const WeightSlice &slice;
  int split;     ///< the last dim that is not whole; -1: there is no dim
  int64_t inner; ///< bytes of all dims behind it
};

/// Bytes [begin, end) of one row of a joined slice.
void copyJoined(const WeightSlice &slice, int64_t row, int64_t begin,
                int64_t end, std::byte *to) {
  int64_t at = 0; // of the part in the row
  for (const WeightSlice *part : slice.parts) {
    const int64_t bytes = part->bytes / slice.rows;
    const int64_t first = std::max(at, begin), last = std::min(at + bytes, end);
    if (first < last)
      copyPacked(*part, row * bytes + first - at, row * bytes + last - at,
                 to + (first - begin));
    at += bytes;
  }
}

} // namespace

void copyPacked(const WeightSlice &slice, int64_t begin, int64_t end,
                std::byte *to) {
  if (slice.data && !slice.block) {
    std::memcpy(to, slice.data + begin, static_cast<size_t>(end - begin));
    return;
  }
  const bool isJoined = !slice.parts.empty();
  const Rows rows(slice);
  const int64_t rowBytes =
      isJoined ? slice.bytes / std::max<int64_t>(slice.rows, 1) : rows.rowBytes;
  while (begin < end) {
    const int64_t row = begin / rowBytes, first = begin % rowBytes;
    const int64_t count = std::min(rowBytes - first, end - begin);
    if (isJoined)
      copyJoined(slice, row, first, first + count, to);
    else
      rows.copy(row, first, first + count, to);
    to += count;
    begin += count;
  }
}

} // namespace shardc::runtime
