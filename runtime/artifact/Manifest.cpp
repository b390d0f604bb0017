#include "runtime/artifact/Manifest.h"

#include "runtime/artifact/BoundedJson.h"
#include "runtime/artifact/Format.h"
#include "runtime/artifact/FormatVersion.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxStages = 1 << 16;

template <typename... Parts> Status manifestError(const Parts &...parts) {
  return artifactError(artifact::kManifestFile, ": ", parts...);
}

const Json *find(const Json &object, const char *key) {
  if (!object.is_object())
    return nullptr;
  auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

Status readText(const Json &object, const char *key, std::string &text) {
  const Json *value = find(object, key);
  if (!value || !value->is_string())
    return manifestError("expected a string \"", key, "\"");
  text = value->get<std::string>();
  return Status::ok();
}

Status readCount(const Json &object, const char *key, int64_t &count) {
  const Json *value = find(object, key);
  if (!value || !value->is_number_integer())
    return manifestError("expected an integer \"", key, "\"");
  // An unsigned number above INT64_MAX would wrap into a negative one.
  if (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX)
    return manifestError("\"", key, "\" is too large");
  count = value->get<int64_t>();
  if (count < 0)
    return manifestError("\"", key, "\" is negative");
  return Status::ok();
}

Status readBytes(const Json &object, uint64_t &bytes) {
  int64_t count = 0;
  SHARDC_RETURN_IF_ERROR(readCount(object, "bytes", count));
  bytes = static_cast<uint64_t>(count);
  return Status::ok();
}

/// A path that cannot leave the folder it is relative to.
Status readPath(const Json &object, const char *key, std::string &path) {
  SHARDC_RETURN_IF_ERROR(readText(object, key, path));
  bool leaves =
      path.empty() || path[0] == '/' || path.find('\0') != std::string::npos;
  for (size_t at = 0; at <= path.size() && !leaves;) {
    size_t slash = std::min(path.find('/', at), path.size());
    leaves = path.compare(at, slash - at, "..") == 0;
    at = slash + 1;
  }
  if (leaves)
    return manifestError("path \"", path, "\" may not leave its folder");
  return Status::ok();
}

Status readAxis(const Json &entry, ManifestAxis &axis) {
  SHARDC_RETURN_IF_ERROR(readText(entry, "name", axis.name));
  return readCount(entry, "size", axis.size);
}

Status readStage(const Json &entry, ManifestStage &stage) {
  SHARDC_RETURN_IF_ERROR(readPath(entry, "program", stage.program));
  int64_t number = 0;
  SHARDC_RETURN_IF_ERROR(readCount(entry, "stage", number));
  if (number > kMaxStages)
    return manifestError("stage ", number, ": expected at most ", kMaxStages);
  stage.stage = static_cast<int>(number);
  SHARDC_RETURN_IF_ERROR(readBytes(entry, stage.bytes));
  return readText(entry, "hash", stage.hash);
}

Status readFile(const Json &entry, ManifestFile &file) {
  SHARDC_RETURN_IF_ERROR(readPath(entry, "path", file.path));
  SHARDC_RETURN_IF_ERROR(readBytes(entry, file.bytes));
  std::string root;
  SHARDC_RETURN_IF_ERROR(readText(entry, "root", root));
  if (root != "artifact" && root != "model")
    return manifestError("file ", file.path,
                         ": expected root \"model\" or \"artifact\", found \"",
                         root, "\"");
  file.inArtifact = root == "artifact";
  return file.inArtifact ? readText(entry, "hash", file.hash)
                         : readText(entry, "fingerprint", file.fingerprint);
}

template <typename Entry>
Status readList(const Json &json, const char *key, std::vector<Entry> &list,
                Status (*readEntry)(const Json &, Entry &)) {
  const Json *array = find(json, key);
  if (!array || !array->is_array())
    return manifestError("expected a list \"", key, "\"");
  for (const Json &element : *array) {
    Entry entry;
    SHARDC_RETURN_IF_ERROR(readEntry(element, entry));
    list.push_back(std::move(entry));
  }
  return Status::ok();
}

/// It says who made it, in whatever format.
Status otherFormat(const Json &json, int64_t version) {
  std::string tool;
  const bool isNamed =
      readText(json, "tool", tool).isOk() && !tool.empty() && tool.size() <= 64;
  const bool isNewer = version > artifact::kFormatVersion;
  std::string opens = std::to_string(artifact::kFormatVersion);
  if (artifact::kOldestFormat < artifact::kFormatVersion)
    opens = std::to_string(artifact::kOldestFormat) + " or " + opens;
  return manifestError(
      "artifact format ", version, isNamed ? " of " + tool : "", ", expected ",
      opens, "; compile the model again with shardc ", artifact::kVersion,
      isNewer ? ", or open it with the runtime of the one that made it" : "");
}

Status checkVersionAndChecksum(Json &json) {
  int64_t version = 0;
  SHARDC_RETURN_IF_ERROR(readCount(json, "format", version));
  if (version > artifact::kFormatVersion || version < artifact::kOldestFormat)
    return otherFormat(json, version);
  std::string checksum;
  SHARDC_RETURN_IF_ERROR(readText(json, "checksum", checksum));
  json.erase("checksum");
  std::string rest = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (hashHex(rest.data(), rest.size()) != checksum)
    return manifestError("damaged (its checksum does not match); copy the "
                         "artifact again or compile it again");
  return Status::ok();
}

Status readWeightsMode(const Json &json, Manifest &manifest) {
  std::string weights;
  SHARDC_RETURN_IF_ERROR(readText(json, "weights", weights));
  if (weights != "reference" && weights != "copy")
    return manifestError("expected weights \"reference\" or \"copy\", found \"",
                         weights, "\"");
  manifest.copiesWeights = weights == "copy";
  if (const Json *root = find(json, "model_root"); root && root->is_string())
    manifest.modelRoot = root->get<std::string>();
  if (find(json, "target"))
    SHARDC_RETURN_IF_ERROR(readText(json, "target", manifest.target));
  return Status::ok();
}

/// Absent: rows of a batch are not known to be computed by themselves.
Status readBatchInputs(const Json &json, Manifest &manifest) {
  const Json *inputs = find(json, "batch_inputs");
  if (!inputs)
    return Status::ok();
  if (!inputs->is_array())
    return manifestError("batch_inputs: expected numbers of inputs");
  manifest.hasIndependentRows = true;
  for (const Json &input : *inputs) {
    if (!input.is_number_unsigned() || input.get<uint64_t>() > UINT32_MAX)
      return manifestError("batch_inputs: expected numbers of inputs");
    manifest.batchInputs.push_back(input.get<uint32_t>());
  }
  return Status::ok();
}

/// Absent: requests run as they are.
Status readMicroBatches(const Json &json, Manifest &manifest) {
  SHARDC_RETURN_IF_ERROR(readBatchInputs(json, manifest));
  if (!find(json, "micro_batches"))
    return Status::ok();
  int64_t count = 0;
  SHARDC_RETURN_IF_ERROR(readCount(json, "micro_batches", count));
  if (count < 1 || count > kMaxStages || !manifest.hasIndependentRows)
    return manifestError("expected micro_batches from 1 to ", kMaxStages,
                         " and batch_inputs");
  manifest.microBatches = static_cast<int>(count);
  return Status::ok();
}

/// Absent: programs are for requests.
Status readPage(const Json &json, Manifest &manifest) {
  if (!find(json, "page"))
    return Status::ok();
  constexpr int64_t kMostPositions = int64_t(1) << 20;
  SHARDC_RETURN_IF_ERROR(readCount(json, "page", manifest.page));
  const Json *causal = find(json, "causal");
  manifest.isCausal = causal && causal->is_boolean() && causal->get<bool>();
  return manifest.page >= 1 && manifest.page <= kMostPositions
             ? Status::ok()
             : manifestError("expected a page of 1 to ", kMostPositions,
                             " positions, found ", manifest.page);
}

Status readOperand(const Json &entry, artifact::GeneratedOperand &operand) {
  std::string element, per;
  SHARDC_RETURN_IF_ERROR(readText(entry, "element", element));
  SHARDC_RETURN_IF_ERROR(readText(entry, "per", per));
  for (artifact::ElementType type : artifact::EnumValuesElementType())
    if (element == artifact::EnumNameElementType(type)) {
      operand = {type, per == "row"};
      return Status::ok();
    }
  return manifestError("an operand has no element type \"", element, "\"");
}

Status readForm(const std::string &name, const Json &entry,
                artifact::GeneratedForm &form) {
  SHARDC_RETURN_IF_ERROR(
      readList(entry, "operands", form.operands, readOperand));
  int64_t inputs = 0, slots = 0;
  SHARDC_RETURN_IF_ERROR(readCount(entry, "inputs", inputs));
  SHARDC_RETURN_IF_ERROR(readCount(entry, "slots", slots));
  const Json *mixes = find(entry, "mixes_columns");
  const auto operands = static_cast<int64_t>(form.operands.size());
  if (!mixes || !mixes->is_boolean() || inputs > operands || slots > operands ||
      form.operands.size() > artifact::kMaxGeneratedOperands)
    return manifestError("the form of kernel ", name, " is malformed");
  form.numInputs = static_cast<int>(inputs);
  form.slots = static_cast<int>(slots);
  form.mixesColumns = mixes->get<bool>();
  return Status::ok();
}

/// Absent where no kernel was generated.
Status readForms(const Json &json, artifact::GeneratedForms &forms) {
  const Json *kernels = find(json, "kernels");
  if (!kernels)
    return Status::ok();
  if (!kernels->is_object())
    return manifestError("expected an object \"kernels\"");
  for (const auto &[name, entry] : kernels->items())
    SHARDC_RETURN_IF_ERROR(readForm(name, entry, forms[name]));
  return Status::ok();
}

} // namespace

