//===- LibraryFolders.h - Where libraries of the runtime lie --------------===//
#ifndef SHARDC_RUNTIME_BASE_LIBRARYFOLDERS_H
#define SHARDC_RUNTIME_BASE_LIBRARYFOLDERS_H

#include <string>
#include <vector>

namespace shardc::runtime {

/// Folders in which plugins are looked for: beside the library or program that
/// the runtime is in, and in ../lib, ../lib/shardrt and ../shardrt of it (an
/// installation has them in lib/shardrt: INSTALLED/bin/shardrun finds them
/// there, and so does INSTALLED/lib/x86_64-linux-gnu/libshardrt.so.0).
std::vector<std::string> libraryFolders();

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_LIBRARYFOLDERS_H
