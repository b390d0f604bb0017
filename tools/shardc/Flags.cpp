//===- Flags.cpp - The flags of shardc ------------------------------------===//
//
// CLI11 throws, so this file is compiled apart from everything that uses MLIR.
//
//===----------------------------------------------------------------------===//

#include "tools/shardc/Flags.h"

#include "tools/flags/Unexpected.h"

#include <filesystem>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <sstream>
#include <utility>

namespace shardc {

static constexpr char kDescription[] =
    "Compiles an ONNX transformer for many devices.\n\n"
    "  shardc model.onnx --tp 2 -o model.shard      split over 2 ranks\n"
    "  shardrun model.shard --inputs data           run it here\n"
    "  shardc model.onnx --tp 2 --explain           what it communicates, and "
    "why\n"
    "  shardc plan model.onnx --topology h100:1x8   which degrees suit it\n"
    "  shardc check model.onnx                      what it needs before it "
    "compiles\n"
    "  shardc verify model.onnx --tp 2              does it compute the "
    "same?\n";

static constexpr char kExitCodes[] =
    "Exit status: 0 done, 2 wrong flags, 3 the model cannot be compiled,\n"
    "4 the artifact cannot be written.";

namespace {

/// Major to minor over ranks, unless --rank-order says otherwise.
struct Degree {
  const char *axis;
  const char *help;
};
constexpr Degree kDegrees[] = {
    {"dp", "Replicas; requests are spread over them"},
    {"pp", "Stages of a pipeline"},
    {"cp", "Ways of context parallelism: each holds a part of the sequence"},
    {"ep", "Ways of expert parallelism"},
    {"tp", "Ways of tensor parallelism"},
};
constexpr int64_t kMaxRanks = 65536;

/// The axes of --rank-order, innermost first, as they are major to minor; or
/// what is wrong. Those of one way may be left out.
std::string readRankOrder(const Flags &flags, std::vector<std::string> &order) {
  std::string names;
  for (const Degree &degree : kDegrees) {
    order.emplace_back(degree.axis);
    names = degree.axis + (names.empty() ? "" : "," + names);
  }
  if (flags.rankOrder.empty())
    return "";
  auto problem = [&](const std::string &what) {
    return "--rank-order " + flags.rankOrder + ": " + what +
           "; expected each axis once, innermost first, for example " + names;
  };
  const std::vector<std::string> known = std::exchange(order, {});
  std::stringstream list(flags.rankOrder);
  for (std::string name; std::getline(list, name, ',');) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return problem("there is no axis \"" + name + "\"");
    if (std::find(order.begin(), order.end(), name) != order.end())
      return problem("\"" + name + "\" comes twice");
    order.insert(order.begin(), name);
  }
  for (const std::string &name : known)
    if (std::find(order.begin(), order.end(), name) == order.end()) {
      if (flags.degrees.at(name) != 1)
        return problem("\"" + name + "\" has " +
                       std::to_string(flags.degrees.at(name)) +
                       " ways and no place");
      order.insert(order.begin(), name);
    }
  return "";
}

/// Major to minor; those of one way left out, but for "tp".
std::string collectAxes(Flags &flags) {
  int64_t ranks = 1;
  std::vector<std::string> order;
  if (std::string problem = readRankOrder(flags, order); !problem.empty())
    return problem;
  for (const std::string &name : order) {
    const int64_t ways = flags.degrees[name];
    const std::string flag = "--" + name + " " + std::to_string(ways);
    if (ways < 1)
      return flag + ": expected at least 1; use --" + name + " 1 or more";
    if (ways > 1 || name == "tp")
      flags.axes.emplace_back(name, ways);
    if (ways > kMaxRanks / ranks)
      return flag + ": more than " + std::to_string(kMaxRanks) +
             " ranks in all";
    ranks *= ways;
  }
  return "";
}

} // namespace

/// "batch=1,seq=128"
static std::string parseDims(const std::string &flag, const std::string &text,
                             std::map<std::string, int64_t> &dims) {
  std::stringstream list(text);
  for (std::string entry; std::getline(list, entry, ',');) {
    size_t equal = entry.find('=');
    char *end = nullptr;
    errno = 0;
    int64_t value = equal == std::string::npos
                        ? -1
                        : std::strtoll(entry.c_str() + equal + 1, &end, 10);
    if (value < 0 || end == entry.c_str() + equal + 1 || *end || errno)
      return flag + " " + entry +
             ": expected NAME=SIZE, for example batch=1,seq=128";
    const auto [known, isNew] = dims.try_emplace(entry.substr(0, equal), value);
    if (!isNew && known->second != value)
      return flag + " " + entry + ": expected one size of " + known->first +
             ", not " + std::to_string(known->second) + " too";
  }
  return "";
}

