//===- StagingFolder.cpp - A folder that appears at once ------------------===//

#include "compiler/files/StagingFolder.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace shardc::files {

static constexpr const char *kSuffix = ".partial.";

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

/// Where a path leads.
static fs::path resolve(const fs::path &path) {
  fs::path target = path.has_filename() ? path : path.parent_path();
  std::error_code error;
  if (!fs::is_symlink(target, error))
    return target;
  fs::path real = fs::canonical(target, error);
  return error ? target : real;
}

/// Opens and locks a folder; -1 where somebody else has it.
static int lockFolder(const fs::path &folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    return -1;
  }
  return file;
}

StagingFolder::StagingFolder(const fs::path &target) : place(resolve(target)) {}

StagingFolder::~StagingFolder() {
  if (lock >= 0)
    close(lock);
  std::error_code ignored;
  if (!scratch.path().empty())
    fs::remove_all(scratch.path(), ignored);
  for (auto it = parents.rbegin(); it != parents.rend(); ++it)
    fs::remove(*it, ignored); // only if it is empty
}

std::string StagingFolder::createParents() {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path path = place.parent_path();
       !path.empty() && !fs::exists(path, error); path = path.parent_path())
    missing.push_back(path);
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    if (fs::create_directory(*it, error))
      parents.push_back(*it);
    if (error)
      return error.message();
  }
  return "";
}

/// Whether the process that a folder's name ends with, PID-0, is there. One of
/// another machine is told by its lock alone.
static bool isAlive(const std::string &number) {
  const long process = std::strtol(number.c_str(), nullptr, 10);
  return process > 0 && kill(static_cast<pid_t>(process), 0) == 0;
}

/// A living process has its folder locked, all but at once.
void StagingFolder::removeAbandoned() const {
  const std::string prefix = place.filename().string() + kSuffix;
  std::error_code error;
  std::vector<fs::path> abandoned;
  const fs::path parent = place.parent_path();
  for (fs::directory_iterator it(parent.empty() ? "." : parent, error), end;
       !error && it != end; it.increment(error))
    if (const std::string name = it->path().filename();
        name.rfind(prefix, 0) == 0 && !isAlive(name.substr(prefix.size())))
      abandoned.push_back(it->path());
  for (const fs::path &path : abandoned)
    if (const int file = lockFolder(path); file >= 0) {
      fs::remove_all(path, error);
      close(file);
    }
}

std::string StagingFolder::create() {
  if (std::string why = createParents(); !why.empty())
    return why;
  removeAbandoned();
  if (std::string why = scratch.create(place.string() + kSuffix); !why.empty())
    return why;
  lock = lockFolder(scratch.path());
  return "";
}

std::error_code exchange(const fs::path &from, const fs::path &to,
                         bool atOnce) {
  if (atOnce)
    return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                     RENAME_EXCHANGE) == 0
               ? std::error_code()
               : lastError();
  const std::string aside = from.string() + ".old";
  if (rename(to.c_str(), aside.c_str()) != 0)
    return lastError();
  if (rename(from.c_str(), to.c_str()) != 0) {
    const std::error_code error = lastError();
    (void)rename(aside.c_str(), to.c_str());
    return error;
  }
  return rename(aside.c_str(), from.c_str()) == 0 ? std::error_code()
                                                  : lastError();
}

std::string StagingFolder::publish() {
  std::error_code error;
  if (!fs::exists(place, error)) {
    fs::rename(scratch.path(), place, error);
    if (!error) {
      scratch.release();
      parents.clear();
      return "";
    }
    if (std::error_code gone;
        !fs::exists(place, gone)) // or somebody was faster
      return error.message();
  }
  // The folder of before goes as the scratch one.
  error = exchange(scratch.path(), place, /*atOnce=*/true);
  if (error == std::errc::invalid_argument ||
      error == std::errc::function_not_supported ||
      error == std::errc::operation_not_supported)
    error = exchange(scratch.path(), place, /*atOnce=*/false);
  return error ? error.message() : "";
}

} // namespace shardc::files
