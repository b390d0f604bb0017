//===- Version.cpp - What --version prints --------------------------------===//
#include "tools/version/Version.h"

#include "runtime/artifact/FormatVersion.h"
#include "tools/version/Commit.h"

std::string shardc::versionText(const char *program, const std::string &with) {
  std::string text = std::string(program) + " " + artifact::kVersion;
  if (*SHARDC_COMMIT)
    text += " (" SHARDC_COMMIT ")";
  if (!with.empty())
    text += "\n" + with;
  text += "\nartifact format " + std::to_string(artifact::kFormatVersion);
  if (artifact::kOldestFormat < artifact::kFormatVersion)
    text += ", opens " + std::to_string(artifact::kOldestFormat) + " too";
  return text;
}
