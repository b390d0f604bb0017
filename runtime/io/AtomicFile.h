//===- AtomicFile.h - Files that are whole or not there -------------------===//
#ifndef SHARDC_RUNTIME_IO_ATOMICFILE_H
#define SHARDC_RUNTIME_IO_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace shardc::runtime {

/// Writes `contents` beside `path` and renames it into place. On an error
/// (InvalidArgument: the path comes from the user) nothing is left behind.
Status writeFileAtomically(const std::string &path, std::string_view contents);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_IO_ATOMICFILE_H
