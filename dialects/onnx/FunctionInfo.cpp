//===- FunctionInfo.cpp - What is known of a function beside its body -----===//

#include "dialects/onnx/FunctionInfo.h"

#include "dialects/onnx/Profiles.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc::onnx {

namespace {

constexpr StringLiteral kName = "onnx.name";
constexpr StringLiteral kGiven = "onnx.given";
constexpr StringLiteral kDeclared = "onnx.declared";
constexpr StringLiteral kCache = "onnx.cache";
constexpr StringLiteral kWhen = "onnx.when";
constexpr StringLiteral kProfile = "onnx.profile";
constexpr StringLiteral kFingerprint = "onnx.fingerprint";
constexpr StringLiteral kPage = "onnx.page";
constexpr StringLiteral kCausal = "onnx.causal";
constexpr StringLiteral kStage = "dist.stage";
constexpr StringLiteral kOutputs = "dist.outputs";
constexpr StringLiteral kBatchInputs = "dist.batch_inputs";
constexpr StringLiteral kSharded = "dist.sharded";
constexpr StringLiteral kOpset = "onnx.opset";
constexpr StringLiteral kModelFolder = "onnx.model_folder";
constexpr StringLiteral kModelFile = "onnx.model_file";

} // namespace

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

StringAttr FunctionInfo::inputName(unsigned input) const {
  return ports().getArgAttrOfType<StringAttr>(input, kName);
}

StringAttr FunctionInfo::outputName(unsigned output) const {
  return ports().getResultAttrOfType<StringAttr>(output, kName);
}

void FunctionInfo::setInputName(unsigned input, const Twine &name) {
  ports().setArgAttr(input, kName,
                     StringAttr::get(function->getContext(), name));
}

void FunctionInfo::setOutputName(unsigned output, const Twine &name) {
  ports().setResultAttr(output, kName,
                        StringAttr::get(function->getContext(), name));
}

TypeAttr FunctionInfo::inputGiven(unsigned input) const {
  return ports().getArgAttrOfType<TypeAttr>(input, kGiven);
}

TypeAttr FunctionInfo::outputGiven(unsigned output) const {
  return ports().getResultAttrOfType<TypeAttr>(output, kGiven);
}

void FunctionInfo::setInputGiven(unsigned input, TypeAttr type) {
  ports().setArgAttr(input, kGiven, type);
}

void FunctionInfo::setOutputGiven(unsigned output, TypeAttr type) {
  ports().setResultAttr(output, kGiven, type);
}

TypeAttr FunctionInfo::outputDeclared(unsigned output) const {
  return ports().getResultAttrOfType<TypeAttr>(output, kDeclared);
}

void FunctionInfo::setOutputDeclared(unsigned output, Type type) {
  ports().setResultAttr(output, kDeclared, TypeAttr::get(type));
}

void FunctionInfo::removeOutputDeclared(unsigned output) {
  ports().removeResultAttr(output,
                           StringAttr::get(function->getContext(), kDeclared));
}

std::optional<CacheInfo> FunctionInfo::cache(unsigned output) const {
  auto cache = ports().getResultAttrOfType<DictionaryAttr>(output, kCache);
  if (!cache)
    return std::nullopt;
  auto dim = cache.getAs<IntegerAttr>("dim");
  return CacheInfo{cache.getAs<StringAttr>("kind"),
                   cache.getAs<IntegerAttr>("input").getInt(), output,
                   dim ? std::optional(dim.getInt()) : std::nullopt};
}

SmallVector<CacheInfo> FunctionInfo::caches() const {
  SmallVector<CacheInfo> caches;
  for (unsigned output = 0; output < ports().getNumResults(); ++output)
    if (std::optional<CacheInfo> cache = this->cache(output))
      caches.push_back(*cache);
  return caches;
}

void FunctionInfo::setCache(const CacheInfo &cache) {
  Builder builder(function->getContext());
  NamedAttrList entries;
  entries.append("input", builder.getI64IntegerAttr(cache.input));
  entries.append("kind", cache.kind);
  if (cache.dim)
    entries.append("dim", builder.getI64IntegerAttr(*cache.dim));
  ports().setResultAttr(cache.output, kCache,
                        entries.getDictionary(builder.getContext()));
}

//===----------------------------------------------------------------------===//
// Profile
//===----------------------------------------------------------------------===//

DictionaryAttr FunctionInfo::when() const {
  return function->getAttrOfType<DictionaryAttr>(kWhen);
}

