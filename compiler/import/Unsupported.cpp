//===- Unsupported.cpp - Everything that shardc cannot import, at once ----===//

#include "compiler/import/Unsupported.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace shardc::importer {

static StringRef remedyFor(StringRef domain, StringRef opType) {
  constexpr llvm::StringLiteral runtime =
      "it is ONNX Runtime's own, and none of those that shardc knows; export "
      "again without its optimizer";
  constexpr llvm::StringLiteral quantised =
      "export the model without quantisation, in f32, f16 or bf16";
  constexpr llvm::StringLiteral sequence =
      "export with tensors as inputs and outputs, without sequences";
  if (domain.starts_with("com.microsoft"))
    return runtime;
  if (domain == "ai.onnx.ml")
    return "compile the transformer alone, without classic machine learning";
  if (!domain.empty())
    return "export it as ONNX operators or as a function of the model, of the "
           "model's own opset";
  if (opType.contains("Sequence") || opType.starts_with("Optional"))
    return sequence;
  if (opType.contains_insensitive("quantize") || opType.ends_with("Integer") ||
      opType.starts_with("QLinear"))
    return quantised;
  return llvm::StringSwitch<StringRef>(opType)
      .Cases({"RandomNormal", "RandomNormalLike", "RandomUniform",
              "RandomUniformLike", "Bernoulli", "Multinomial"},
             "export for inference: in evaluation mode, without sampling")
      .Default("replace it by operators that shardc knows, or export with "
               "another exporter or a newer opset");
}

void Unsupported::add(Entries &entries, StringRef kind, const std::string &what,
                      NameLoc place, StringRef remedy) {
  auto [it, isNew] = entries.index.try_emplace(what, entries.list.size());
  if (isNew)
    entries.list.push_back({kind, what, remedy, {}});
  entries.list[it->second].nodes.push_back(place);
}

std::vector<Unsupported::Entry> Unsupported::entries() const {
  std::vector<Entry> all;
  for (const Entries *some : {&operators, &details, &types})
    all.insert(all.end(), some->list.begin(), some->list.end());
  return all;
}

void Unsupported::addOperator(StringRef domain, StringRef opType,
                              NameLoc node) {
  std::string name =
      domain.empty() ? opType.str() : (domain + "." + opType).str();
  add(operators, "operator", name, node, remedyFor(domain, opType));
}

void Unsupported::addDetail(StringRef opType, const Twine &what, NameLoc node,
                            StringRef remedy) {
  add(details, "use", (opType + ": " + what).str(), node, remedy);
}

void Unsupported::addType(StringRef element, NameLoc tensor) {
  add(types, "element type", element.str(), tensor,
      "export in f32, f16 or bf16, with integers of 8 to 64 bits (of 4 in "
      "weights)");
}

LogicalResult Unsupported::report(Location model) const {
  if (operators.list.empty() && details.list.empty() && types.list.empty())
    return success();
  InFlightDiagnostic error = emitError(model);
  StringRef separator = "";
  auto title = [&](const Entries &entries, StringRef one) {
    if (entries.list.empty())
      return;
    error << separator << entries.list.size() << " unsupported " << one
          << (entries.list.size() == 1 ? "" : "s");
    separator = ", ";
  };
  // Each names its node itself.
  Location nowhere = UnknownLoc::get(model.getContext());
  auto notes = [&](const Entries &entries, StringRef unit) {
    for (const Entry &entry : entries.list)
      error.attachNote(nowhere)
          << entry.what << " (" << entry.nodes.size() << ' ' << unit
          << (entry.nodes.size() == 1 ? "" : "s") << ", first "
          << entry.nodes.front().getName() << "): " << entry.remedy;
  };
  title(operators, "operator");
  title(details, "use");
  title(types, "element type");
  notes(operators, "node");
  notes(details, "node");
  notes(types, "tensor");
  return error;
}

} // namespace shardc::importer
