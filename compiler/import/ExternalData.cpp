//===- ExternalData.cpp - Tensors in files beside the model ---------------===//

#include "compiler/import/ExternalData.h"

#include "compiler/files/SourceFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace shardc::importer {
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

ExternalData::ExternalData(llvm::StringRef folder, llvm::StringRef file,
                           uint64_t size)
    : folder(folder), modelFile(file) {
  files[file].size = size; // named by the user, not by the model
}

/// What is wrong with a location, or nothing; `size` is its file's.
std::string ExternalData::check(llvm::StringRef location,
                                uint64_t &size) const {
  constexpr llvm::StringLiteral inside =
      "expected a file inside the model's folder; export the model again, with "
      "its data beside it";
  if (location.empty())
    return "names no file: expected a location; export the model again";
  if (location.contains('\0') || path::is_absolute(location))
    return ("is at an absolute path: " + inside).str();
  for (auto it = path::begin(location); it != path::end(location); ++it)
    if (*it == "..")
      return ("leads out of the model's folder by '..': " + inside).str();

  llvm::SmallString<128> full(folder), real, realFolder;
  path::append(full, location);
  if (fs::real_path(folder, realFolder) || fs::real_path(full, real))
    return ("does not exist: expected it in '" + folder +
            "'; copy it there, beside the model");
  realFolder += path::get_separator();
  if (!real.starts_with(realFolder) && realFolder != "//")
    return ("leads out of the model's folder through a symlink: " + inside)
        .str();
  fs::file_status status;
  if (fs::status(real, status) || !fs::is_regular_file(status))
    return "is no regular file: expected the model's data; copy the file "
           "itself beside the model";
  size = status.getSize();
  return "";
}

const llvm::StringMapEntry<ExternalData::File> &
ExternalData::open(llvm::StringRef location) {
  auto [it, isNew] = files.try_emplace(location);
  if (isNew)
    it->second.error = check(location, it->second.size);
  return *it;
}

/// A decimal number; `otherwise` where there is none.
static bool parse(llvm::StringRef text, uint64_t otherwise, uint64_t &number) {
  number = otherwise;
  return text.empty() || !text.getAsInteger(10, number);
}

llvm::Expected<DataRange> ExternalData::resolve(const TensorPlace &place,
                                                uint64_t bytes) {
  const auto &file = open(place.inModel ? modelFile : place.location);
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError("its data file '" + file.first() + "' " +
                                   what);
  };
  if (!file.second.error.empty())
    return fail(file.second.error);

  DataRange range{file.first(), 0, 0};
  if (!parse(place.offset, 0, range.offset))
    return fail("has no offset '" + place.offset +
                "': expected a number of bytes; export the model again");
  if (!parse(place.length, bytes, range.length))
    return fail("has no length '" + place.length +
                "': expected a number of bytes; export the model again");
  if (range.length != bytes)
    return fail("holds " + llvm::Twine(range.length) +
                " bytes of it: expected " + llvm::Twine(bytes) +
                ", its elements times their size; export the model again");
  uint64_t size = file.second.size;
  if (range.offset > size || range.length > size - range.offset)
    return fail("is too short: expected bytes " + llvm::Twine(range.offset) +
                " to " + llvm::Twine(range.offset) + " + " +
                llvm::Twine(range.length) + ", found " + llvm::Twine(size) +
                " in all; is the copy complete?");
  return range;
}

/// As those of norms and biases.
static constexpr size_t kFewBytes = 1 << 16;

llvm::Expected<std::string> ExternalData::read(const DataRange &range) const {
  if (range.length == 0)
    return "";
  llvm::SmallString<128> full(folder);
  path::append(full, range.file);
  std::string bytes(static_cast<size_t>(range.length), '\0');
  files::SourceFile source(full.str().str());
  if (bytes.size() <= kFewBytes) // models have thousands of weights
    source.readsLittle();
  if (std::string why = source.read(range.offset, {bytes.data(), bytes.size()});
      !why.empty())
    return llvm::createStringError("its data file '" + range.file +
                                   "' cannot be read: " + why);
  return bytes;
}

} // namespace shardc::importer