/// As the user wrote them.
struct DimTexts {
  std::string dims, planDims;
};

/// What makes the plan: the same for compiling and for verifying.
static void addPlanFlags(CLI::App &app, Flags &flags, DimTexts &dims) {
  for (const Degree &degree : kDegrees)
    app.add_option("--" + std::string(degree.axis), flags.degrees[degree.axis],
                   degree.help);
  app.add_option("--rank-order", flags.rankOrder,
                 "Axes by how near their ranks are numbered, innermost first "
                 "(default tp,ep,cp,pp,dp)");
  app.add_flag("--sp", flags.sequenceParallel,
               "Split what tensor parallelism leaves whole (norms, residuals) "
               "over the sequence");
  app.add_option("--cp-mode", flags.contextMode,
                 "With --cp, how attention sees all positions: ring: the parts "
                 "of keys and values travel around (default); ulysses: each "
                 "rank gets some heads of all positions; gather: each rank "
                 "gets all keys and values")
      ->check(CLI::IsMember({"ring", "ulysses", "gather"}));
  app.add_option("--ep-mode", flags.expertMode,
                 "With --ep, what the axis splits outside of experts: tensor: "
                 "matrices, like --tp; batch: rows of the batch; auto: the "
                 "cheaper of both where it is known how many rows there are, "
                 "else tensor (default)")
      ->check(CLI::IsMember({"auto", "tensor", "batch"}));
  app.add_option("--overlap", flags.overlap,
                 "Collectives beside products, both cut by rows: auto: where "
                 "the predicted time falls (default; never with --target "
                 "host); off; or N: each in N parts")
      ->check([](const std::string &text) -> std::string {
        const bool isNumber =
            !text.empty() && text.size() <= 2 &&
            text.find_first_not_of("0123456789") == std::string::npos &&
            text[0] != '0';
        return isNumber || text == "auto" || text == "off"
                   ? ""
                   : text + ": expected auto, off or a number from 1 to 99";
      });
  app.add_option("--plan-dims", dims.planDims,
                 "Sizes of a typical request, for choices by cost, for example "
                 "batch=32,seq=1024; any size still runs");
  app.add_option("--micro-batches", flags.microBatches,
                 "With --pp: parts of a request's batch that are in the "
                 "pipeline at once (default 1)")
      ->check(CLI::Range(int64_t{1}, kMaxRanks));
  app.add_flag("--no-recovery", flags.noRecovery,
               "Keep norms, attention and the like as the exporter spelled "
               "them, to compare");
  app.add_option(
         "--precision", flags.precision,
         "model: compute in the model's types (default); f64: in double "
         "precision, to tell mistakes from rounding")
      ->check(CLI::IsMember({"model", "f64"}));
  app.add_option("--kernels", flags.kernels,
                 "Between library calls: generated: native code for this model "
                 "(default); reference: the runtime's own kernels, one an op")
      ->check(CLI::IsMember({"generated", "reference"}));
}

/// `shardc verify`; the app that was added.
static CLI::App *addVerify(CLI::App &app, Flags &flags, DimTexts &dims) {
  CLI::App *verify = app.add_subcommand(
      "verify", "Run a plan, one rank, and the graph without recovery on the "
                "same inputs, and compare");
  verify->add_option("model", flags.model, "The model: .onnx")->required();
  addPlanFlags(*verify, flags, dims);
  verify->add_option("--inputs", flags.inputs,
                     "Folders with input_0.pb, ..., or .npz files; without: "
                     "test_data_set_* beside the model, and made-up inputs");
  verify->add_option("--dims", dims.dims,
                     "Sizes of made-up inputs, for example batch=2,seq=7");
  verify->add_option("--seed", flags.seed, "Of the made-up inputs");
  verify
      ->add_option("--against", flags.against,
                   "Compare with this engine, too: onnxruntime, in a Python "
                   "that has it")
      ->check(CLI::IsMember({"onnxruntime"}));
  verify->add_option("--python", flags.python,
                     "That Python; without it SHARDC_PYTHON, or the first of "
                     "python3 and .venv/bin/python that has it");
  verify->add_flag("--json", flags.json, "Print JSON");
  verify->add_option("--programs", flags.programs,
                     "For development: try these programs, as --to=partitioned "
                     "prints them, in place of the plan; lines `// -----` "
                     "separate several");
  verify->add_flag("--trust-programs", flags.trustPrograms,
                   "For development: run them unchecked, to see where they go "
                   "wrong");
  verify->footer(
      "Exit status: 0 all agree, 1 something differs, and the first value that "
      "does\nis named, 2 wrong flags or inputs, 3 the model, 4 it does not "
      "run.");
  return verify;
}

