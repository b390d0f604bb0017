//===- Schemas.cpp - ONNX's checker and schemas ---------------------------===//

#include "compiler/import/Schemas.h"

#include "onnx/checker.h"
#include "onnx/defs/schema.h"

#include <algorithm>
#include <exception>

namespace shardc::importer {
namespace {

const std::string kDefaultDomain;

const std::string &normalize(const std::string &domain) {
  return domain == "ai.onnx" ? kDefaultDomain : domain;
}

/// ONNX's schemas, and one that fits any node for operators it has not.
class LenientRegistry final : public ::onnx::ISchemaRegistry {
public:
  LenientRegistry() {
    using ::onnx::OpSchema;
    any.Input(0, "inputs", "", "T", OpSchema::Variadic, false, 0)
        .Output(0, "outputs", "", "T", OpSchema::Variadic, false, 0)
        .TypeConstraint("T", OpSchema::all_tensor_types(), "")
        .AllowUncheckedAttributes()
        .Finalize();
  }
  const ::onnx::OpSchema *GetSchema(const std::string &opType, int version,
                                    const std::string &domain) const override {
    const auto *schema = ::onnx::OpSchemaRegistry::Instance()->GetSchema(
        opType, version, normalize(domain));
    // A newer operator has taken a deprecated one's place, but it was not wrong.
    return schema && !schema->Deprecated() ? schema : &any;
  }

private:
  ::onnx::OpSchema any;
};

void checkGraph(const ::onnx::ModelProto &model, const Opsets &opsets) {
  static const LenientRegistry registry;
  Opsets imported = opsets;
  imported["ai.onnx"] = imported[""];
  // A domain that nobody imported holds unknown operators: not wrong here.
  for (const auto &node : model.graph().node())
    imported.emplace(node.domain(), 1);
  ::onnx::checker::CheckerContext context;
  context.set_ir_version(int(model.ir_version()));
  context.set_opset_imports(imported);
  context.set_schema_registry(&registry);
  ::onnx::checker::LexicalScopeContext scope;
  ::onnx::checker::check_graph(model.graph(), context, scope);
  ::onnx::checker::check_model_local_functions(model, context, scope);
}

/// ONNX breaks its messages into lines; a diagnostic has one.
std::string inOneLine(const std::string &message) {
  std::string line;
  for (char c : message)
    if (c != '\n')
      line.push_back(c);
    else if (!line.empty() && line.back() != ' ')
      line.push_back(' ');
  return line;
}

} // namespace

const std::string &domainOf(const ::onnx::NodeProto &node) {
  return normalize(node.domain());
}

Opsets opsetsOf(const ::onnx::ModelProto &model) {
  constexpr int64_t most = 1 << 20; // beyond any real one
  Opsets opsets;
  for (const auto &opset : model.opset_import()) {
    int &version = opsets[normalize(opset.domain())];
    int64_t given = std::clamp<int64_t>(opset.version(), 0, most);
    version = std::max(version, int(given));
  }
  return opsets;
}

int newestOpset() {
  return ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance()
      .Map()
      .at(kDefaultDomain)
      .second;
}

Schema schemaOf(const std::string &opType, const Opsets &opsets) {
  auto opset = opsets.find(kDefaultDomain);
  const auto *schema = ::onnx::OpSchemaRegistry::Instance()->GetSchema(
      opType, opset == opsets.end() ? 1 : opset->second, kDefaultDomain);
  Schema result;
  result.known = schema != nullptr;
  if (schema)
    for (const auto &[name, attribute] : schema->attributes())
      if (!attribute.required && attribute.default_value.has_name())
        result.defaults.push_back(&attribute.default_value);
  return result;
}

std::string checkModel(const ::onnx::ModelProto &model, const Opsets &opsets) {
  if (model.ir_version() < 1)
    return "it has no ir_version";
  if (model.ir_version() > ::onnx::IR_VERSION)
    return "its ir_version is " + std::to_string(model.ir_version()) +
           ": expected at most " + std::to_string(::onnx::IR_VERSION) +
           "; export with an older onnx package";
  try {
    checkGraph(model, opsets);
  } catch (const std::exception &error) {
    return inOneLine(error.what());
  }
  return "";
}

} // namespace shardc::importer
