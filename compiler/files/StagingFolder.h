//===- StagingFolder.h - A folder that appears at once --------------------===//
//
// It is filled beside its place, NAME.partial.PID-0, and then takes the place of
// what is there in one step: who opens NAME finds the old folder or the new one.
// What a killed process left behind goes with the next one for the same place.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_FILES_STAGINGFOLDER_H
#define SHARDC_COMPILER_FILES_STAGINGFOLDER_H

#include "compiler/files/ScratchFolder.h"

#include <filesystem>
#include <vector>

namespace shardc::files {

class StagingFolder {
public:
  explicit StagingFolder(const std::filesystem::path &target);
  ~StagingFolder();

  /// "" or what went wrong.
  std::string create();
  /// Whatever is at the target goes. "" or what went wrong.
  std::string publish();

  const std::filesystem::path &target() const { return place; }
  std::filesystem::path path() const { return scratch.path(); }

private:
  std::string createParents();
  void removeAbandoned() const;

  std::filesystem::path place;                ///< symlinks resolved
  std::vector<std::filesystem::path> parents; ///< that were made for it
  ScratchFolder scratch;
  int lock = -1; ///< of the folder, while it is filled
};

/// Makes `from` and `to`, both there, change places. `atOnce`: by the system
/// call for it, else in two steps, for file systems that do not have it.
std::error_code exchange(const std::filesystem::path &from,
                         const std::filesystem::path &to, bool atOnce);

} // namespace shardc::files

#endif // SHARDC_COMPILER_FILES_STAGINGFOLDER_H
