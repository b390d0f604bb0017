//===- TextFiles.cpp - What makes tokens of texts, in an artifact ---------===//

#include "compiler/package/TextFiles.h"

#include "compiler/package/FileHash.h"

#include <nlohmann/json.hpp>

namespace fs = std::filesystem;

namespace shardc::package {

/// What shardrt reads of a model's folder (Tokenizer.from_file, _model_files.py).
static constexpr const char *kTextFiles[] = {
    "tokenizer.json", "tokenizer_config.json",  "chat_template.jinja",
    "config.json",    "generation_config.json", "genai_config.json"};

std::string copyTextFiles(const fs::path &modelFolder, const fs::path &artifact,
                          nlohmann::json &entries) {
  entries = nlohmann::json::array();
  for (const char *name : kTextFiles) {
    std::error_code error;
    if (!fs::is_regular_file(modelFolder / name, error))
      continue;
    std::string hash;
    uint64_t bytes = 0;
    if (!fs::copy_file(modelFolder / name, artifact / name, error) ||
        !hashFile((artifact / name).string(), hash, bytes))
      return "cannot copy " + (modelFolder / name).string() +
             (error ? ": " + error.message() : "");
    entries.push_back({{"path", name}, {"bytes", bytes}, {"hash", hash}});
  }
  return "";
}

} // namespace shardc::package
