//===- Schemas.h - What ONNX itself says of a model -----------------------===//
//
// ONNX's C++ library throws; this is the wall. Behind it stand the checker, the
// operator schemas and the inliner, in front of it are plain values.
//
//   checkModel(model, {{"", 17}})         "Nodes in a graph must be ..." or ""
//   schemaOf("Softmax", {{"", 17}})       known, defaults [axis = -1]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_SCHEMAS_H
#define SHARDC_COMPILER_IMPORT_SCHEMAS_H

#include "onnx/onnx_pb.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardc::importer {

/// Opset versions by domain, the default domain being "".
using Opsets = std::unordered_map<std::string, int>;
Opsets opsetsOf(const ::onnx::ModelProto &model);

/// The default domain has two names; gives "" for both.
const std::string &domainOf(const ::onnx::NodeProto &node);

/// The newest opset of the default domain that ONNX's release defines.
int newestOpset();

struct Schema {
  bool known = false;
  /// Default values of optional attributes; they live as long as the process.
  std::vector<const ::onnx::AttributeProto *> defaults;
};
/// Of an operator of the default domain.
Schema schemaOf(const std::string &opType, const Opsets &opsets);

/// What ONNX's checker finds wrong, or nothing. Operators that it does not know
/// are not wrong here: the importer reports them all at once.
std::string checkModel(const ::onnx::ModelProto &model, const Opsets &opsets);

/// Whether the dialect has an op for a node of the default domain, and one that
/// knows its attributes.
using IsNative = std::function<bool(const ::onnx::NodeProto &node)>;

/// Replaces calls of the model's own functions by their bodies, and likewise
/// operators of the default domain that are not native but that ONNX defines by
/// others. What cannot be replaced stays. Returns what went wrong, or nothing.
std::string inlineFunctions(::onnx::ModelProto &model, const Opsets &opsets,
                            const IsNative &isNative);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_SCHEMAS_H
