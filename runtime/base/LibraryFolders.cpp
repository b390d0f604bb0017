#include "runtime/base/LibraryFolders.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

namespace shardc::runtime {
namespace {

std::string folderOf(const std::string &file) {
  return std::filesystem::path(file).parent_path().string();
}

/// Of the library, or the program where it is linked into one; and of the
/// program, by its own name: the first one may have been given relative to
/// another folder.
std::vector<std::string> homes() {
  std::vector<std::string> found;
  Dl_info here = {};
  if (dladdr(reinterpret_cast<void *>(&libraryFolders), &here) != 0 &&
      here.dli_fname)
    found.push_back(folderOf(here.dli_fname));
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (length > 0)
    found.push_back(folderOf({program, static_cast<size_t>(length)}));
  return found;
}

} // namespace

std::vector<std::string> libraryFolders() {
  std::vector<std::string> folders;
  for (const std::string &home : homes())
    if (!home.empty())
      for (const char *below :
           {"", "/../lib", "/../lib/shardrt", "/../shardrt"})
        if (std::string folder = home + below;
            std::find(folders.begin(), folders.end(), folder) == folders.end())
          folders.push_back(std::move(folder));
  return folders;
}

} // namespace shardc::runtime
