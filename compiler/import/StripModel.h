//===- StripModel.h - An ONNX model without its big tensors ---------------===//
//
// A model of many gigabytes describes a graph of a few megabytes. stripModel
// walks the serialized model and copies all but the payload of big tensors, so
// that protobuf parses the rest in milliseconds and never sees the data:
//
//   initializer { name: "w" dims: 4096 dims: 4096 raw_data: <64 MiB> }
//
// becomes
//
//   initializer { name: "w" dims: 4096 dims: 4096 data_location: EXTERNAL
//                 external_data { key: "location" value: "#0" } }
//
// and place 0 says at what offset of the file the 64 MiB are. Tensors that were
// external already get a place too, with what the model says of them: every
// external tensor of the copy is a "#N" of this function. (ONNX's checker takes
// such a location for a memory address and looks for no file.)
//
// Documentation, metadata, stored value infos and training graphs are dropped.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_STRIPMODEL_H
#define SHARDC_COMPILER_IMPORT_STRIPMODEL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace shardc::importer {

/// Tensors of at most so many bytes become constants in the IR.
constexpr uint64_t kMaxInlineBytes = 256;

/// Where the bytes of a tensor are, as the model says: not checked yet.
struct TensorPlace {
  bool inModel = false; ///< in the model file itself; location is empty
  std::string location;
  std::string offset; ///< decimal; empty if the model names none
  std::string length; ///< the same
};

struct StrippedModel {
  std::string bytes; ///< a serialized ModelProto
  std::vector<TensorPlace> places;
};

/// Fails where `model` is not well-formed protobuf; the message says at what
/// offset.
llvm::Expected<StrippedModel> stripModel(llvm::StringRef model);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_STRIPMODEL_H
