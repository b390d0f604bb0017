//===- ReplacedArtifact.h - What an artifact may take the place of --------===//
#ifndef SHARDC_COMPILER_PACKAGE_REPLACEDARTIFACT_H
#define SHARDC_COMPILER_PACKAGE_REPLACEDARTIFACT_H

#include <filesystem>
#include <string>

namespace shardc::package {

/// Why the folder must stay, or "": it is not there, or empty, or an artifact
/// without a file that shardc did not write.
std::string whyKept(const std::filesystem::path &folder);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_REPLACEDARTIFACT_H
