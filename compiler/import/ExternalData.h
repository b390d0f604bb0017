//===- ExternalData.h - Tensors in files beside the model -----------------===//
//
// A model names files of its own folder that hold its tensors:
//
//   location "model.onnx.data", offset "4096", length "67108864"
//
// The name comes with the model, so it is not trusted: it may not lead out of
// the folder, neither by an absolute path nor by ".." nor through a symlink,
// and offset and length must lie within the file. Nothing is read but tensors
// of a few bytes, which may be shapes.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_EXTERNALDATA_H
#define SHARDC_COMPILER_IMPORT_EXTERNALDATA_H

#include "compiler/import/StripModel.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::importer {

/// Bytes of a file that exists.
struct DataRange {
  llvm::StringRef file; ///< relative to the model's folder
  uint64_t offset = 0;
  uint64_t length = 0;
};

class ExternalData {
public:
  /// `folder` and `file` are the model's; the model file has `size` bytes.
  ExternalData(llvm::StringRef folder, llvm::StringRef file, uint64_t size);

  /// Checks a place against its file and against the `bytes` that the tensor
  /// needs. Errors say what was expected, what was found, and the remedy.
  llvm::Expected<DataRange> resolve(const TensorPlace &place, uint64_t bytes);

  /// The bytes of a small range.
  llvm::Expected<std::string> read(const DataRange &range) const;

private:
  struct File {
    uint64_t size = 0;
    std::string error;
  };
  const llvm::StringMapEntry<File> &open(llvm::StringRef location);
  std::string check(llvm::StringRef location, uint64_t &size) const;

  std::string folder, modelFile;
  llvm::StringMap<File> files; ///< by location
};

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_EXTERNALDATA_H
