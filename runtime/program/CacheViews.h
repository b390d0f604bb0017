//===- CacheViews.h - How far a program reaches into its caches -----------===//
//
// A cache has addresses for its whole capacity, and memory as far as a program
// reads or writes it. With positions outermost that is what is taken of it;
// with heads outermost the last head is at the end, and all of it has to be
// there.
//
//   capacity 8, 2 heads, 5 positions taken
//   [position][head]    HH HH HH HH HH .. .. ..      5 / 8 of the memory
//   [head][position]    PPPPP... PPPPP...            all but 3 positions
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_CACHEVIEWS_H
#define SHARDC_RUNTIME_PROGRAM_CACHEVIEWS_H

#include "runtime/artifact/Format.h"

#include <span>
#include <vector>

namespace shardc::runtime {

class CacheViews {
public:
  explicit CacheViews(const artifact::Program &program);

  /// Bytes from the begin of a cache's `bytes` that a run with these sizes may
  /// touch on their rank.
  int64_t neededBytes(size_t cache, std::span<const int64_t> scalars,
                      int64_t bytes) const;

  /// Positions that a run puts behind those of a cache that keeps the last ones;
  /// -1 where no CacheAppend reads it, which alone says that.
  int64_t added(size_t cache, std::span<const int64_t> scalars) const;

private:
  const artifact::Program &program;
  std::vector<std::vector<uint32_t>> views; ///< by cache
  std::vector<int64_t> addedSizes;          ///< scalars, by cache; or -1
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_CACHEVIEWS_H
