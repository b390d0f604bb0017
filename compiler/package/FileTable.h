//===- FileTable.h - Files that weights of an artifact are in -------------===//
#ifndef SHARDC_COMPILER_PACKAGE_FILETABLE_H
#define SHARDC_COMPILER_PACKAGE_FILETABLE_H

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace shardc::package {

/// Files that weights refer to, in the manifest's order. The constants of all
/// programs are collected here, too.
struct FileTable {
  std::vector<std::string> modelFiles; ///< relative to the model's folder
  std::string constants;               ///< bytes of constants.bin

  static constexpr uint32_t kConstants = 0; ///< its index
  uint32_t indexOf(llvm::StringRef modelFile);
  /// Where these bytes are in `constants`: profiles have the same constants.
  uint64_t placeOf(const std::string &bytes);

private:
  llvm::StringMap<uint32_t> indices;
  llvm::StringMap<uint64_t> places;
};

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_FILETABLE_H
