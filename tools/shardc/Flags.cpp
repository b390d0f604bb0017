//===- Flags.cpp - The flags of shardc ------------------------------------===//
//
// CLI11 throws, so this file is compiled apart from everything that uses MLIR.
//
//===----------------------------------------------------------------------===//

#include "tools/shardc/Flags.h"

#include "tools/flags/Unexpected.h"
#include "tools/shardc/Readers.h"
#include "tools/shardc/Subcommands.h"
#include "tools/version/Version.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace shardc {

static constexpr char kDescription[] =
    "Compiles an ONNX transformer for many devices.\n\n"
    "  shardc model.onnx --tp 2 -o model.shard      split over 2 ranks\n"
    "  shardrun model.shard --inputs data           run it here\n"
    "  shardc model.onnx --tp 2 --explain           what it communicates, and "
    "why\n"
    "  shardc plan model.onnx --topology h100:1x8   which degrees suit it\n"
    "  shardc lint model.shard rules                does a plan keep these?\n"
    "  shardc check model.onnx                      what it needs before it "
    "compiles\n"
    "  shardc verify model.onnx --tp 2              does it compute the "
    "same?\n";

static constexpr char kExitCodes[] =
    "Exit status: 0 done, 2 wrong flags, 3 the model cannot be compiled,\n"
    "4 the artifact cannot be written.";

/// Whether what is told is told of a plan that is there: an artifact, or a report.
static bool isOfPlan(const Flags &flags) {
  return (flags.command == Command::Explain ||
          flags.command == Command::Lint) &&
         std::filesystem::path(flags.model).extension() != ".onnx";
}

/// Before an artifact: the module is printed and nothing else done.
static bool stopsEarly(const Flags &flags) {
  return !flags.to.empty() && flags.to != "packaged";
}

/// Of flags that change nothing without others.
static void warnOfIdleFlags(const CLI::App &parsed, const Flags &flags) {
  if (flags.command == Command::Check || flags.command == Command::Plan ||
      flags.command == Command::Diff || flags.command == Command::FromHf)
    return;
  auto ways = [&](const char *axis) { return flags.degrees.at(axis); };
  const bool splits =
      ways("tp") > 1 || ways("ep") > 1 || ways("cp") > 1 || flags.isAutomatic;
  const bool explains = flags.explain || !flags.explainJson.empty() ||
                        flags.command != Command::Compile;
  const bool writes = !flags.output.empty();
  const bool plans = flags.isAutomatic || !flags.report.empty();
  // An artifact explains itself, for them.
  const bool keeps = writes && flags.emit.empty() && !stopsEarly(flags);
  const struct {
    const char *flag;
    bool works;
    const char *needs;
  } rules[] = {
      {"--sp", splits, "--tp 2 or more"},
      {"--cp-mode", ways("cp") > 1 || flags.isAutomatic, "--cp 2 or more"},
      {"--ep-mode", ways("ep") > 1, "--ep 2 or more"},
      {"--micro-batches",
       ways("pp") > 1 || flags.microBatches == 1 || flags.isAutomatic,
       "--pp 2 or more"},
      {"--dims", flags.inputs.empty(),
       "inputs that are made up: leave "
       "--inputs out"},
      {"--dims", explains || plans || keeps,
       "--explain, --explain-json, --auto or -o FOLDER"},
      {"--topology",
       explains || plans || keeps || flags.target != "host" || ways("pp") > 1 ||
           ways("ep") > 1 || flags.hasDeviceShares || !flags.planDims.empty(),
       "--explain, --explain-json, --auto, --plan-dims, --pp, --ep, --shares "
       "auto, --target cuda or -o FOLDER"},
      {"--goal", flags.isAutomatic || !flags.report.empty(),
       "--auto or --report"},
      {"--mix", flags.isAutomatic || !flags.report.empty(),
       "--auto or --report"},
      {"--weights", keeps, "-o FOLDER"},
      {"--collectives", flags.emit == "onnx", "--emit onnx"},
      {"--python", !flags.against.empty(), "--against onnxruntime"},
      {"--seed", flags.inputs.empty(),
       "inputs that are made up: leave "
       "--inputs out"},
      {"--trust-programs", !flags.programs.empty(), "--programs"},
  };
  for (const auto &rule : rules) {
    const CLI::Option *option = parsed.get_option_no_throw(rule.flag);
    if (option && option->count() > 0 && !rule.works)
      std::cerr << "warning: " << rule.flag << ": changes nothing without "
                << rule.needs << "\n";
  }
}

static const std::vector<std::string> &phases() {
  static const std::vector<std::string> names = {
      "raw",         "imported", "sharded", "staged",
      "partitioned", "lowered",  "packaged"};
  return names;
}

int phaseIndex(const std::string &phase) {
  const auto known = std::find(phases().begin(), phases().end(), phase);
  return known == phases().end() ? -1 : int(known - phases().begin());
}

