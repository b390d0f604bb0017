//===- ScratchFolder.h - Folders that go with the process -----------------===//
//
// A folder that is being filled goes when the process is told to end (SIGINT,
// SIGTERM, SIGHUP), like when an error ends the work.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_FILES_SCRATCHFOLDER_H
#define SHARDC_COMPILER_FILES_SCRATCHFOLDER_H

#include <string>

namespace shardc::files {

/// Removes the folder, with all that is in it, when it is destroyed, and where
/// a signal ends the process before.
class ScratchFolder {
public:
  ScratchFolder() = default;
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder();

  /// An empty folder, PREFIX and the number of the process; "" or why there is
  /// none. `isPrivate`: nobody else may look into it.
  std::string create(const std::string &prefix, bool isPrivate = false);
  const std::string &path() const { return folder; }
  /// It is somebody else's now.
  void release();

private:
  std::string folder;
};

/// From now on these signals remove the folders before they end the process.
/// For a program, at its start: a library leaves signals to its program.
void removeScratchOnSignals();

} // namespace shardc::files

#endif // SHARDC_COMPILER_FILES_SCRATCHFOLDER_H
