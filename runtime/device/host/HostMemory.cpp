#include "runtime/device/host/HostMemory.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
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

/// One that names a pool on this machine.
static uint64_t idOf(const std::string &bootId, const std::string &what) {
  const std::string text = bootId + '\n' + what;
  return bootId.empty() ? 0 : XXH3_64bits(text.data(), text.size());
}

static std::string firstLine(const ReadText &read, const char *path) {
  const std::string text = read(path).value_or("");
  return text.substr(0, text.find('\n'));
}

Status readHostMemory(const ReadText &read, const InodeOf &inodeOf,
                      const char *most, HostMemory &memory) {
  const auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  const std::string bootId = firstLine(read, "/proc/sys/kernel/random/boot_id");
  memory.name = firstLine(read, "/proc/sys/kernel/hostname");
  memory.bytes =
      readMemoryInfo(read, "MemTotal")
          .value_or(page * static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)));
  memory.free =
      // Where it is not said, nothing is known to be taken.
      readMemoryInfo(read, "MemAvailable").value_or(memory.bytes) +
      readMemoryInfo(read, "SwapFree").value_or(0);
  memory.pools = {
      {idOf(bootId, "memory"), memory.free, MemoryPoolKind::Machine}};
  const CgroupLimits limits = readCgroupLimits(read);
  memory.bytes = std::min(memory.bytes, limits.memoryBytes.value_or(INT64_MAX));
  memory.free = std::min(memory.free, limits.memoryRoom.value_or(INT64_MAX));
  for (const MemoryGroup &group : limits.memoryGroups) {
    const uint64_t inode = inodeOf(group.folder);
    memory.pools.push_back(
        {inode == 0 ? 0 : idOf(bootId, message("group ", inode)), group.room,
         MemoryPoolKind::Group});
  }
  if (!most || !*most)
    return Status::ok();
  const int64_t bytes = parseBytes(most);
  if (bytes < 0)
    return argumentError("SHARDC_HOST_MEMORY is '", most,
                         "', expected bytes, or a number of K, M, G or T, such "
                         "as 48G");
  memory.bytes = std::min(memory.bytes, bytes);
  memory.free = std::min(memory.free, bytes);
  memory.pools.push_back(
      {idOf(bootId, "setting " + memory.name), bytes, MemoryPoolKind::Setting});
  return Status::ok();
}

static uint64_t inodeOfFile(const std::string &path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

Status hostMemory(HostMemory &memory) {
  return readHostMemory(readSystemText, inodeOfFile,
                        std::getenv("SHARDC_HOST_MEMORY"), memory);
}

} // namespace shardc::runtime
