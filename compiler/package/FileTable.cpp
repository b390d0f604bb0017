#include "compiler/package/FileTable.h"

using llvm::StringRef;

namespace shardc::package {

uint32_t FileTable::indexOf(StringRef modelFile) {
  auto [it, isNew] = indices.try_emplace(modelFile, modelFiles.size() + 1);
  if (isNew)
    modelFiles.push_back(modelFile.str());
  return it->second;
}

uint64_t FileTable::placeOf(const std::string &bytes) {
  auto [it, isNew] = places.try_emplace(bytes);
  if (isNew) {
    // Aligned, so that the runtime can map instead of copy.
    constants.resize((constants.size() + 63) / 64 * 64);
    it->second = constants.size();
    constants += bytes;
  }
  return it->second;
}

} // namespace shardc::package
