//===- FileHash.h - The hash of a file that was written -------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_FILEHASH_H
#define SHARDC_COMPILER_PACKAGE_FILEHASH_H

#include <cstdint>
#include <string>

namespace shardc::package {

/// hashHex of all its bytes, of which a few are in memory at a time; false
/// where it cannot be read.
bool hashFile(const std::string &path, std::string &hex, uint64_t &bytes);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_FILEHASH_H
