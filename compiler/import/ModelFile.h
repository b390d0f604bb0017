//===- ModelFile.h - An ONNX file, opened ---------------------------------===//
//
// Holds the graph of a model, but never its big tensors: these stay in their
// files and are known by place.
//
//   auto file = ModelFile::open("llama/model.onnx");
//   for (const ::onnx::TensorProto &t : (*file)->model.graph().initializer())
//     if (ModelFile::isByReference(t))
//       ... (*file)->place(t, 4 * elements) ...     {"model.onnx", 8192, 65536}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_MODELFILE_H
#define SHARDC_COMPILER_IMPORT_MODELFILE_H

#include "compiler/import/ExternalData.h"

#include "onnx/onnx_pb.h"

#include <memory>

namespace shardc::importer {

class ModelFile {
public:
  /// Errors start with what is wrong, not with the path.
  static llvm::Expected<std::unique_ptr<ModelFile>> open(llvm::StringRef path);

  ::onnx::ModelProto model;
  const std::string folder; ///< as given; "." for none
  const std::string name;   ///< of the file in it

  static bool isByReference(const ::onnx::TensorProto &tensor) {
    return tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
  }
  /// Where such a tensor of `bytes` bytes is, checked.
  llvm::Expected<DataRange> place(const ::onnx::TensorProto &tensor,
                                  uint64_t bytes);
  llvm::Expected<std::string> read(const DataRange &range) const {
    return data.read(range);
  }

private:
  ModelFile(llvm::StringRef folder, llvm::StringRef name, uint64_t size)
      : folder(folder), name(name), data(folder, name, size) {}

  std::vector<TensorPlace> places;
  ExternalData data;
};

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_MODELFILE_H
