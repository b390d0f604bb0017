#include "runtime/device/Plugin.h"

#include "runtime/base/LibraryFolders.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>

namespace fs = std::filesystem;

namespace shardc::runtime {
namespace {

constexpr std::string_view kPrefix = "libshardrt_", kSuffix = ".so";
/// Plugins of the transport, which bring no devices.
constexpr std::string_view kOtherPlugins[] = {"mpi", "ucx"};

/// See the head of Plugin.h.
std::vector<std::string> pluginFolders() {
  std::vector<std::string> folders;
  if (const char *given = std::getenv("SHARDC_BACKENDS")) {
    std::string_view rest = given;
    while (!rest.empty()) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0)
        folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  for (const std::string &folder : libraryFolders())
    if (std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  return folders;
}

bool isPluginName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Status findPlugin(std::string_view name, std::string &path) {
  std::string looked;
  for (const std::string &folder : pluginFolders()) {
    path = message(folder, "/", kPrefix, name, kSuffix);
    std::error_code ignored;
    if (fs::exists(path, ignored))
      return Status::ok();
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  return artifactError("there is no backend '", name, "': ", kPrefix, name,
                       kSuffix, " is not in ", looked,
                       "; build it, or name its folder in SHARDC_BACKENDS");
}

Status checkDescription(const std::string &path,
                        const PluginDescription *description) {
  const char *remedy = "; build runtime and plugin together";
  if (!description)
    return artifactError(path, ": gives no description of its backend", remedy);
  if (description->version != kPluginVersion)
    return artifactError(path, ": is a plugin of version ",
                         description->version, ", expected ", kPluginVersion,
                         remedy);
  if (description->layout != pluginLayout())
    return artifactError(path,
                         ": was built with other headers than this "
                         "runtime (layout ",
                         description->layout, ", expected ", pluginLayout(),
                         ")", remedy);
  if (!description->backend)
    return artifactError(path, ": has no backend", remedy);
  return Status::ok();
}

} // namespace

Status openPlugin(const std::string &path, Backend *&backend) {
  // Local, so that its libraries' symbols meet nobody else's; all at once, so
  // that a missing one is an answer here and no crash later.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return artifactError(
        path, ": cannot be opened: ", why ? why : "no reason was given",
        "; install what is missing, or remove the plugin");
  }
  auto *entry = reinterpret_cast<PluginEntry *>(dlsym(library, kPluginEntry));
  Status status =
      entry ? checkDescription(path, entry())
            : artifactError(path, ": is no plugin of this runtime: it has no ",
                            kPluginEntry, "; build it again");
  if (!status.isOk()) {
    dlclose(library);
    return status;
  }
  backend = entry()->backend;
  return Status::ok();
}

Status findBackend(std::string_view name, Backend *&backend) {
  if (name == "host") {
    backend = &hostBackend();
    return Status::ok();
  }
  if (!isPluginName(name))
    return argumentError("'", name,
                         "' is no name of a backend; expected host, "
                         "cuda or another of a-z, 0-9 and _");
  static std::mutex mutex;
  static auto &opened = *new std::map<std::string, Backend *, std::less<>>;
  std::lock_guard lock(mutex);
  if (auto known = opened.find(name); known != opened.end()) {
    backend = known->second;
    return Status::ok();
  }
  std::string path;
  SHARDC_RETURN_IF_ERROR(findPlugin(name, path));
  SHARDC_RETURN_IF_ERROR(openPlugin(path, backend));
  if (backend->name() != name)
    return artifactError(path, ": is the backend '", backend->name(),
                         "', expected '", name, "'; give it its own name");
  opened.emplace(name, backend);
  return Status::ok();
}

std::vector<std::string> listPlugins() {
  std::vector<std::string> names;
  for (const std::string &folder : pluginFolders()) {
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end;
         !failed && entry != end; entry.increment(failed)) {
      const std::string file = entry->path().filename().string();
      if (file.size() <= kPrefix.size() + kSuffix.size() ||
          !file.starts_with(kPrefix) || !file.ends_with(kSuffix))
        continue;
      const std::string name = file.substr(
          kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
      if (isPluginName(name) &&
          std::find(std::begin(kOtherPlugins), std::end(kOtherPlugins), name) ==
              std::end(kOtherPlugins))
        names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

} // namespace shardc::runtime
