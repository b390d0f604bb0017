//===- TextFiles.h - What makes tokens of texts, in an artifact -----------===//
#ifndef SHARDC_COMPILER_PACKAGE_TEXTFILES_H
#define SHARDC_COMPILER_PACKAGE_TEXTFILES_H

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace shardc::package {

/// Copies what lies beside a model and says how its texts become tokens and where they
/// end (tokenizer.json, config.json, ...), so that an artifact with all weights is all
/// that a server needs. `entries` gets the path of each. Error, or "".
std::string copyTextFiles(const std::filesystem::path &modelFolder,
                          const std::filesystem::path &artifact,
                          nlohmann::json &entries);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_TEXTFILES_H