static void addGoal(CLI::App &app, Flags &flags) {
  app.add_option("--goal", flags.goal,
                 "Of planning: throughput: the most tokens a second for each "
                 "device (default); latency: the shortest step, or prompt "
                 "where the model has no caches; fit: the fewest devices")
      ->check(CLI::IsMember({"latency", "throughput", "fit"}));
}

/// `shardc plan`; the app that was added.
static CLI::App *addPlan(CLI::App &app, Flags &flags, DimTexts &dims) {
  CLI::App *plan = app.add_subcommand(
      "plan", "Predict memory and time of every parallelism that a machine "
              "allows, best first");
  plan->add_option("model", flags.model, "The model: .onnx")->required();
  plan->add_option("--topology", flags.topology,
                   "What it is to run on: h100:16x8 or a JSON file")
      ->required();
  plan->add_option("--dims", dims.dims,
                   "The requests: batch=32,seq=1024,past=8192 are prompts of "
                   "1024 positions, and steps behind 8192");
  addGoal(*plan, flags);
  plan->add_option("--json", flags.planJson, "All candidates, to a file");
  plan->footer(
      "Exit status: 0 something fits, 1 nothing does, 2 wrong flags, 3 "
      "the model.");
  return plan;
}

/// Of flags that change nothing without others.
static void warnOfIdleFlags(const CLI::App &app, const CLI::App &verify,
                            const Flags &flags) {
  auto ways = [&](const char *axis) { return flags.degrees.at(axis); };
  const bool splits = ways("tp") > 1 || ways("ep") > 1 || ways("cp") > 1;
  const bool explains = flags.explain || !flags.explainJson.empty();
  const bool writes = !flags.output.empty();
  const struct {
    const char *flag;
    bool works;
    const char *needs;
  } rules[] = {
      {"--sp", splits, "--tp 2 or more"},
      {"--cp-mode", ways("cp") > 1, "--cp 2 or more"},
      {"--ep-mode", ways("ep") > 1, "--ep 2 or more"},
      {"--micro-batches", ways("pp") > 1 || flags.microBatches == 1,
       "--pp 2 or more"},
      {"--dims", explains || flags.verify || flags.isAutomatic,
       "--explain, --explain-json or --auto"},
      {"--topology", explains || flags.isAutomatic || flags.target != "host",
       "--explain, --explain-json, --auto or --target cuda"},
      {"--goal", flags.isAutomatic, "--auto"},
      {"--weights", writes, "-o FOLDER"},
      {"--python", !flags.against.empty(), "--against onnxruntime"},
  };
  const CLI::App &parsed = flags.verify ? verify : app;
  for (const auto &rule : rules) {
    const CLI::Option *option = parsed.get_option_no_throw(rule.flag);
    if (option && option->count() > 0 && !rule.works)
      std::cerr << "warning: " << rule.flag << ": changes nothing without "
                << rule.needs << "\n";
  }
}

/// What is wrong with --auto and flags beside it.
static std::string checkAutomatic(const CLI::App &app, const Flags &flags) {
  if (flags.topology.empty())
    return "--auto: needs --topology, for example --topology h100:1x8";
  for (const char *flag : {"--dp", "--pp", "--cp", "--ep", "--tp", "--sp",
                           "--cp-mode", "--ep-mode", "--micro-batches",
                           "--plan-dims", "--rank-order", "--from"})
    if (app.get_option(flag)->count() > 0)
      return std::string(flag) + ": --auto chooses it; leave one of them out";
  return "";
}

