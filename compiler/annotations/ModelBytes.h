//===- ModelBytes.h - A model's file with annotations ---------------------===//
//
// A copy of a serialized model, byte by byte but for what is annotated: nodes get
// device_configurations, the model gets its configuration. Old ones go. Payloads
// of tensors are pieces of the old file, never copied in memory.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_ANNOTATIONS_MODELBYTES_H
#define SHARDC_COMPILER_ANNOTATIONS_MODELBYTES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include "onnx/onnx_pb.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::annotations {

/// Text in pieces, some of which are elsewhere.
class Rope {
public:
  void add(llvm::StringRef elsewhere);
  void own(std::string text);
  void append(const Rope &other);
  uint64_t size() const { return length; }
  void write(llvm::raw_ostream &os) const;

private:
  std::vector<llvm::StringRef> pieces;
  std::vector<std::shared_ptr<const std::string>> owned;
  uint64_t length = 0;
};

/// What to say of a node; only names, operands and results of `node` are set.
/// Nothing is added where it has no configuration.
using Annotate = llvm::function_ref<void(
    const ::onnx::NodeProto &node, ::onnx::NodeDeviceConfigurationProto &)>;

/// `model` stays as long as the result is used.
llvm::Expected<Rope>
annotateModel(llvm::StringRef model,
              const ::onnx::DeviceConfigurationProto &configuration,
              Annotate annotate);

} // namespace shardc::annotations

#endif // SHARDC_COMPILER_ANNOTATIONS_MODELBYTES_H