/// Those of compiling, which has no name of its own.
static void addCompileFlags(CLI::App &app, Flags &flags, DimTexts &dims) {
  app.add_option("model", flags.model,
                 "The model: .onnx, or .mlir that --to printed");
  app.add_option("-o,--output", flags.output,
                 "Folder to write the artifact to; with --to the file");
  addPlanFlags(app, flags, dims);
  {
    const ReadBy reader(app, Reader::Request);
    app.add_option("--topology", flags.topology,
                   "What the ranks run on, h100:16x8 or a JSON file of nodes, "
                   "devices and links: --explain then says which links are "
                   "used, and for how long");
    app.add_option("--dims", dims.dims,
                   "Sizes for --explain, for example batch=1,seq=128");
  }
  app.add_flag("--auto", flags.isAutomatic,
               "Choose for --topology and --dims what no flag gives of "
               "degrees, --sp, --cp-mode, --micro-batches and --rank-order, as "
               "shardc plan does");
  addPlanning(app, flags, dims);
  app.add_option("--target", flags.target,
                 "host (default) or cuda: where the artifact is to run, unless "
                 "shardrun --device says otherwise")
      ->check(CLI::IsMember({"host", "cuda"}));
  app.add_option(
         "--weights", flags.weights,
         "reference: the artifact points into the model's files (default); "
         "copy: each rank's part is copied into it")
      ->check(CLI::IsMember({"reference", "copy"}));
  app.add_flag("--explain", flags.explain,
               "Print every collective, why it is there, and what stays whole");
  app.add_option("--explain-json", flags.explainJson,
                 "The same as JSON, to a file");
  app.add_option("--emit", flags.emit,
                 "Write this to -o in place of an artifact: annotated-onnx: "
                 "the model with the plan as ONNX's multi-device annotations, "
                 "which shardc and others read; onnx: a folder with an ONNX "
                 "model for each rank, for other runtimes")
      ->check(CLI::IsMember({"annotated-onnx", "onnx"}));
  app.add_option("--collectives", flags.collectives,
                 "With --emit onnx, as which nodes collectives are written: "
                 "microsoft: com.microsoft AllReduce, AllGather, AllToAll "
                 "(default); tensorrt: DistCollective")
      ->check(CLI::IsMember({"microsoft", "tensorrt"}));
  {
    const ReadBy reader(app, Reader::Plan);
    app.add_option("--save-plan", flags.savePlan,
                   "Write the plan to a file, for --load-plan");
  }
  app.add_option("--to", flags.to,
                 "Print the module after this phase, to -o FILE where that is "
                 "given, and stop")
      ->check(CLI::IsMember(phases()));
  app.add_option("--from", flags.from,
                 "The phase of a .mlir model (default raw)")
      ->check(CLI::IsMember(
          std::vector<std::string>(phases().begin(), phases().end() - 1)));
  app.add_option("--dump-dir", flags.dumpDir,
                 "Write the module after each phase to this folder");
  addNoProgress(app, flags);
  app.add_option("--reproducer", flags.reproducer,
                 "Where to write what makes a pass fail");
}

/// -1, or an exit status where nothing is left to do.
static int parse(CLI::App &app, int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    const int status = app.exit(done);
    if (std::cout.flush())
      return status;
    std::cerr << "error: cannot write to standard output: "
              << std::strerror(errno) << "\n";
    return 4;
  } catch (const CLI::ExtrasError &) {
    std::cerr << "error: " << unexpectedText(app) << "; see shardc --help\n";
    return 2;
  } catch (const CLI::ParseError &error) {
    std::cerr << "error: " << mistakeText(app, error)
              << "; see shardc --help\n";
    return 2;
  }
  return -1;
}

/// "" or what is wrong with files beside --to.
static std::string checkStopping(const Flags &flags) {
  if (!stopsEarly(flags))
    return "";
  for (const auto &[flag, isGiven] :
       {std::pair("--explain", flags.explain),
        {"--explain-json", !flags.explainJson.empty()},
        {"--emit", !flags.emit.empty()}})
    if (isGiven)
      return std::string(flag) + ": is of a whole compile, and --to " +
             flags.to + " stops before; leave one of them out";
  for (const auto &[flag, isGiven] :
       {std::pair("--save-plan", !flags.savePlan.empty()),
        {"--load-plan", !flags.loadPlan.empty()},
        {"--pin", !flags.pins.empty()}})
    if (isGiven && phaseIndex(flags.to) < phaseIndex("sharded"))
      return std::string(flag) +
             ": there is no plan before phase sharded, and --to " + flags.to +
             " stops there; leave one of them out";
  if (std::filesystem::is_directory(flags.output))
    return "-o " + flags.output + ": is a folder; --to " + flags.to +
           " writes a file";
  return "";
}

