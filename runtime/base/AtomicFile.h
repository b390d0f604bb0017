//===- AtomicFile.h - Files that are whole or not there -------------------===//
#ifndef SHARDC_RUNTIME_BASE_ATOMICFILE_H
#define SHARDC_RUNTIME_BASE_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace shardc::runtime {

/// Writes `contents` beside `path` and renames it into place; on an error
/// nothing is left behind. A symlink is followed, and what is no regular file (a
/// pipe, /dev/stdout) is written to as it is. Errors have code InvalidArgument,
/// since the path comes from the user, but Artifact where there is no room or
/// nobody who reads.
Status writeFileAtomically(const std::string &path, std::string_view contents);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_ATOMICFILE_H
