#include "runtime/serve/PagePool.h"

namespace shardc::runtime {

PagePool::PagePool(int64_t pages) : users(static_cast<size_t>(pages), 0) {
  unused.reserve(users.size());
  for (int64_t page = pages; page-- > 0;)
    unused.push_back(page);
}

std::optional<int64_t> PagePool::take() {
  if (unused.empty())
    return std::nullopt;
  const int64_t page = unused.back();
  unused.pop_back();
  users[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::release(int64_t page) {
  if (--users[static_cast<size_t>(page)] == 0)
    unused.push_back(page);
}

} // namespace shardc::runtime
