#include "runtime/device/host/ContentLibrary.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/mman.h>

namespace shardc::runtime {
namespace {

/// A file in memory with these contents; -1 where the system has none.
int fileInMemory(std::string_view contents) {
#ifndef MFD_EXEC
  constexpr unsigned MFD_EXEC = 0x10; // since Linux 6.3
#endif
  int fd = memfd_create("shardc-kernels", MFD_CLOEXEC | MFD_EXEC);
  if (fd < 0 && errno == EINVAL)
    fd = memfd_create("shardc-kernels", MFD_CLOEXEC);
  while (fd >= 0 && !contents.empty()) {
    const ssize_t put = write(fd, contents.data(), contents.size());
    if (put > 0)
      contents.remove_prefix(static_cast<size_t>(put));
    else if (errno != EINTR)
      close(std::exchange(fd, -1));
  }
  return fd;
}

std::string pathOf(int fd) { return message("/proc/self/fd/", fd); }

/// Moves `fd` to a number whose path no library that is still open has: one
/// that cannot be unloaded stays known by its path after its file was closed.
int withFreshPath(int fd) {
  while (void *taken = dlopen(pathOf(fd).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(taken);
    const int next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
    close(fd);
    if (next < 0)
      return next;
    fd = next;
  }
  return fd;
}

std::shared_ptr<void> openFromMemory(std::string_view contents) {
  int fd = fileInMemory(contents);
  if (fd >= 0)
    fd = withFreshPath(fd);
  void *opened =
      fd < 0 ? nullptr : dlopen(pathOf(fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    if (fd >= 0)
      close(fd);
    return nullptr;
  }
  return {opened, [fd](void *handle) {
            dlclose(handle);
            close(fd); // its path is taken until then
          }};
}

Status openFromFile(const std::string &path, std::shared_ptr<void> &handle) {
  // A path without a slash would be searched for elsewhere.
  const std::string own = path[0] == '/' ? path : "./" + path;
  void *opened = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened)
    return artifactError("cannot open ", path, ": ", dlerror());
  handle.reset(opened, dlclose);
  return Status::ok();
}

} // namespace

Status openContentLibrary(const std::string &path, std::string_view contents,
                          std::shared_ptr<void> &handle) {
  // Never destroyed: a rank that hangs may outlive main.
  static std::mutex &mutex = *new std::mutex;
  static auto &known = *new std::map<std::string, std::weak_ptr<void>>;
  std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto &each) { return each.second.expired(); });
  std::weak_ptr<void> &same = known[hashHex(contents.data(), contents.size())];
  handle = same.lock();
  if (!handle)
    handle = openFromMemory(contents);
  if (!handle)
    return openFromFile(path, handle); // not shared: others may be there later
  same = handle;
  return Status::ok();
}

} // namespace shardc::runtime
