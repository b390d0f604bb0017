//===- OperandTypes.h - Elements that no operator takes -------------------===//
//
// ONNX's schemas say what elements an operator takes. Exporters are ahead of
// them, so an operator may have what a schema of any opset allows it, or what
// kernels compute all the same. Of anything else nobody could run the model:
//
//   Relu of bool        no schema of Relu has it
//   Relu of bf16        opset 13 had it first, but in older ones it runs too
//
// Types follow from the inputs, initializers and schemas; values whose elements
// those do not tell are not looked at.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_OPERANDTYPES_H
#define SHARDC_COMPILER_IMPORT_OPERANDTYPES_H

#include "compiler/import/Schemas.h"

#include <map>
#include <optional>
#include <unordered_set>

namespace shardc::importer {

class OperandTypes {
public:
  OperandTypes(const ::onnx::GraphProto &graph, const Opsets &opsets);

  /// An operand whose elements, TensorProto's data types, no schema allows.
  struct Wrong {
    int operand;
    std::string name; ///< that the schema gives it
    int32_t found;
    std::vector<int32_t> allowed;
  };
  /// The next node, of the graph or of a branch.
  std::optional<Wrong> add(const ::onnx::NodeProto &node);

private:
  void addGraph(const ::onnx::GraphProto &graph);
  void declare(const std::string &name, int32_t type);
  int32_t typeOf(const std::string &name) const;

  std::unordered_map<std::string, int32_t> types; ///< 0: unknown
  std::unordered_set<std::string> constants; ///< may be folded before they run
  /// By operator and operand.
  std::map<std::pair<std::string, int>, std::vector<int32_t>> allowedOf;
  int opset;
};

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_OPERANDTYPES_H