/// "" or what is wrong with files and phases.
static std::string checkCompiling(const Flags &flags) {
  if (flags.model.empty())
    return "model is required; see shardc --help";
  const bool explains = flags.explain || !flags.explainJson.empty();
  if (!flags.report.empty() && flags.topology.empty())
    return "--report: needs --topology, for example --topology h100:1x8";
  if (!flags.emit.empty() && flags.output.empty())
    return "--emit " + flags.emit + ": needs -o, where to write it";
  if (!flags.emit.empty() &&
      std::filesystem::path(flags.model).extension() != ".onnx")
    return "--emit " + flags.emit + ": expected an ONNX model";
  if (flags.emit == "annotated-onnx" &&
      std::filesystem::is_directory(flags.output))
    return "-o " + flags.output + ": is a folder; --emit " + flags.emit +
           " writes a file";
  if (flags.output.empty() && flags.to.empty() && flags.dumpDir.empty() &&
      flags.savePlan.empty() && flags.report.empty() && !explains)
    return "nothing to do: give -o FOLDER, --explain, --to PHASE or "
           "--dump-dir FOLDER";
  if (!flags.from.empty() && !flags.to.empty() &&
      phaseIndex(flags.to) < phaseIndex(flags.from))
    return "--to " + flags.to + " comes before --from " + flags.from;
  if (!flags.from.empty() && flags.from != "raw" &&
      std::filesystem::path(flags.model).extension() != ".mlir")
    return "--from " + flags.from + ": expected a .mlir file that --to printed";
  if (std::string problem = checkFrom(flags); !problem.empty())
    return problem;
  if (std::string problem = checkStopping(flags); !problem.empty())
    return problem;
  if (flags.from == "lowered" && explains)
    return "--explain: a lowered program no longer says what it sends; use "
           "--from partitioned, or what comes before it";
  std::error_code ignored;
  for (const auto &[flag, path] :
       {std::pair("--explain-json", flags.explainJson),
        {"--reproducer", flags.reproducer},
        {"--save-plan", flags.savePlan},
        {"--report", flags.report},
        {"-o", flags.output}})
    if (!path.empty() &&
        std::filesystem::equivalent(path, flags.model, ignored))
      return std::string(flag) + " " + path + ": is the model itself";
  return "";
}

static bool givesDegrees(const CLI::App &parsed, const Flags &flags) {
  for (const auto &[axis, ways] : flags.degrees)
    if (const CLI::Option *option = parsed.get_option_no_throw("--" + axis);
        option && option->count() > 0)
      return true;
  return false;
}

/// Degrees that `shardc plan` and --auto leave as they are.
static void fixDegrees(const CLI::App &parsed, Flags &flags) {
  auto isGiven = [&](const std::string &flag) {
    return parsed.get_option(flag)->count() > 0;
  };
  for (const auto &[axis, ways] : flags.degrees)
    if (isGiven("--" + axis))
      flags.fixed[axis] = ways;
  if (flags.isAutomatic) { // whose flags are those of a compile
    if (flags.sequenceParallel)
      flags.fixedSequence = "on";
    if (isGiven("--cp-mode"))
      flags.fixedContext = flags.contextMode;
    if (isGiven("--micro-batches"))
      flags.fixedMicroBatches = flags.microBatches;
  }
  if (!flags.fixedSequence.empty())
    flags.fixed["sp"] = flags.fixedSequence == "on";
  if (flags.fixedMicroBatches > 0)
    flags.fixed["micro-batches"] = flags.fixedMicroBatches;
}

int parseFlags(int argc, char **argv, Flags &flags) {
  CLI::App app(kDescription, "shardc");
  app.option_defaults()->disable_flag_override(); // --bitwise=8 is a mistake
  app.footer(kExitCodes);
  app.set_version_flag("--version",
                       versionText("shardc", "LLVM " SHARDC_LLVM_VERSION));
  DimTexts dims;
  addCompileFlags(app, flags, dims);
  const Subcommands subcommands = addSubcommands(app, flags, dims);
  if (const int status = parse(app, argc, argv); status >= 0)
    return status;
  const CLI::App *parsed = &app;
  for (const auto &[command, subcommand] : subcommands)
    if (subcommand->parsed()) {
      flags.command = command;
      parsed = subcommand;
    }
  flags.given = givenOptions(*parsed);
  // Beside a plan that is there each of them is a mistake, whatever it says.
  if (isOfPlan(flags) && !flags.given.empty())
    return -1;
  std::string problem = parseDims("--dims", dims.dims, flags.dims);
  if (problem.empty())
    problem = parseDims("--plan-dims", dims.planDims, flags.planDims);
  if (problem.empty())
    problem = parseMix(dims, flags);
  if (problem.empty() && flags.isAutomatic)
    problem = checkAutomatic(app, flags);
  if (problem.empty())
    problem = checkLoadedPlan(*parsed, flags);
  if (problem.empty())
    problem = checkCompute(flags);
  if (problem.empty())
    problem = checkBitwise(*parsed, flags);
  flags.givesDegrees = givesDegrees(*parsed, flags);
  if (problem.empty())
    problem = collectAxes(flags);
  if (problem.empty())
    problem = readShares(flags);
  if (problem.empty() && (flags.command == Command::Plan || flags.isAutomatic))
    fixDegrees(*parsed, flags);
  if (flags.command == Command::Compile &&
      (problem.empty() || flags.model.empty()))
    problem = checkCompiling(flags);
  if (problem.empty()) {
    warnOfIdleFlags(*parsed, flags);
    return -1;
  }
  std::cerr << "error: " << problem << "\n";
  return 2;
}

} // namespace shardc
