#include "runtime/base/FileGuard.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::runtime {

/// One of a list that only grows, so that the handler may walk it at any time;
/// free ones, which watch nothing, are used again.
struct FileGuard::Range {
  std::atomic<uintptr_t> begin = 0, end = 0;
  std::atomic<bool> isTorn = false;
  bool isFree = false; ///< under the mutex
  Range *next = nullptr;
};

namespace {

std::atomic<FileGuard::Range *> first{nullptr};
std::mutex mutex; ///< of the list's changes
struct sigaction before;
uintptr_t pageSize = 4096;

/// Zeros from the page at `address` on; false where nobody watches it. Nothing
/// but system calls: it runs in a signal handler.
bool takeOver(uintptr_t address) {
  for (FileGuard::Range *range = first.load(std::memory_order_acquire); range;
       range = range->next) {
    const uintptr_t end = range->end.load(std::memory_order_acquire);
    if (address < range->begin.load(std::memory_order_acquire) ||
        address >= end)
      continue;
    const uintptr_t page = address & ~(pageSize - 1);
    if (mmap(reinterpret_cast<void *>(page), end - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
             0) == MAP_FAILED)
      return false;
    range->isTorn.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void handle(int signal, siginfo_t *info, void *context) {
  const int savedError = errno;
  const bool isSent = info->si_code <= 0; // by a process, without an address
  const bool isOurs =
      !isSent && takeOver(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = savedError;
  if (isOurs)
    return;
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(signal);
  else { // the access is tried again, and ends the process
    std::signal(signal, SIG_DFL);
    if (isSent)
      raise(signal); // once this returns
  }
}

void install() {
  const char *setting = std::getenv("SHARDC_FILE_GUARD");
  if (setting && std::strcmp(setting, "0") == 0)
    return;
  pageSize = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, nullptr, &before);
  sigaction(SIGBUS, &action, nullptr);
}

} // namespace

void FileGuard::watch(const std::byte *begin, size_t bytes) {
  static std::once_flag once;
  std::call_once(once, install);
  std::lock_guard lock(mutex);
  if (!range) {
    range = first.load(std::memory_order_relaxed);
    while (range && !range->isFree)
      range = range->next;
  }
  if (!range) {
    range = new Range;
    range->next = first.load(std::memory_order_relaxed);
    first.store(range, std::memory_order_release);
  }
  range->isFree = false;
  range->isTorn = false;
  const auto at = reinterpret_cast<uintptr_t>(begin);
  range->begin.store(at, std::memory_order_release);
  // A mapping ends with a page.
  range->end.store((at + bytes + pageSize - 1) & ~(pageSize - 1),
                   std::memory_order_release);
}

FileGuard::~FileGuard() {
  if (!range)
    return;
  std::lock_guard lock(mutex);
  range->end.store(0, std::memory_order_release);
  range->begin.store(0, std::memory_order_release);
  range->isFree = true;
}

bool FileGuard::watches(const std::byte *begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  for (Range *each = first.load(std::memory_order_acquire); each;
       each = each->next)
    if (at >= each->begin.load(std::memory_order_acquire) &&
        at + bytes <= each->end.load(std::memory_order_acquire))
      return true;
  return false;
}

bool FileGuard::isTorn() const {
  return range && range->isTorn.load(std::memory_order_acquire);
}

} // namespace shardc::runtime
