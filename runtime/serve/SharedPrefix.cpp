#include "runtime/serve/SharedPrefix.h"

#include <algorithm>

namespace shardc::runtime {

void SharedPrefix::consider(std::span<const int64_t> text,
                            std::span<const int64_t> other,
                            const Sequence &from, bool retained,
                            int64_t ofPage) {
  const size_t most = std::min(text.size() - 1, other.size());
  const size_t page = static_cast<size_t>(ofPage);
  // Most texts differ at once; one that has no more pages is not looked at.
  if (most < page * (static_cast<size_t>(pages) + 1) || text[0] != other[0])
    return;
  const auto same = std::mismatch(
      text.begin(), text.begin() + static_cast<ptrdiff_t>(most), other.begin());
  const int64_t found =
      std::min((same.first - text.begin()) / ofPage, from.length() / ofPage);
  if (found > pages) {
    pages = found;
    sequence = &from;
    isRetained = retained;
  }
}

} // namespace shardc::runtime
