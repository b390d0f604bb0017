//===- ProgramWriter.h - An rt.program as a FlatBuffer --------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_PROGRAMWRITER_H
#define SHARDC_COMPILER_PACKAGE_PROGRAMWRITER_H

#include "compiler/package/WeightNames.h"
#include "dialects/rt/Rt.h"

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

/// The bytes of Program.fbs, or an error at the op that cannot be written.
llvm::FailureOr<std::string> writeProgram(rt::ProgramOp program,
                                          const dist::Mesh &mesh,
                                          const WeightNames &names,
                                          FileTable &files);

/// The artifact's element type; nothing for types that it does not have.
std::optional<uint8_t> elementType(mlir::Type type);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_PROGRAMWRITER_H
