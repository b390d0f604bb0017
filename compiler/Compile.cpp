//===- Compile.cpp - From a model file to an artifact ---------------------===//

#include "compiler/Compile.h"

#include "compiler/CompileReport.h"
#include "compiler/Diagnostics.h"
#include "compiler/FlagFile.h"
#include "compiler/Pipeline.h"
#include "compiler/RequestSizes.h"
#include "compiler/annotations/AnnotatedModel.h"
#include "compiler/annotations/AnnotatedPlan.h"
#include "compiler/import/Import.h"
#include "compiler/package/Package.h"
#include "compiler/package/ReplacedArtifact.h"
#include "compiler/ranks/RankFiles.h"
#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "passes/plan/machine/DeviceShares.h"
#include "passes/plan/machine/ReadMachine.h"
#include "passes/verify/Passes.h"
#include "runtime/artifact/FormatVersion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <chrono>

using namespace mlir;

namespace shardc {

namespace {

class Compilation {
public:
  Compilation(const CompileOptions &options, llvm::raw_ostream &output,
              llvm::raw_ostream &errors)
      : options(options), output(output), errors(errors),
        context(MLIRContext::Threading::DISABLED) {
    prepareContext(context);
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Remark) {
        report.addChoice(diagnostic.str());
        return success();
      }
      hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      printDiagnostic(diagnostic, about, this->errors);
      return success();
    });
  }

  ExitCode run() {
    auto start = std::chrono::steady_clock::now();
    if (ExitCode code = checkOutput(); code != ExitCode::Done)
      return code;
    if (ExitCode code = readMachine(); code != ExitCode::Done)
      return code;
    if (ExitCode code = load(); code != ExitCode::Done)
      return code;
    if (ExitCode code = readAnnotations(); code != ExitCode::Done)
      return code;
    if (std::string problem = findShares(); !problem.empty()) {
      errors << "error: " << problem << "\n";
      return ExitCode::Flags;
    }
    StringRef from = options.from.empty() ? StringRef("raw") : options.from;
    size_t first = 0;
    if (from != "raw") {
      first = llvm::find(kPhases, from) - kPhases.begin() + 1;
      if (ExitCode code = verifyLoaded(from); code != ExitCode::Done)
        return code;
    }
    if (options.to == from)
      return printModule();
    for (size_t i = first; i < kPhases.size(); ++i) {
      if (ExitCode code = runPhase(kPhases[i]); code != ExitCode::Done)
        return code;
      if (options.to == kPhases[i])
        return printModule();
      if (options.until == kPhases[i])
        return report.tell(output, errors);
      if (options.emit == "annotated-onnx" && kPhases[i] == "staged")
        return emitAnnotated();
      if (options.emit == "onnx" && kPhases[i] == "partitioned")
        return emitRanks();
    }
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    report.addSeconds(seconds.count());
    if (ExitCode code = report.tell(output, errors); code != ExitCode::Done)
      return code;
    return package();
  }

