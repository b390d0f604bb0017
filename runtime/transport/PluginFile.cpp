#include "runtime/transport/PluginFile.h"

#include "runtime/base/LibraryFolders.h"

#include <dlfcn.h>

namespace shardc::runtime {

void *openPluginFile(const std::string &name, std::string &problem) {
  std::vector<std::string> folders = libraryFolders();
  for (std::string &folder : folders)
    folder += "/";
  folders.push_back("");
  for (const std::string &folder : folders)
    if (void *plugin = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL))
      return plugin;
    else if (const char *why = dlerror())
      problem = why;
  return nullptr;
}

} // namespace shardc::runtime
