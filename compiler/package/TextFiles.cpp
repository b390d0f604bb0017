//===- TextFiles.cpp - What makes tokens of texts, in an artifact ---------===//

#include "compiler/package/TextFiles.h"

#include "compiler/files/OutputFile.h"

#include "llvm/Support/MemoryBuffer.h"

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
    const fs::path from = modelFolder / name;
    std::error_code none;
    if (!fs::is_regular_file(from, none))
      continue;
    auto text = llvm::MemoryBuffer::getFile(from.string(), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (!text)
      return "cannot read " + from.string() + ": " + text.getError().message();
    // Not with the modes of a file that is its owner's alone.
    if (std::error_code error = files::writeFile(
            (artifact / name).string(),
            [&](llvm::raw_ostream &to) { to << (*text)->getBuffer(); }))
      return "cannot write " + (artifact / name).string() + ": " +
             error.message();
    entries.push_back({{"path", name}});
  }
  return "";
}

} // namespace shardc::package
