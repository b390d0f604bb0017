//===- ContentLibrary.h - A shared object known by its contents -----------===//
//
// dlopen knows libraries by their path: a file that was compiled anew under the
// same path is not opened as long as its predecessor is, whose functions are
// found instead. And between a look at a file and its opening by path another
// one may have come there. Here what is opened are the bytes that were looked
// at; the same bytes are opened once, whatever files they are in.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_HOST_CONTENTLIBRARY_H
#define SHARDC_RUNTIME_DEVICE_HOST_CONTENTLIBRARY_H

#include "runtime/base/Status.h"

#include <memory>
#include <string>
#include <string_view>

namespace shardc::runtime {

/// `handle` is for dlsym, and open as long as somebody has it. `path` is where
/// the contents come from: for messages, and opened itself where the system
/// runs no code out of memory.
Status openContentLibrary(const std::string &path, std::string_view contents,
                          std::shared_ptr<void> &handle);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_HOST_CONTENTLIBRARY_H
