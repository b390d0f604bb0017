#include "runtime/backend/host/HostMemory.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace shardc::runtime {

/// "48G"; -1 where it is none.
static int64_t parseBytes(const char *text) {
  constexpr const char *kUnits = "KMGT";
  char *end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text)
    return -1;
  int shift = 0;
  if (const char *unit = *end ? std::strchr(kUnits, *end) : nullptr) {
    shift = 10 * (1 + static_cast<int>(unit - kUnits));
    ++end;
  }
  const double bytes = number * static_cast<double>(int64_t{1} << shift);
  const bool isFine = !*end && bytes >= 0 && bytes < 0x1p62;
  return isFine ? static_cast<int64_t>(bytes) : -1;
}

Status readHostMemory(const ReadText &read, const char *most,
                      HostMemory &memory) {
  const auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  memory.bytes =
      readMemoryInfo(read, "MemTotal")
          .value_or(page * static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)));
  memory.free =
      // Where it is not said, nothing is known to be taken.
      readMemoryInfo(read, "MemAvailable").value_or(memory.bytes) +
      readMemoryInfo(read, "SwapFree").value_or(0);
  const CgroupLimits limits = readCgroupLimits(read);
  memory.bytes = std::min(memory.bytes, limits.memoryBytes.value_or(INT64_MAX));
  memory.free = std::min(memory.free, limits.memoryRoom.value_or(INT64_MAX));
  if (!most || !*most)
    return Status::ok();
  const int64_t bytes = parseBytes(most);
  if (bytes < 0)
    return argumentError("SHARDC_HOST_MEMORY is '", most,
                         "', expected bytes, or a number of K, M, G or T, such "
                         "as 48G");
  memory.bytes = std::min(memory.bytes, bytes);
  memory.free = std::min(memory.free, bytes);
  return Status::ok();
}

Status hostMemory(HostMemory &memory) {
  return readHostMemory(readSystemText, std::getenv("SHARDC_HOST_MEMORY"),
                        memory);
}

} // namespace shardc::runtime
