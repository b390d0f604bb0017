//===- Zip.h - Archives as NumPy writes them ------------------------------===//
//
// Members are stored as they are, or deflated where the runtime was built with
// zlib; no encryption, no parts, less than 4 GiB.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_ZIP_H
#define SHARDC_RUNTIME_IO_ZIP_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// The integer in these 8 bytes or less, of which the first is the least, as zip
/// and npy have them.
uint64_t little(std::string_view bytes, size_t at, size_t size);

struct ZipMember {
  std::string_view name;
  std::string_view stored; ///< as it is in the archive
  uint64_t bytes = 0;      ///< of its contents
  bool isDeflated = false;
};

// Errors have code InvalidArgument and name `path`, the archive's.

/// The members of an archive, in views of `zip`.
Status listMembers(const std::string &path, std::string_view zip,
                   std::vector<ZipMember> &members);

/// The contents of one; in `buffer` where they have to be inflated.
Status readMember(const std::string &path, const ZipMember &member,
                  std::string &buffer, std::string_view &contents);

/// An archive that is made member by member, all of them stored.
class ZipWriter {
public:
  void add(std::string_view name, std::string_view contents);
  /// The whole archive; an error where it is too large.
  Status finish(const std::string &path, std::string &zip);

private:
  std::string archive, central;
  size_t count = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_IO_ZIP_H
