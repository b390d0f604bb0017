//===- Import.cpp - From an ONNX file to a raw module ---------------------===//

#include "compiler/import/Import.h"

#include "compiler/import/GraphImporter.h"
#include "compiler/import/OrderNodes.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Onnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using ::onnx::ValueInfoProto;

namespace shardc::importer {

/// Before it broadcasting was another. Attributes that operators had before 11,
/// the oldest opset that exporters still write, are reported where unknown.
constexpr int kOldestOpset = 7;

static LogicalResult checkOpset(const Opsets &opsets, Location loc) {
  auto opset = opsets.find("");
  if (opset == opsets.end())
    return emitError(loc) << "imports no opset of ONNX's default domain: "
                             "expected one from "
                          << kOldestOpset << " to " << newestOpset()
                          << "; export the model again";
  if (opset->second < kOldestOpset)
    return emitError(loc)
           << "uses opset " << opset->second << ": expected " << kOldestOpset
           << " to " << newestOpset()
           << "; upgrade it with onnx.version_converter.convert_version";
  if (opset->second > newestOpset())
    return emitError(loc) << "uses opset " << opset->second << ": expected "
                          << kOldestOpset << " to " << newestOpset()
                          << "; export with an older one";
  return success();
}

/// Sequences may be within a model, but no program takes or gives one.
static LogicalResult checkOutputs(const ::onnx::GraphProto &graph,
                                  MLIRContext &context) {
  for (const ValueInfoProto &output : graph.output())
    if (output.type().has_sequence_type() || output.type().has_optional_type())
      return emitError(NameLoc::get(StringAttr::get(&context, output.name())))
             << "output is no tensor: expected tensors; export without "
                "sequences and optional outputs";
  return success();
}

/// Inputs must be tensors of known rank.
static LogicalResult checkInputs(const ::onnx::GraphProto &graph,
                                 MLIRContext &context) {
  for (const ValueInfoProto *input : runtimeInputs(graph)) {
    Location loc = NameLoc::get(StringAttr::get(&context, input->name()));
    if (!input->type().has_tensor_type())
      return emitError(loc) << "input is no tensor: expected tensors; export "
                               "without sequences and optional inputs";
    if (!input->type().tensor_type().has_shape())
      return emitError(loc) << "input has no shape: expected its rank, and a "
                               "size or a name for each dim; export with "
                               "shapes, or run "
                               "onnx.shape_inference.infer_shapes on a model "
                               "whose inputs have them";
  }
  return success();
}

/// ONNX's checker wants stored shapes of outputs too. We find them ourselves,
/// so one without is let through.
static std::string checkModelLeniently(::onnx::ModelProto &model,
                                       const Opsets &opsets) {
  SmallVector<ValueInfoProto *> shapeless;
  for (ValueInfoProto &output : *model.mutable_graph()->mutable_output())
    if (output.type().has_tensor_type() &&
        !output.type().tensor_type().has_shape())
      shapeless.push_back(&output);
  for (ValueInfoProto *output : shapeless)
    output->mutable_type()->mutable_tensor_type()->mutable_shape();
  std::string wrong = checkModel(model, opsets);
  for (ValueInfoProto *output : shapeless)
    output->mutable_type()->mutable_tensor_type()->clear_shape();
  return wrong;
}

/// Attributes that an op does not have are left to the function body.
static bool isNative(MLIRContext &context, const Opsets &opsets,
                     const ::onnx::NodeProto &node) {
  if (node.op_type() == "Constant")
    return true;
  std::optional<RegisteredOperationName> name =
      nativeName(&context, node.op_type());
  if (!name)
    return false;
  auto *op = name->getInterface<onnx::OnnxOp>();
  if (op && !op->takes(countPresent(node.input()), countPresent(node.output())))
    return false;
  return llvm::all_of(node.attribute(), [&](const auto &attribute) {
    if (attribute.has_g() || // of control flow
        StringRef(attribute.name()).starts_with("__") ||
        llvm::is_contained(name->getAttributeNames(), attribute.name()))
      return true;
    Schema schema = schemaOf(node.op_type(), opsets);
    return llvm::any_of(schema.defaults, [&](const auto *usual) {
      return usual->name() == attribute.name() && usual->i() == attribute.i() &&
             usual->f() == attribute.f() && usual->s() == attribute.s();
    });
  });
}

static LogicalResult checkAndInline(ModelFile &file, const Opsets &opsets,
                                    MLIRContext &context, Location loc) {
  if (failed(checkOpset(opsets, loc)) ||
      failed(checkInputs(file.model.graph(), context)) ||
      failed(checkOutputs(file.model.graph(), context)))
    return failure();
  orderNodes(*file.model.mutable_graph());
  if (std::string wrong = checkModelLeniently(file.model, opsets);
      !wrong.empty())
    return emitError(loc) << "not a valid ONNX model: " << wrong;
  std::string wrong =
      inlineFunctions(file.model, opsets, [&](const ::onnx::NodeProto &node) {
        return isNative(context, opsets, node);
      });
  if (!wrong.empty())
    return emitError(loc) << "functions cannot be inlined: " << wrong;
  return success();
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, StringRef path,
                                 Unsupported *found, GraphRecord *record) {
  context
      .loadDialect<func::FuncDialect, dist::DistDialect, onnx::OnnxDialect>();
  Location loc = NameLoc::get(StringAttr::get(&context, path));
  llvm::Expected<std::unique_ptr<ModelFile>> file = ModelFile::open(path);
  if (!file) {
    emitError(loc) << llvm::toString(file.takeError());
    return {};
  }
  Opsets opsets = opsetsOf((*file)->model);
  if (record)
    record->annotations = readAnnotations((*file)->model);
  if (failed(checkAndInline(**file, opsets, context, loc)))
    return {};

  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  onnx::setModelInfo(*module, {opsets.at(""), (*file)->folder, (*file)->name});
  if (failed(GraphImporter(**file, opsets, *module).run(found)) ||
      failed(verify(*module)))
    return {};
  if (record &&
      (record->wantsOutputs || !record->annotations.configurations.empty()))
    record->outputs = nodeOutputs((*file)->model.graph());
  return module;
}

} // namespace shardc::importer
