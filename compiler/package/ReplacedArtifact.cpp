//===- ReplacedArtifact.cpp - What an artifact may take the place of ------===//

#include "compiler/package/ReplacedArtifact.h"

#include "runtime/artifact/Format.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <optional>
#include <set>

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace shardc::package {

static void addPaths(const Json &manifest, const char *list, const char *key,
                     std::set<std::string> &paths) {
  auto entries = manifest.find(list);
  if (entries == manifest.end() || !entries->is_array())
    return;
  for (const Json &entry : *entries)
    if (entry.is_object())
      if (auto path = entry.find(key); path != entry.end() && path->is_string())
        paths.insert(path->get<std::string>());
}

/// What a manifest says that shardc wrote; nothing where it says nothing.
static std::optional<std::set<std::string>> listedFiles(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  const Json manifest =
      Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("format"))
    return std::nullopt;
  std::set<std::string> paths{artifact::kManifestFile};
  addPaths(manifest, "stages", "program", paths);
  addPaths(manifest, "files", "path", paths);
  addPaths(manifest, "texts", "path", paths);
  return paths;
}

std::string whyKept(const fs::path &folder) {
  std::error_code error;
  if (!fs::exists(folder, error))
    return "";
  if (!fs::is_directory(folder, error))
    return "it exists and is no artifact; choose another name";
  if (fs::is_empty(folder, error))
    return "";
  if (!fs::exists(folder / artifact::kManifestFile, error))
    return "it exists and is no artifact; choose another name";
  const auto listed = listedFiles(folder / artifact::kManifestFile);
  if (!listed)
    return std::string("its ") + artifact::kManifestFile +
           " cannot be read, so what else it holds may be somebody's; remove "
           "it, or choose another name";
  for (fs::recursive_directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string path = it->path().lexically_relative(folder).string();
    const bool isFolder = it->is_directory(error) && !it->is_symlink(error);
    if (!isFolder && !listed->count(path))
      return "it holds " + path +
             ", which is no part of the artifact there; move that away, or "
             "choose another name";
  }
  return error ? error.message() : "";
}

} // namespace shardc::package
