//===- Version.h - What --version prints ----------------------------------===//
#ifndef SHARDC_TOOLS_VERSION_VERSION_H
#define SHARDC_TOOLS_VERSION_VERSION_H

#include <string>

namespace shardc {

/// Of a program, the commit that it was built of, what it was built with
/// ("LLVM 22.1.8", or empty), and the artifacts that it knows:
///
///   shardc 0.1.0 (1e93c6cd03f2)
///   LLVM 22.1.8
///   artifact format 10, opens 9 too
std::string versionText(const char *program, const std::string &with = "");

} // namespace shardc

#endif // SHARDC_TOOLS_VERSION_VERSION_H
