#include "compiler/package/FileHash.h"

#include "runtime/base/Hash.h"

#include <memory>
#include <vector>

namespace shardc::package {

bool hashFile(const std::string &path, std::string &hex, uint64_t &bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), XXH3_freeState);
  std::vector<char> block(1 << 20);
  bool isRead = state && XXH3_128bits_reset(state.get()) == XXH_OK;
  bytes = 0;
  while (isRead) {
    const ssize_t got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR)
      continue;
    isRead = got >= 0;
    if (got <= 0)
      break;
    XXH3_128bits_update(state.get(), block.data(), static_cast<size_t>(got));
    bytes += static_cast<uint64_t>(got);
  }
  close(fd);
  if (isRead)
    hex = runtime::detail::toHex(XXH3_128bits_digest(state.get()));
  return isRead;
}

} // namespace shardc::package
