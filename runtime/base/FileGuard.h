//===- FileGuard.h - When a mapped file is cut short ----------------------===//
//
// Whoever truncates a file takes its pages from all that have it mapped: the
// next kernel that reads one gets SIGBUS, and with it the process ends. Instead
// the rest of such a mapping becomes zeros, and it is noted that they are none
// of the file's: what was computed of them is an error and no result.
//
//   FileGuard guard;
//   guard.watch(address, bytes);    as long as it is mapped
//   ... another process truncates the file; a kernel reads address + 4096 ...
//   guard.isTorn()                  true
//
// The first guard installs a handler for SIGBUS. It does the above for the
// addresses that are watched, and for all others what was installed before it.
// SHARDC_FILE_GUARD=0 leaves it out.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FILEGUARD_H
#define SHARDC_RUNTIME_BASE_FILEGUARD_H

#include <cstddef>
#include <utility>

namespace shardc::runtime {

/// Of one mapping; movable.
class FileGuard {
public:
  struct Range; ///< what the handler looks at

  FileGuard() = default;
  FileGuard(FileGuard &&other) noexcept
      : range(std::exchange(other.range, nullptr)) {}
  FileGuard &operator=(FileGuard &&other) noexcept {
    std::swap(range, other.range);
    return *this;
  }
  ~FileGuard();

  /// From now on; this is destroyed before the mapping goes.
  void watch(const std::byte *begin, size_t bytes);
  /// Whether some of its pages are gone.
  bool isTorn() const;
  /// Whether all of these bytes are watched, as part of one mapping.
  static bool watches(const std::byte *begin, size_t bytes);

private:
  Range *range = nullptr;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_FILEGUARD_H