private:
  /// Before the work: what is there may have to stay.
  ExitCode checkOutput() {
    const bool isFolder = !options.output.empty() && options.to.empty() &&
                          options.emit != "annotated-onnx";
    const std::string why = isFolder ? package::whyKept(options.output) : "";
    if (why.empty())
      return ExitCode::Done;
    errors << "error: cannot write " << options.output << ": " << why << "\n";
    return ExitCode::Artifact;
  }

  ExitCode readMachine() {
    if (!options.topology.empty())
      return reportMachine(
          plan::loadMachine(options.topology, machineText, machine.emplace()));
    machineText =
        options.machine.empty() ? options.planMachine : options.machine;
    return machineText.empty() ? ExitCode::Done
                               : reportMachine(plan::parseMachine(
                                     machineText, machine.emplace()));
  }

  /// Of the mesh, which annotations may have given. "" or what is wrong.
  std::string findShares() {
    if (options.hasDeviceShares) {
      if (!machine || machine->devices.empty())
        return "--shares auto: " + options.topology +
               " says nothing about devices; list \"devices\", one for each "
               "node";
      options.mesh = plan::withDeviceShares(*machine, options.mesh);
      if (options.used)
        options.used->mesh = options.mesh;
    }
    std::string text;
    for (const dist::Axis &axis : options.mesh.axes)
      text += axis.shares.empty() ? "" : " " + plan::sharesText(axis);
    if (!text.empty() && options.emit == "annotated-onnx")
      return "--emit annotated-onnx: the parts of ONNX's annotations are "
             "equal; "
             "leave --shares out, or use --emit onnx";
    if (options.hasDeviceShares)
      errors << "shares:"
             << (text.empty() ? " equal: along no axis do devices differ"
                              : text)
             << "\n";
    return "";
  }

  ExitCode reportMachine(std::string problem) {
    const int64_t ranks = options.mesh.numRanks();
    if (problem.empty() && machine && machine->numDevices() < ranks)
      problem = "has " + std::to_string(machine->numDevices()) +
                " devices, the plan needs " + std::to_string(ranks) +
                "; use fewer ways, or describe more nodes";
    if (problem.empty())
      return ExitCode::Done;
    errors << "error: "
           << (options.topology.empty() ? options.planName
                                        : "--topology " + options.topology)
           << ": " << problem << "\n";
    return ExitCode::Flags;
  }

  ExitCode load() {
    progress("import");
    record.wantsOutputs = options.emit == "annotated-onnx";
    bool isText = llvm::sys::path::extension(options.model) == ".mlir";
    if (!options.text.empty())
      module = parseSourceString<ModuleOp>(options.text, ParserConfig(&context),
                                           options.model);
    else if (isText)
      module = parseSourceFile<ModuleOp>(options.model, ParserConfig(&context));
    else
      module = importer::importOnnx(context, options.model, nullptr, &record);
    return module ? ExitCode::Done : ExitCode::Model;
  }

  /// What the model's file says of devices is a start of the plan.
  ExitCode readAnnotations() {
    if (record.annotations.configurations.empty() &&
        !options.annotations.empty() && options.annotations != "none") {
      errors << "error: --annotations " << options.annotations << ": "
             << options.model << " has no multi-device annotations; leave it "
             << "out\n";
      return ExitCode::Flags;
    }
    if (record.annotations.configurations.empty() ||
        options.annotations == "none" ||
        (options.givesMesh && options.mesh.numRanks() == 1))
      return ExitCode::Done;
    if (!options.plan.empty()) {
      errors << "warning: " << options.model
             << ": its multi-device annotations are not read: the plan is "
                "given\n";
      return ExitCode::Done;
    }
    const std::string problem = annotations::findAnnotatedPlan(
        record, options.annotations,
        options.givesMesh ? &options.mesh : nullptr, annotated);
    if (!problem.empty()) {
      errors << "error: " << options.model << ": " << problem << "\n";
      return ExitCode::Flags;
    }
    options.mesh = annotated.mesh;
    options.sequenceParallel |= annotated.sequenceParallel;
    if (options.used) {
      options.used->mesh = options.mesh;
      options.used->sequenceParallel = options.sequenceParallel;
    }
    errors << "annotations: "
           << (annotated.numConfigurations > 1 ? "the first that fits, " : "")
           << "\"" << annotated.configuration << "\": "
           << annotations::configurationName(options.mesh,
                                             options.sequenceParallel)
           << "\n";
    return reportMachine("");
  }

  ExitCode emitAnnotated() {
    const std::string problem = annotatedModel->write(
        options.model, options.output, options.mesh, options.sequenceParallel);
    if (problem.empty())
      return ExitCode::Done;
    errors << "error: --emit annotated-onnx: " << problem << "\n";
    return ExitCode::Artifact;
  }

  ExitCode emitRanks() {
    progress("rank files");
    bool isModels = false;
    const std::string problem = ranks::writeRankFiles(
        *module, options.output,
        *ranks::symbolizeCollectives(options.collectives), isModels);
    if (problem.empty())
      return report.tell(output, errors);
    errors << "error: " << (isModels ? "" : "--emit onnx: ") << problem << "\n";
    return isModels ? ExitCode::Model : ExitCode::Artifact;
  }

  /// Notes what the phases decided, for emitAnnotated.
  void noteDecisions(StringRef phase) {
    if (options.emit != "annotated-onnx")
      return;
    if (!annotatedModel)
      annotatedModel.emplace(record.outputs);
    if (phase == "sharded")
      annotatedModel->addShardings(*module);
    if (phase == "staged")
      annotatedModel->addStages(*module);
  }

  /// What a file claims to be is checked like what a phase makes.
  ExitCode verifyLoaded(StringRef phase) {
    PassManager passes(&context);
    passes.addPass(verify::createVerifyPhase({phase.str()}));
    // The file's own words name what it was made of, not the file.
    about = options.model + ", --from " + phase.str() + ": ";
    if (!options.trusted && failed(passes.run(*module)))
      return ExitCode::Model;
    about.clear();
    dist::MeshOp mesh = dist::getMesh(*module);
    if (phase != kPhases.front() && mesh && options.mesh.numRanks() > 1 &&
        !(*mesh.getMesh().getMesh() == options.mesh)) {
      errors << "error: --tp: " << options.model << " was made for "
             << mesh.getMesh().getMesh()->numRanks()
             << " ranks already; leave --tp out\n";
      return ExitCode::Flags;
    }
    if (ExitCode code = resolveDims(); code != ExitCode::Done)
      return code;
    if (phase == "imported")
      report.findLayers(*module);
    if (phase == "partitioned")
      report.addPartitioned(*module, machine ? &*machine : nullptr);
    return afterPhase(phase);
  }

  ExitCode afterPhase(StringRef phase) {
    return options.afterPhase ? options.afterPhase(phase, *module)
                              : ExitCode::Done;
  }

  void setMesh() {
    if (dist::MeshOp old = dist::getMesh(*module))
      old.erase();
    OpBuilder builder(module->getBodyRegion());
    dist::MeshOp::create(builder, module->getLoc(), "mesh",
                         dist::MeshAttr::get(&context, options.mesh));
  }

  ExitCode runPhase(StringRef phase) {
    progress(phase);
    if (phase == "sharded")
      setMesh();
    PassManager passes(&context);
    passes.enableVerifier(
        false); // verify-phase follows; types are checked there
    // A model may be refused while it is imported or cut, and a user's plan while
    // it is read; what else fails is a bug of the compiler, worth a file that
    // shows it.
    const bool isUsersPlan =
        ((phase == "sharded" || phase == "staged") && !options.plan.empty()) ||
        (phase == "sharded" &&
         (!options.pins.empty() || !annotated.json.empty()));
    if (phase != "imported" && phase != "staged" && !isUsersPlan)
      passes.enableCrashReproducerGeneration(reproducerPath());
    buildPhase(passes, phase, pipelineOptions());
    // What was reported as wrong is wrong, even if a pass went on.
    if (failed(passes.run(*module)) || failed(mlir::verify(*module)) ||
        hasError)
      return isUsersPlan ? ExitCode::Flags : ExitCode::Model;
    if (phase == "imported") {
      if (ExitCode code = resolveDims(); code != ExitCode::Done)
        return code;
      report.findLayers(*module);
      report.addWeightsType(*module);
      report.addCompute(*module);
    }
    if (phase == "sharded")
      report.takePlan(*module, choiceMachine(), planDims);
    if (phase == "staged")
      report.takeStages(*module);
    if (phase == "sharded" && lastOfPlan() == phase &&
        !options.savePlan.empty() && options.mesh.find(dist::kPipelineAxis))
      errors << "warning: --save-plan: --to sharded ends before stages are "
                "cut, so the plan does not say where; use --to staged\n";
    if (phase == lastOfPlan())
      if (ExitCode code = report.savePlan(errors); code != ExitCode::Done)
        return code;
    noteDecisions(phase);
    if (phase == "partitioned") {
      report.addPartitioned(*module, machine ? &*machine : nullptr);
      compareBitwise();
    }
    if (phase == "lowered")
      report.addLowered(*module);
    if (ExitCode code = dump(phase); code != ExitCode::Done)
      return code;
    return afterPhase(phase);
  }

  /// Whether somebody asks what --bitwise costs.
  bool comparesBitwise() const {
    return options.bitwise && options.from.empty() && options.plan.empty() &&
           (options.explain || !options.explainJson.empty());
  }

  /// Plans the model once more without it.
  void compareBitwise() {
    if (!comparesBitwise())
      return;
    CompileOptions without = options;
    std::string text;
    without.bitwise = without.explain = false;
    without.predicts = true;
    without.explanation = &text;
    without.until = "partitioned";
    without.used = nullptr;
    without.afterPhase = nullptr;
    without.progress = nullptr;
    without.pins.clear();
    for (std::string *path :
         {&without.output, &without.emit, &without.dumpDir,
          &without.explainJson, &without.savePlan, &without.alternativesOf})
      path->clear();
    if (compile(without, llvm::nulls(), llvm::nulls()) == ExitCode::Done)
      report.addBitwise(text);
  }

  PipelineOptions pipelineOptions() const {
    PipelineOptions made;
    made.recover = options.recover;
    made.doubles = options.doubles;
    made.sequenceParallel = options.sequenceParallel;
    made.splitsSteps = splitsSequence();
    made.page = options.page;
    made.compute = options.compute;
    made.bitwise = options.bitwise;
    made.weightsType = options.weightsType;
    made.weightsGroup = options.weightsGroup;
    // Other runtimes take few layouts of small types; what is quantised here was
    // floats.
    made.readsStored = options.emit.empty() && options.weightsType.empty();
    made.castsWeights = options.target != "host" || options.emit == "onnx";
    made.kvType = options.kvType;
    made.mesh = options.mesh;
    made.planDims = options.planDims;
    made.microBatches = options.microBatches;
    made.contextMode = options.contextMode;
    made.expertMode = options.expertMode;
    made.generatesKernels = options.generatesKernels;
    made.target = options.target;
    made.overlap = options.overlap;
    made.machine = choiceMachine().str();
    made.plan = options.plan;
    made.planName = options.planName;
    made.pins = options.pins;
    made.annotations = annotated.json;
    made.keepsPlan = !options.savePlan.empty() || !options.output.empty() ||
                     options.explanation;
    made.planSizes = sizeTexts(planDims);
    made.alternativesOf = options.alternativesOf;
    made.alternativeSizes = sizeTexts(dims);
    made.predicts = machine && (options.predicts || comparesBitwise());
    return made;
  }

  /// Of choices by cost; reports are about that of --topology.
  StringRef choiceMachine() const {
    return options.planMachine.empty() ? machineText : options.planMachine;
  }

  /// The phase behind which all is decided that a plan has.
  StringRef lastOfPlan() const {
    return options.to == "sharded" || options.until == "sharded" ? "sharded"
                                                                 : "staged";
  }

  /// Whether some axis is there to split the sequence.
  bool splitsSequence() const {
    const dist::Axis *context = options.mesh.find(dist::kContextAxis);
    return (context && context->size > 1) ||
           (options.sequenceParallel &&
            dist::stageMesh(options.mesh).numRanks() > 1);
  }

  std::string reproducerPath() const {
    if (!options.reproducer.empty())
      return options.reproducer;
    llvm::SmallString<128> path;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
    llvm::sys::path::append(
        path, "shardc-" + std::to_string(llvm::sys::Process::getProcessId()) +
                  "-reproducer.mlir");
    return path.str().str();
  }

  ExitCode resolveDims() {
    ExitCode code = resolve("--dims", options.dims, dims);
    return code == ExitCode::Done
               ? resolve(options.plan.empty()
                             ? "--plan-dims"
                             : options.planName + ", --plan-dims",
                         options.planDims, planDims)
               : code;
  }

  ExitCode resolve(StringRef flag, const llvm::StringMap<int64_t> &given,
                   report::SymbolValues &resolved) {
    const std::string problem = resolveSizes(*module, given, resolved);
    if (problem.empty())
      return ExitCode::Done;
    errors << "error: " << flag << " " << problem << "\n";
    return ExitCode::Flags;
  }

  ExitCode dump(StringRef phase) {
    if (options.dumpDir.empty())
      return ExitCode::Done;
    const bool isNew = !llvm::sys::fs::exists(options.dumpDir);
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpDir))
      return cannotWrite("--dump-dir", options.dumpDir, error, errors);
    std::string path = options.dumpDir + "/" + std::to_string(numDumps++) +
                       "-" + phase.str() + ".mlir";
    std::string text;
    llvm::raw_string_ostream os(text);
    printTo(os, phase);
    const ExitCode done = writeFlagFile(
        "--dump-dir", path, [&](llvm::raw_ostream &file) { file << text; },
        errors);
    if (done != ExitCode::Done && isNew)
      (void)llvm::sys::fs::remove(options.dumpDir);
    return done;
  }

  /// Its first line says of which version the text is: it stays alike between
  /// those that differ in their last number.
  void printTo(llvm::raw_ostream &os, StringRef phase) {
    os << "// shardc " << StringRef(artifact::kVersion).rsplit('.').first
       << ", phase " << phase << "\n";
    OpPrintingFlags flags;
    flags.enableDebugInfo(); // locations name the ONNX nodes
    module->print(os, flags);
    os << '\n';
  }

  ExitCode printModule() {
    if (!options.output.empty())
      return writeFlagFile(
          "-o", options.output,
          [&](llvm::raw_ostream &file) { printTo(file, options.to); }, errors);
    printTo(output, options.to);
    return ExitCode::Done;
  }

  ExitCode package() {
    if (options.output.empty())
      return ExitCode::Done;
    progress("packaged");
    package::PackageOptions packageOptions{
        options.output, onnx::modelInfo(*module).folder, options.copyWeights,
        options.microBatches, options.target};
    keepSource(packageOptions);
    if (options.progress)
      packageOptions.progress = [this](StringRef what, double done) {
        options.progress(what, done);
      };
    return failed(
               package::writeArtifact(*module, packageOptions, report.json()))
               ? ExitCode::Artifact
               : ExitCode::Done;
  }

  void keepSource(package::PackageOptions &packageOptions) {
    if (llvm::sys::path::extension(options.model) != ".onnx")
      return;
    packageOptions.modelFile = llvm::sys::path::filename(options.model).str();
    report.addSource(machineText);
  }

  void progress(StringRef phase) {
    if (options.progress)
      options.progress(phase, std::nullopt);
  }

  CompileOptions options; ///< of which annotations may decide the mesh
  llvm::raw_ostream &output, &errors;
  MLIRContext context;
  bool hasError = false; ///< some diagnostic was one
  std::string about;     ///< what diagnostics are about, if not their node
  OwningOpRef<ModuleOp> module;
  importer::GraphRecord record; ///< of an ONNX file
  annotations::AnnotatedPlan annotated;
  std::optional<annotations::AnnotatedModel> annotatedModel;
  report::SymbolValues dims; ///< --dims, by the model's symbols
  CompileReport report{options, dims};
  report::SymbolValues planDims;        ///< --plan-dims, likewise
  std::optional<plan::Machine> machine; ///< of --topology, and as it was given
  std::string machineText;
  unsigned numDumps = 1;
};

} // namespace

ExitCode compile(const CompileOptions &options, llvm::raw_ostream &output,
                 llvm::raw_ostream &errors) {
  return Compilation(options, output, errors).run();
}

} // namespace shardc
