//===- PagePool.h - Which pages of a pool are taken -----------------------===//
//
// A page is a number: the same place in each cache of each rank. Several
// sequences may have one, a common prompt; it is free once none has it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_PAGEPOOL_H
#define SHARDC_RUNTIME_SERVE_PAGEPOOL_H

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc::runtime {

class PagePool {
public:
  explicit PagePool(int64_t pages);

  int64_t size() const { return static_cast<int64_t>(users.size()); }
  int64_t numFree() const { return static_cast<int64_t>(unused.size()); }
  /// A page that nobody has; nothing if there is none. Of those that were given
  /// back the last one, whose memory is there and perhaps in a cache.
  std::optional<int64_t> take();
  void share(int64_t page) { ++users[static_cast<size_t>(page)]; }
  void release(int64_t page);
  bool isShared(int64_t page) const {
    return users[static_cast<size_t>(page)] > 1;
  }

private:
  std::vector<int32_t> users; ///< by page
  std::vector<int64_t> unused;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_PAGEPOOL_H