int Manifest::findArtifactFile(std::string_view path) const {
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].inArtifact && files[i].path == path)
      return static_cast<int>(i);
  return -1;
}

Status parseManifest(std::string_view text, Manifest &manifest) {
  Json json = parseBoundedJson(text);
  if (!json.is_object())
    return manifestError("is not a JSON object; it is damaged, or this folder "
                         "is no artifact of shardc");
  SHARDC_RETURN_IF_ERROR(checkVersionAndChecksum(json));
  SHARDC_RETURN_IF_ERROR(readText(json, "tool", manifest.tool));
  SHARDC_RETURN_IF_ERROR(readText(json, "tolerance", manifest.tolerance));
  SHARDC_RETURN_IF_ERROR(readWeightsMode(json, manifest));
  SHARDC_RETURN_IF_ERROR(readMicroBatches(json, manifest));
  SHARDC_RETURN_IF_ERROR(readPage(json, manifest));
  SHARDC_RETURN_IF_ERROR(readList(json, "mesh", manifest.mesh, readAxis));
  SHARDC_RETURN_IF_ERROR(readList(json, "stages", manifest.stages, readStage));
  SHARDC_RETURN_IF_ERROR(readList(json, "files", manifest.files, readFile));
  SHARDC_RETURN_IF_ERROR(readForms(json, manifest.kernels));
  if (manifest.stages.empty())
    return manifestError("lists no stage");
  return Status::ok();
}

} // namespace shardc::runtime