void FunctionInfo::setWhen(DictionaryAttr when) {
  function->setAttr(kWhen, when);
}

int64_t FunctionInfo::page() const {
  auto page = function->getAttrOfType<IntegerAttr>(kPage);
  return page ? page.getInt() : 0;
}

void FunctionInfo::setPage(int64_t positions) {
  function->setAttr(
      kPage, IntegerAttr::get(IntegerType::get(function->getContext(), 64),
                              positions));
}

bool FunctionInfo::isCausal() const { return function->hasAttr(kCausal); }

void FunctionInfo::setCausal(bool isCausal) {
  if (isCausal)
    function->setAttr(kCausal, UnitAttr::get(function->getContext()));
  else
    function->removeAttr(kCausal);
}

StringAttr FunctionInfo::profile() const {
  return function->getAttrOfType<StringAttr>(kProfile);
}

void FunctionInfo::setProfile(StringRef profile) {
  function->setAttr(kProfile, StringAttr::get(function->getContext(), profile));
}

StringAttr FunctionInfo::fingerprint() const {
  return function->getAttrOfType<StringAttr>(kFingerprint);
}

void FunctionInfo::setFingerprint(StringRef fingerprint) {
  function->setAttr(kFingerprint,
                    StringAttr::get(function->getContext(), fingerprint));
}

//===----------------------------------------------------------------------===//
// Place
//===----------------------------------------------------------------------===//

bool FunctionInfo::isStage() const { return function->hasAttr(kStage); }

int64_t FunctionInfo::stage() const {
  auto stage = function->getAttrOfType<IntegerAttr>(kStage);
  return stage ? stage.getInt() : 0;
}

void FunctionInfo::setStage(int64_t stage) {
  function->setAttr(kStage,
                    Builder(function->getContext()).getI64IntegerAttr(stage));
}

int64_t FunctionInfo::modelOutput(unsigned index) const {
  auto outputs = function->getAttrOfType<DenseI64ArrayAttr>(kOutputs);
  return outputs ? outputs[index] : index;
}

void FunctionInfo::setModelOutputs(ArrayRef<int64_t> outputs) {
  function->setAttr(kOutputs,
                    DenseI64ArrayAttr::get(function->getContext(), outputs));
}

std::optional<ArrayRef<int64_t>> FunctionInfo::batchInputs() const {
  auto inputs = function->getAttrOfType<DenseI64ArrayAttr>(kBatchInputs);
  return inputs ? std::optional(inputs.asArrayRef()) : std::nullopt;
}

void FunctionInfo::setBatchInputs(ArrayRef<int64_t> inputs) {
  function->setAttr(kBatchInputs,
                    DenseI64ArrayAttr::get(function->getContext(), inputs));
}

void FunctionInfo::removeBatchInputs() { function->removeAttr(kBatchInputs); }

FlatSymbolRefAttr FunctionInfo::sharded() const {
  return function->getAttrOfType<FlatSymbolRefAttr>(kSharded);
}

void FunctionInfo::setSharded(SymbolOpInterface sharded) {
  function->setAttr(kSharded, FlatSymbolRefAttr::get(sharded));
}

static constexpr StringLiteral kCopied[] = {kStage,   kBatchInputs, kWhen,
                                            kProfile, kPage,        kCausal};

void FunctionInfo::copyTo(Operation *program) const {
  for (StringRef name : kCopied)
    if (Attribute attribute = function->getAttr(name))
      program->setAttr(name, attribute);
}

std::optional<StringRef>
FunctionInfo::firstNotCopied(Operation *program) const {
  for (StringRef name : kCopied)
    if (function->getAttr(name) != program->getAttr(name))
      return name;
  return std::nullopt;
}

