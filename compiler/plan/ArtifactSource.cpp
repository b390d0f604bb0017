//===- ArtifactSource.cpp - What an artifact was compiled of --------------===//

#include "compiler/plan/ArtifactSource.h"

#include "compiler/plan/ReadPlanFile.h"
#include "runtime/base/Hash.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc {

// A manifest may say anything: what is not of the expected kind is left out.

static Json entryOf(const Json &json, const char *key) {
  return json.is_object() && json.contains(key) ? json[key] : Json();
}

static std::string textOf(const Json &json, const char *key) {
  const Json entry = entryOf(json, key);
  return entry.is_string() ? entry.get<std::string>() : "";
}

static llvm::StringMap<int64_t> sizesOf(const Json &json, const char *key) {
  llvm::StringMap<int64_t> sizes;
  const Json entries = entryOf(json, key);
  for (const auto &[name, size] : entries.items())
    if (entries.is_object() && size.is_number_integer())
      sizes[name] = size.get<int64_t>();
  return sizes;
}

/// The model's file where it is as it was; else "", and what is wrong.
static std::string findModel(const std::string &artifact, const Json &manifest,
                             const Json &model, std::string &problem) {
  const std::string root = textOf(manifest, "model_root");
  llvm::SmallString<128> path(llvm::sys::path::is_absolute(root) ? ""
                                                                 : artifact);
  llvm::sys::path::append(path, root, textOf(model, "path"));
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/false);
  std::string fingerprint;
  if (!llvm::sys::fs::exists(path))
    problem = path.str().str() + " is not there";
  else if (!runtime::fingerprintFile(path.str().str(), fingerprint).isOk() ||
           fingerprint != textOf(model, "fingerprint"))
    problem = path.str().str() + " is not what was compiled";
  if (problem.empty())
    return path.str().str();
  problem += "; where the model is, shardc explain MODEL NODE --load-plan " +
             artifact + " says it";
  return "";
}

std::string readSource(const std::string &artifact, const Json &manifest,
                       CompileOptions &options) {
  const Json source = entryOf(manifest, "source"),
             model = entryOf(source, "model");
  if (!model.is_object())
    return "the artifact was not compiled of an ONNX model";
  std::string problem;
  options.model = findModel(artifact, manifest, model, problem);
  if (!problem.empty())
    return problem;
  options.machine = textOf(source, "machine");
  options.recover = entryOf(source, "recover") != false;
  options.doubles = entryOf(source, "doubles") == true;
  options.compute = textOf(source, "compute");
  options.bitwise = entryOf(source, "bitwise") == true;
  options.weightsType = textOf(source, "weights_type");
  if (const Json group = entryOf(source, "weights_group");
      group.is_number_integer())
    options.weightsGroup = std::max<int64_t>(1, group.get<int64_t>());
  if (const Json page = entryOf(source, "page"); page.is_number_integer())
    options.page = std::max<int64_t>(0, page.get<int64_t>());
  options.kvType = textOf(source, "kv_type");
  options.dims = sizesOf(manifest, "dims");
  options.annotations = "none"; // the plan has what became of them
  return readPlanFile(artifact, options);
}

/// "", or why it is not known.
static std::string price(const std::string &artifact, const Json &manifest,
                         const std::string &node, Json &alternatives) {
  CompileOptions options;
  if (std::string problem = readSource(artifact, manifest, options);
      !problem.empty())
    return problem;
  std::string text, said;
  options.until = "sharded";
  options.alternativesOf = node;
  options.explanation = &text;
  llvm::raw_string_ostream errors(said);
  // Warnings were said when the artifact was compiled.
  if (compile(options, llvm::nulls(), errors) != ExitCode::Done)
    return options.model +
           " cannot be compiled again: " + llvm::StringRef(said).trim().str();
  alternatives = Json::parse(text).value("alternatives", Json::object());
  return "";
}

void addAlternatives(const std::string &artifact, const std::string &node,
                     Json &report) {
  if (!llvm::sys::fs::is_directory(artifact))
    return;
  Json alternatives;
  const std::string why = price(artifact, report, node, alternatives);
  if (why.empty())
    report["alternatives"] = std::move(alternatives);
  else
    report["no_alternatives"] = why;
}

} // namespace shardc