int parseFlags(int argc, char **argv, Flags &flags) {
  CLI::App app(kDescription, "shardc");
  app.footer(kExitCodes);
  for (const Degree &degree : kDegrees)
    flags.degrees.emplace(degree.axis, 1);
  app.set_version_flag("--version", "shardc 0.1");
  DimTexts dims;
  const std::vector<std::string> phases = {"raw",     "imported",    "sharded",
                                           "staged",  "partitioned", "lowered",
                                           "packaged"};
  app.add_option("model", flags.model,
                 "The model: .onnx, or .mlir that --to printed");
  app.add_option("-o,--output", flags.output,
                 "Folder to write the artifact to");
  addPlanFlags(app, flags, dims);
  app.add_option("--topology", flags.topology,
                 "What the ranks run on, h100:16x8 or a JSON file of nodes, "
                 "devices and links: --explain then says which links are used, "
                 "and for how long");
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
  app.add_option("--dims", dims.dims,
                 "Sizes for --explain, for example batch=1,seq=128");
  app.add_option("--to", flags.to, "Print the module after this phase and stop")
      ->check(CLI::IsMember(phases));
  app.add_option("--from", flags.from,
                 "The phase of a .mlir model (default raw)")
      ->check(CLI::IsMember(
          std::vector<std::string>(phases.begin(), phases.end() - 1)));
  app.add_option("--dump-dir", flags.dumpDir,
                 "Write the module after each phase to this folder");
  app.add_option("--reproducer", flags.reproducer,
                 "Where to write what makes a pass fail");
  app.add_flag("--auto", flags.isAutomatic,
               "Choose the degrees for --topology and --dims, as shardc plan "
               "does");
  addGoal(app, flags);
  CLI::App *plan = addPlan(app, flags, dims);
  CLI::App *check = app.add_subcommand(
      "check", "Report everything that is unsupported or serves badly");
  check->add_option("model", flags.model, "The model: .onnx")->required();
  check->add_flag("--json", flags.json, "Print JSON");
  check->footer("Exit status: 0 the model compiles, 2 wrong flags, 3 it does "
                "not.");
  CLI::App *verify = addVerify(app, flags, dims);
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
    std::cerr << "error: " << error.what() << "; see shardc --help\n";
    return 2;
  }
  flags.check = check->parsed();
  flags.plan = plan->parsed();
  flags.verify = verify->parsed();
  if (flags.check)
    return -1;
  std::string problem = parseDims("--dims", dims.dims, flags.dims);
  if (flags.plan && problem.empty())
    return -1;
  if (problem.empty() && flags.isAutomatic)
    problem = checkAutomatic(app, flags);
  if (problem.empty())
    problem = parseDims("--plan-dims", dims.planDims, flags.planDims);
  if (problem.empty())
    problem = collectAxes(flags);
  if (flags.model.empty())
    problem = "model is required; see shardc --help";
  else if (!flags.verify && flags.output.empty() && flags.to.empty() &&
           flags.dumpDir.empty() && !flags.explain && flags.explainJson.empty())
    problem = "nothing to do: give -o FOLDER, --explain, --to PHASE or "
              "--dump-dir FOLDER";
  auto phaseIndex = [&](const std::string &phase) {
    return std::find(phases.begin(), phases.end(), phase) - phases.begin();
  };
  if (problem.empty() && !flags.from.empty() && !flags.to.empty() &&
      phaseIndex(flags.to) < phaseIndex(flags.from))
    problem = "--to " + flags.to + " comes before --from " + flags.from;
  if (problem.empty() && !flags.from.empty() && flags.from != "raw" &&
      std::filesystem::path(flags.model).extension() != ".mlir")
    problem =
        "--from " + flags.from + ": expected a .mlir file that --to printed";
  if (problem.empty() && flags.from == "lowered" &&
      (flags.explain || !flags.explainJson.empty()))
    problem = "--explain: a lowered program no longer says what it sends; use "
              "--from partitioned, or what comes before it";
  std::error_code ignored;
  for (const auto &[flag, path] :
       {std::pair("--explain-json", flags.explainJson),
        {"--reproducer", flags.reproducer},
        {"-o", flags.output}})
    if (problem.empty() && !path.empty() &&
        std::filesystem::equivalent(path, flags.model, ignored))
      problem = std::string(flag) + " " + path + ": is the model itself";
  if (problem.empty()) {
    warnOfIdleFlags(app, *verify, flags);
    return -1;
  }
  std::cerr << "error: " << problem << "\n";
  return 2;
}

} // namespace shardc