std::optional<StringRef>
FunctionInfo::firstOtherPlace(FunctionInfo other) const {
  for (StringRef name : {kStage, kOutputs, kBatchInputs})
    if (function->getAttr(name) != other.function->getAttr(name))
      return name;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

template <typename T> bool isAbsentOr(Attribute attribute) {
  return !attribute || isa<T>(attribute);
}

LogicalResult verifyCache(FunctionOpInterface function, unsigned output) {
  Attribute attribute = function.getResultAttr(output, kCache);
  if (!attribute)
    return success();
  auto cache = dyn_cast<DictionaryAttr>(attribute);
  auto kind = cache ? cache.getAs<StringAttr>("kind") : StringAttr();
  auto input = cache ? cache.getAs<IntegerAttr>("input") : IntegerAttr();
  Attribute dim = cache ? cache.get("dim") : Attribute();
  if (!kind || !input || input.getInt() < 0 ||
      input.getInt() >= int64_t(function.getNumArguments()) ||
      !llvm::is_contained({"append", "set", "keep", "write"},
                          kind.getValue()) ||
      !isAbsentOr<IntegerAttr>(dim))
    return function.emitError("output ")
           << output << " has an onnx.cache that is none: expected the number "
           << "of an input, a kind append, set, keep or write, and perhaps a "
              "dim";
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[output]);
  const int64_t grows = dim ? cast<IntegerAttr>(dim).getInt() : 0;
  if ((kind == "append" && !dim) ||
      (dim && type && (grows < 0 || grows >= type.getRank())))
    return function.emitError("output ")
           << output << " has an onnx.cache without the dim that grows";
  return success();
}

LogicalResult verifyPorts(FunctionOpInterface function) {
  auto isPort = [](auto name, auto given) {
    return isAbsentOr<StringAttr>(name) && isAbsentOr<TypeAttr>(given);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!isPort(function.getArgAttr(i, kName), function.getArgAttr(i, kGiven)))
      return function.emitError("input ")
             << i << " has an onnx.name or onnx.given of another kind than a "
             << "string or a type";
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!isPort(function.getResultAttr(i, kName),
                function.getResultAttr(i, kGiven)))
      return function.emitError("output ")
             << i << " has an onnx.name or onnx.given of another kind than a "
             << "string or a type";
    if (failed(verifyCache(function, i)))
      return failure();
  }
  return success();
}

} // namespace

LogicalResult FunctionInfo::verify() const {
  auto ofKind = [&](StringRef name, bool isRight) -> LogicalResult {
    return isRight ? success()
                   : function->emitError("has an attribute ")
                         << name << " that says nothing";
  };
  Attribute when = function->getAttr(kWhen);
  std::string problem = !when ? ""
                        : isa<DictionaryAttr>(when)
                            ? findProblem(cast<DictionaryAttr>(when))
                            : "expected a dictionary";
  if (!problem.empty())
    return function->emitError("is for no requests: onnx.when: ") << problem;
  for (StringRef name : {kProfile, kFingerprint})
    if (failed(ofKind(name, isAbsentOr<StringAttr>(function->getAttr(name)))))
      return failure();
  if (failed(
          ofKind(kStage, isAbsentOr<IntegerAttr>(function->getAttr(kStage)))) ||
      failed(ofKind(kPage, isAbsentOr<IntegerAttr>(function->getAttr(kPage)) &&
                               page() >= 0)) ||
      failed(
          ofKind(kCausal, isAbsentOr<UnitAttr>(function->getAttr(kCausal)))) ||
      failed(ofKind(kSharded, isAbsentOr<FlatSymbolRefAttr>(
                                  function->getAttr(kSharded)))))
    return failure();
  for (StringRef name : {kOutputs, kBatchInputs})
    if (failed(ofKind(name,
                      isAbsentOr<DenseI64ArrayAttr>(function->getAttr(name)))))
      return failure();
  auto ports = dyn_cast<FunctionOpInterface>(function);
  if (!ports)
    return success();
  auto outputs = function->getAttrOfType<DenseI64ArrayAttr>(kOutputs);
  if (outputs && outputs.size() != ports.getNumResults())
    return ofKind(kOutputs, false);
  for (int64_t input : batchInputs().value_or(ArrayRef<int64_t>()))
    if (input < 0 || input >= int64_t(ports.getNumArguments()))
      return ofKind(kBatchInputs, false);
  return verifyPorts(ports);
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

ModelInfo modelInfo(ModuleOp module) {
  auto opset = module->getAttrOfType<IntegerAttr>(kOpset);
  auto folder = module->getAttrOfType<StringAttr>(kModelFolder);
  auto file = module->getAttrOfType<StringAttr>(kModelFile);
  return {opset ? std::optional(opset.getInt()) : std::nullopt,
          folder ? folder.str() : ".", file ? file.str() : ""};
}

void setModelInfo(ModuleOp module, const ModelInfo &info) {
  Builder builder(module.getContext());
  if (info.opset)
    module->setAttr(kOpset, builder.getI64IntegerAttr(*info.opset));
  module->setAttr(kModelFolder, builder.getStringAttr(info.folder));
  module->setAttr(kModelFile, builder.getStringAttr(info.file));
}

} // namespace shardc::onnx
