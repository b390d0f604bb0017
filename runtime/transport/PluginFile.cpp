#include "runtime/transport/PluginFile.h"

#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace shardc::runtime {

/// With the slash.
static std::string folderOf(std::string file) {
  file.resize(file.rfind('/') + 1); // npos + 1 is 0
  return file;
}

void *openPluginFile(const std::string &name, std::string &problem) {
  std::vector<std::string> folders;
  Dl_info here = {};
  if (dladdr(reinterpret_cast<void *>(&openPluginFile), &here) != 0 &&
      here.dli_fname)
    folders.push_back(folderOf(here.dli_fname));
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (length > 0)
    folders.push_back(folderOf({program, static_cast<size_t>(length)}) +
                      "../lib/");
  folders.push_back("");
  for (const std::string &folder : folders)
    if (void *plugin = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL))
      return plugin;
    else if (const char *why = dlerror())
      problem = why;
  return nullptr;
}

} // namespace shardc::runtime
