//===- Package.cpp - Writes the artifact folder ---------------------------===//

#include "compiler/package/Package.h"
#include "runtime/artifact/FormatVersion.h"

#include "compiler/codegen/cuda/CudaKernels.h"
#include "compiler/codegen/host/HostKernels.h"
#include "compiler/codegen/rows/RowForm.h"
#include "compiler/files/OutputFile.h"
#include "compiler/files/StagingFolder.h"
#include "compiler/package/ElementTypes.h"
#include "compiler/package/FileHash.h"
#include "compiler/package/MeshJson.h"
#include "compiler/package/ProgramWriter.h"
#include "compiler/package/ReplacedArtifact.h"
#include "compiler/package/TextFiles.h"
#include "compiler/package/WeightCopy.h"
#include "compiler/package/WeightNames.h"
#include "compiler/quantize/QuantizedFile.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/QuantizedMatrix.h"
#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Hash.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>

using namespace mlir;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace shardc::package {

namespace {

/// Weights that the compiler quantised.
constexpr char kQuantizedName[] = "quantized.bin";

/// "" or why not.
std::string writeFile(const fs::path &path, StringRef bytes) {
  const std::error_code error = files::writeFile(
      path.string(), [&](llvm::raw_ostream &os) { os << bytes; });
  return error ? "cannot write " + path.string() + ": " + error.message() : "";
}

Json ioEntry(StringRef name, Type element, dist::ValueAttr value) {
  Json dims = Json::array();
  for (dist::DimExpr size : value.getDims()) {
    if (std::optional<int64_t> constant = size.asConstant())
      dims.push_back(*constant);
    else
      dims.push_back(size.str());
  }
  std::optional<artifact::ElementType> type = elementType(element);
  return {{"name", name.str()},
          {"type", type ? artifact::elementName(
                              static_cast<artifact::ElementType>(*type))
                        : "unknown"},
          {"dims", dims}};
}

/// Class of tolerance by the lowest precision in the program.
std::string toleranceOf(ModuleOp module) {
  bool isLow = false, isQuantised = false;
  module.walk([&](rt::ViewOp view) {
    Type element = view.getView().getType().getElement();
    isLow |= element.isF16();
    isQuantised |= element.isBF16() || element.isInteger(8) ||
                   element.isInteger(4) || element.isInteger(2) ||
                   isa<Float8E4M3FNType>(element);
  });
  module.walk([&](rt::CallOp call) {
    isQuantised |= call.getKernel().ends_with("BFloat16") ||
                   call.getConfig().get("operand_bits");
  });
  return isQuantised ? "quant" : isLow ? "low" : "f32";
}

class ArtifactWriter {
public:
  ArtifactWriter(ModuleOp module, const PackageOptions &options,
                 const Json &report)
      : module(module), options(options), staging(options.output),
        manifest(report) {}

  LogicalResult write() {
    if (std::string why = staging.create(); !why.empty())
      return failed("cannot create " + options.output + ": " + why);
    dist::MeshOp meshOp = dist::getMesh(module);
    if (!meshOp)
      return module.emitError("has no dist.mesh");
    const dist::Mesh &mesh = *meshOp.getMesh().getMesh();
    if (mlir::failed(writePrograms(mesh)) || mlir::failed(writeFiles(mesh)))
      return failure();
    describe(mesh);
    manifest["checksum"] =
        hashOf(manifest.dump(-1, ' ', false, Json::error_handler_t::replace));
    std::string text =
        manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (std::string why =
            writeFile(staging.path() / artifact::kManifestFile, text);
        !why.empty())
      return failed(why);
    std::string why = whyKept(staging.target());
    if (why.empty())
      why = staging.publish();
    if (!why.empty())
      return failed("cannot write " + options.output + ": " + why);
    return success();
  }

private:
  LogicalResult failed(const std::string &message) {
    return emitError(UnknownLoc::get(module.getContext()), message);
  }

  static std::string hashOf(const std::string &bytes) {
    return runtime::hashHex(bytes.data(), bytes.size());
  }

  std::function<void(double)> progressOf(StringRef what) const {
    if (!options.progress)
      return {};
    return [this, what](double done) { options.progress(what, done); };
  }

  LogicalResult writePrograms(const dist::Mesh &mesh) {
    manifest["stages"] = Json::array();
    WeightNames names = weightNames(module);
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
      FailureOr<std::string> bytes =
          writeProgram(program, dist::stageMesh(mesh), names, files);
      if (mlir::failed(bytes))
        return failure();
      std::string name = program.getSymName().str() + ".program";
      if (std::string why = writeFile(staging.path() / name, *bytes);
          !why.empty())
        return failed(why);
      manifest["stages"].push_back(
          {{"program", name},
           {"stage", onnx::FunctionInfo(program).stage()},
           {"bytes", bytes->size()},
           {"hash", hashOf(*bytes)}});
    }
    return success();
  }

  LogicalResult writeFiles(const dist::Mesh &mesh) {
    if (std::string why = writeFile(staging.path() / artifact::kConstantsFile,
                                    files.constants);
        !why.empty())
      return failed(why);
    manifest["files"] = Json::array();
    manifest["files"].push_back({{"path", artifact::kConstantsFile},
                                 {"root", "artifact"},
                                 {"bytes", files.constants.size()},
                                 {"hash", hashOf(files.constants)}});
    const std::string quantizedFile =
        (staging.path() / kQuantizedName).string();
    if (quantize::hasQuantizedWeights(module))
      if (std::string why = quantize::writeQuantizedFile(
              module, options.modelFolder, quantizedFile,
              progressOf("quantising weights"));
          !why.empty())
        return failed(why);
    for (const std::string &file : files.modelFiles) {
      Json entry;
      if (mlir::failed(file == onnx::kQuantizedFile
                           ? describeQuantized(quantizedFile, entry)
                           : describeFile(file, entry)))
        return failure();
      manifest["files"].push_back(std::move(entry));
    }
    if (!options.modelFile.empty() &&
        mlir::failed(
            describeFile(options.modelFile, manifest["source"]["model"])))
      return failure();
    if (mlir::failed(writeKernels()))
      return failure();
    manifest["weights"] = options.copyWeights ? "copy" : "reference";
    if (!options.copyWeights)
      return success();
    std::string why =
        copyWeights(module, mesh, options.modelFolder, quantizedFile,
                    staging.path().string(), manifest["files"],
                    progressOf("copying weights"));
    std::error_code ignored;
    fs::remove(quantizedFile, ignored); // each rank has its own part
    if (why.empty())
      why =
          copyTextFiles(options.modelFolder, staging.path(), manifest["texts"]);
    return why.empty() ? success() : failed(why);
  }

  /// A file in the model's folder. The model's own has weights, too, mostly: it is
  /// read once.
  LogicalResult describeFile(const std::string &file, Json &entry) {
    Json &known = described[file];
    if (known.is_null() && mlir::failed(fingerprint(file, known)))
      return failure();
    entry = known;
    return success();
  }

  LogicalResult fingerprint(const std::string &file, Json &entry) {
    std::string fingerprint;
    uint64_t bytes = 0;
    const fs::path path = fs::path(options.modelFolder) / file;
    runtime::Status status =
        runtime::fingerprintFile(path.string(), fingerprint, &bytes);
    if (!status.isOk())
      return failed(status.message());
    entry = {{"path", file},
             {"root", "model"},
             {"bytes", bytes},
             {"fingerprint", fingerprint}};
    return success();
  }

  /// Of the artifact; or, where weights are copied, one that nobody opens.
  LogicalResult describeQuantized(const std::string &path, Json &entry) {
    std::string hash;
    uint64_t bytes = 0;
    if (!hashFile(path, hash, bytes))
      return failed("cannot read back " + path);
    entry = {{"path", kQuantizedName},
             {"root", options.copyWeights ? "model" : "artifact"},
             {"bytes", bytes},
             {options.copyWeights ? "fingerprint" : "hash", hash}};
    return success();
  }

  /// Weights count files, so these come behind all that weights are in.
  LogicalResult writeKernels() {
    auto libraries = codegen::generateHostKernels(module);
    if (mlir::failed(libraries))
      return failure();
    std::error_code error;
    if (!libraries->empty())
      fs::create_directory(staging.path() / artifact::kKernelsFolder, error);
    for (const codegen::KernelLibrary &library : *libraries)
      if (mlir::failed(writeKernelFile(library.target + ".so", library.bytes)))
        return failure();
    describeKernels();
    return options.target == "cuda" ? writeCudaKernels() : success();
  }

  void describeKernels() {
    for (auto kernel : module.getOps<rt::KernelOp>()) {
      const artifact::GeneratedForm form = codegen::generatedForm(kernel);
      Json operands = Json::array();
      for (const artifact::GeneratedOperand &operand : form.operands)
        operands.push_back(
            {{"element", artifact::EnumNameElementType(operand.element)},
             {"per", operand.isPerRow ? "row" : "column"}});
      manifest["kernels"][kernel.getSymName().str()] = {
          {"inputs", form.numInputs},
          {"slots", form.slots},
          {"mixes_columns", form.mixesColumns},
          {"operands", std::move(operands)}};
    }
  }

  /// Beside those for the host, which runs the artifact, too.
  LogicalResult writeCudaKernels() {
    auto images = codegen::generateCudaKernels(module);
    if (mlir::failed(images))
      return failure();
    for (const codegen::CudaImage &image : *images) {
      if (mlir::failed(writeKernelFile(image.file, image.bytes)))
        return failure();
      for (const codegen::KernelResources &kernel : image.resources)
        manifest["gpu_kernels"][image.file][kernel.name] = {
            {"registers", kernel.registers},
            {"spilled_bytes", kernel.spilledBytes},
            {"shared_bytes", kernel.sharedBytes}};
    }
    return success();
  }

  LogicalResult writeKernelFile(const std::string &file,
                                const std::string &bytes) {
    const std::string name = artifact::kKernelsFolder + file;
    if (std::string why = writeFile(staging.path() / name, bytes); !why.empty())
      return failed(why);
    manifest["files"].push_back({{"path", name},
                                 {"root", "artifact"},
                                 {"bytes", bytes.size()},
                                 {"hash", hashOf(bytes)}});
    return success();
  }

  void describe(const dist::Mesh &mesh) {
    manifest["format"] = artifact::kFormatVersion;
    manifest["tool"] = std::string("shardc ") + artifact::kVersion;
    manifest["tolerance"] = toleranceOf(module);
    manifest["target"] = options.target;
    manifest["mesh"] = meshJson(mesh);
    manifest.erase("shares"); // each axis has its own
    std::error_code error;
    fs::path folder = fs::canonical(options.modelFolder, error);
    fs::path relative = fs::relative(
        folder, fs::weakly_canonical(staging.target(), error), error);
    manifest["model_root"] =
        relative.empty() ? folder.string() : relative.string();
    describeBatch();
    describeRows();
    manifest["inputs"] = Json::array();
    manifest["outputs"] = Json::array();
    // Profiles have the same; their sizes may go by other names, and those of
    // the last are for the most requests. Each stage has all inputs, and the
    // outputs that it makes.
    rt::ProgramOp last = nullptr;
    for (auto program : module.getOps<rt::ProgramOp>())
      last = program;
    last.walk([&](rt::InputOp op) {
      manifest["inputs"].push_back(
          ioEntry(op.getName(), op.getElement(), op.getValue()));
    });
    std::map<int64_t, Json> outputs;
    module.walk([&](rt::OutputOp op) {
      outputs[op.getIndex()] = ioEntry(
          op.getName(), cast<rt::ViewType>(op.getView().getType()).getElement(),
          op.getValue());
    });
    for (auto &[index, entry] : outputs)
      manifest["outputs"].push_back(std::move(entry));
  }

  /// A step of rows has one program.
  void describeRows() {
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>())
      if (const int64_t page = onnx::FunctionInfo(program).page()) {
        manifest["page"] = page;
        manifest["causal"] = onnx::FunctionInfo(program).isCausal();
      }
  }

  /// Rows of a batch are computed by themselves only if every profile does so; then
  /// a request may run in parts.
  void describeBatch() {
    std::optional<ArrayRef<int64_t>> inputs;
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
      auto known = onnx::FunctionInfo(program).batchInputs();
      if (!known || (inputs && *inputs != *known))
        return;
      inputs = known;
    }
    manifest["batch_inputs"] = inputs->vec();
    if (options.microBatches > 1)
      manifest["micro_batches"] = options.microBatches;
  }

  ModuleOp module;
  const PackageOptions &options;
  files::StagingFolder staging;
  std::map<std::string, Json> described; ///< by path of a file
  FileTable files;
  Json manifest;
};

} // namespace

LogicalResult writeArtifact(ModuleOp module, const PackageOptions &options,
                            const Json &report) {
  return ArtifactWriter(module, options, report).write();
}

} // namespace shardc::package
