//===- PlanFlags.cpp - Flags that make a plan -----------------------------===//

#include "tools/shardc/PlanFlags.h"

#include "tools/shardc/Readers.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace shardc {

namespace {

/// Major to minor over ranks, unless --rank-order says otherwise.
struct Degree {
  const char *axis;
  const char *help;
};
constexpr Degree kDegrees[] = {
    {"dp", "Replicas; requests are spread over them"},
    {"pp", "Stages of a pipeline"},
    {"fsdp",
     "Ways of sharing out weights: each rank computes on rows of its own "
     "and gathers a layer's weights ahead of it"},
    {"cp", "Ways of context parallelism: each holds a part of the sequence"},
    {"ep", "Ways of expert parallelism"},
    {"tp", "Ways of tensor parallelism"},
};

using Names = std::vector<std::string>;

bool contains(const Names &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Innermost first, as --rank-order has them.
Names allAxes() {
  Names names;
  for (const Degree &degree : kDegrees)
    names.insert(names.begin(), degree.axis);
  return names;
}

std::string wrongOrder(const Flags &flags, const std::string &what) {
  std::string names;
  for (const std::string &name : allAxes())
    names += (names.empty() ? "" : ",") + name;
  return "--rank-order " + flags.rankOrder + ": " + what +
         "; expected each axis once, innermost first, for example " + names;
}

/// The axes that --rank-order names, innermost first; or what is wrong.
std::string readNamedOrder(const Flags &flags, Names &order) {
  std::stringstream list(flags.rankOrder);
  for (std::string name; std::getline(list, name, ',');) {
    if (!contains(allAxes(), name))
      return wrongOrder(flags, "there is no axis \"" + name + "\"");
    if (contains(order, name))
      return wrongOrder(flags, "\"" + name + "\" comes twice");
    order.push_back(name);
  }
  return "";
}

/// All axes, innermost first; or what is wrong. --rank-order may leave out those
/// of one way.
std::string readRankOrder(const Flags &flags, Names &order) {
  if (std::string problem = readNamedOrder(flags, order); !problem.empty())
    return problem;
  for (const std::string &name : allAxes())
    if (!contains(order, name)) {
      if (!flags.rankOrder.empty() && flags.degrees.at(name) != 1)
        return wrongOrder(flags, "\"" + name + "\" has " +
                                     std::to_string(flags.degrees.at(name)) +
                                     " ways and no place");
      order.push_back(name);
    }
  return "";
}

} // namespace

std::string collectAxes(Flags &flags) {
  int64_t ranks = 1;
  Names order;
  // Of planning, ways are not known yet: what is not named finds its place.
  const bool plans = flags.command == Command::Plan || flags.isAutomatic;
  const std::string problem = plans ? readNamedOrder(flags, flags.fixedOrder)
                                    : readRankOrder(flags, order);
  if (!problem.empty())
    return problem;
  if (plans)
    order = allAxes();
  std::reverse(order.begin(), order.end());
  for (const std::string &name : order) {
    const int64_t ways = flags.degrees[name];
    const std::string flag = "--" + name + " " + std::to_string(ways);
    if (ways < 1)
      return flag + ": expected at least 1; use --" + name + " 1 or more";
    if (ways > 1 || name == "tp")
      flags.axes.push_back({name, ways});
    if (ways > kMaxRanks / ranks)
      return flag + ": more than " + std::to_string(kMaxRanks) +
             " ranks in all";
    ranks *= ways;
  }
  return "";
}

std::string parseDims(const std::string &flag, const std::string &text,
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

std::string parseMix(const DimTexts &dims, Flags &flags) {
  if (!dims.mix.empty() && !dims.dims.empty())
    return "--dims: --mix has the sizes of requests; leave one of them out";
  for (const std::string &text : dims.mix) {
    const size_t colon = text.find(':');
    char *end = nullptr;
    const double weight = std::strtod(text.c_str(), &end);
    if (colon == std::string::npos || colon == 0 ||
        end != text.c_str() + colon || !(weight > 0) || weight > 1e12)
      return "--mix " + text +
             ": expected WEIGHT:DIMS, for example 3:batch=32,seq=1024";
    auto &kind = flags.mix.emplace_back();
    kind.first = weight;
    if (std::string problem =
            parseDims("--mix", text.substr(colon + 1), kind.second);
        !problem.empty())
      return problem;
  }
  return "";
}

void addDegrees(CLI::App &app, Flags &flags) {
  const ReadBy reader(app, Reader::Mesh);
  for (const Degree &degree : kDegrees) {
    int64_t &ways = flags.degrees.try_emplace(degree.axis, 1).first->second;
    app.add_option("--" + std::string(degree.axis), ways, degree.help);
  }
  app.add_option(
         "--shares", flags.shares,
         "Unequal parts for the ranks of an axis: 3,1 of the axis with "
         "two ways, tp=3,1 where several have two, or auto: by how fast "
         "the devices of --topology are")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

static void addMesh(CLI::App &app, Flags &flags) {
  addDegrees(app, flags);
  const ReadBy reader(app, Reader::Mesh);
  app.add_option("--rank-order", flags.rankOrder,
                 "Axes by how near their ranks are numbered, innermost first "
                 "(default tp,ep,cp,fsdp,pp,dp)");
  app.add_option("--micro-batches", flags.microBatches,
                 "With --pp: parts of a request's batch that are in the "
                 "pipeline at once (default 1)")
      ->check(CLI::Range(int64_t{1}, kMaxRanks));
}

static void addPlan(CLI::App &app, Flags &flags) {
  const ReadBy reader(app, Reader::Plan);
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
  app.add_option("--pin", flags.pins,
                 "NODE=SHARDING: how the first result of a node, or a weight, "
                 "is split whatever the search would do, for example "
                 "'lm_head.weight=[{}, {tp}]'")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--annotations", flags.annotations,
                 "Of a model with multi-device annotations: the configuration "
                 "to take (default: the first that fits the degrees, or gives "
                 "them where there are no flags), or none");
  app.add_option(
      "--load-plan", flags.loadPlan,
      "A plan that --save-plan wrote, or an artifact has, in place of "
      "degrees and a search");
}

void addServing(CLI::App &app, Flags &flags) {
  const ReadBy reader(app, Reader::Import);
  CLI::Option *serve =
      app.add_flag("--serve{64}", flags.page,
                   "Compile a step for rows of any sequences at any lengths, "
                   "with keys and values in pages of 64 positions, or of "
                   "--serve=N, in place of requests")
          ->disable_flag_override(false)
          ->check(CLI::Range(int64_t{1}, int64_t{65536}));
  app.add_option("--kv-type", flags.kvType,
                 "Keys and values of --serve are kept in 8 bits, with a scale "
                 "for each head of each position: int8, or f8 (e4m3)")
      ->check(CLI::IsMember({"int8", "f8"}))
      ->needs(serve);
}

void addNoProgress(CLI::App &app, Flags &flags) {
  app.add_flag("--no-progress", flags.noProgress,
               "Show no progress on a terminal, as SHARDC_PROGRESS=0");
}

/// int4:64 is in groups of 64.
static std::string readWeightsType(const std::string &text, Flags &flags) {
  const size_t colon = text.find(':');
  flags.weightsType = text.substr(0, colon);
  const bool isKnown =
      flags.weightsType == "int4" || flags.weightsType == "int8" ||
      flags.weightsType == "fp8" || flags.weightsType == "bf16";
  if (!isKnown)
    return text + ": expected int4, int8, fp8 or bf16";
  if (colon == std::string::npos)
    return "";
  if (flags.weightsType[0] != 'i')
    return text + ": only int4 and int8 have groups; leave it out";
  const std::string group = text.substr(colon + 1);
  for (const int64_t size : {16, 32, 64, 128, 256})
    if (group == std::to_string(size)) {
      flags.weightsGroup = size;
      return "";
    }
  return text + ": expected groups of 16, 32, 64, 128 or 256";
}

void addWeightsType(CLI::App &app, Flags &flags) {
  const ReadBy reader(app, Reader::Import);
  app.add_option_function<std::string>(
      "--weights-type",
      [&flags](const std::string &text) {
        if (std::string problem = readWeightsType(text, flags);
            !problem.empty())
          throw CLI::ValidationError("--weights-type", problem);
      },
      "Quantise the weights of products: int4 or int8, with a scale for each "
      "32 "
      "features, or int4:64 and the like; fp8 (e4m3), with one for each "
      "result; "
      "bf16: round those of f32. What is computed keeps the model's types");
}

void addBitwise(CLI::App &app, Flags &flags) {
  const ReadBy reader(app, Reader::Import);
  app.add_flag(
      "--bitwise", flags.bitwise,
      "The same bits whatever the degrees, on the host: no ranks share "
      "out a sum, matrices are split by columns alone, and kernels add "
      "up in one order. Ranks exchange more; --explain says how much");
}

static void addImport(CLI::App &app, Flags &flags) {
  addServing(app, flags);
  addWeightsType(app, flags);
  addBitwise(app, flags);
  const ReadBy reader(app, Reader::Import);
  app.add_flag("--no-recovery", flags.noRecovery,
               "Keep norms, attention and the like as the exporter spelled "
               "them, to compare");
  app.add_option(
         "--precision", flags.precision,
         "model: compute in the model's types (default); f64: in double "
         "precision, to tell mistakes from rounding")
      ->check(CLI::IsMember({"model", "f64"}));
  app.add_option(
         "--compute", flags.compute,
         "What products with constant weights compute in, on the host: model: "
         "its own types (default); bf16: weights of f32 and f16 are kept in 16 "
         "bits, and both operands rounded, with sums in f32; where that makes "
         "the "
         "processor faster, quantised weights (kept as they are) and attention "
         "of many queries, too; int8: of "
         "products with quantised weights the other operand is rounded to 8 "
         "bits in blocks, as accuracy_level 4 says it")
      ->check(CLI::IsMember({"model", "bf16", "int8"}));
}

std::string checkBitwise(const CLI::App &app, Flags &flags) {
  if (!flags.bitwise)
    return "";
  if (flags.target != "host")
    return "--bitwise: libraries of --target " + flags.target +
           " add up in orders of their own; leave one of them out";
  if (!flags.emit.empty())
    return "--bitwise: no node of ONNX says it, so --emit " + flags.emit +
           " cannot; leave one of them out";
  const CLI::Option *context = app.get_option_no_throw("--cp-mode");
  const bool isGiven = context && context->count() > 0;
  if (isGiven && context->as<std::string>() == "ring")
    return "--bitwise: in a ring each rank sees the keys in an order of its "
           "own; "
           "use --cp-mode gather or ulysses";
  if (!isGiven)
    flags.contextMode = "gather";
  return "";
}

std::string checkCompute(const Flags &flags) {
  if (!flags.weightsType.empty() && flags.emit == "annotated-onnx")
    return "--weights-type " + flags.weightsType +
           ": --emit annotated-onnx writes the model as it is; leave one of "
           "them out";
  if (flags.compute == "model")
    return "";
  const std::string given = "--compute " + flags.compute;
  if (flags.precision == "f64")
    return given + ": --precision f64 rounds nothing; leave one of them out";
  if (flags.target != "host")
    return given + ": is for kernels of the host, and --target " +
           flags.target + " has others; leave one of them out";
  if (!flags.emit.empty())
    return given + ": no node of ONNX says it, so --emit " + flags.emit +
           " cannot; leave one of them out";
  return "";
}

static void addProgram(CLI::App &app, Flags &flags) {
  const ReadBy reader(app, Reader::Program);
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
  app.add_option("--kernels", flags.kernels,
                 "Between library calls: generated: native code for this model "
                 "(default); reference: the runtime's own kernels, one an op")
      ->check(CLI::IsMember({"generated", "reference"}));
}

void addPlanFlags(CLI::App &app, Flags &flags, DimTexts &dims) {
  addMesh(app, flags);
  addPlan(app, flags);
  addProgram(app, flags);
  addImport(app, flags);
  const ReadBy reader(app, Reader::Request);
  app.add_option("--plan-dims", dims.planDims,
                 "Sizes of a typical request, for choices by cost, for example "
                 "batch=32,seq=1024; any size still runs");
}

void addPlanning(CLI::App &app, Flags &flags, DimTexts &dims) {
  app.add_option("--mix", dims.mix,
                 "Of planning: WEIGHT:DIMS, a kind of request and how many "
                 "there are of it beside others, for example --mix "
                 "3:batch=32,seq=1024,past=8192 --mix 1:seq=16384; in place "
                 "of --dims")
      ->take_all()
      ->expected(1);
  app.add_option(
      "--report", flags.report,
      "A page for browsers with the plan on the machine, its stages, "
      "memory, a layer and the alternatives, to a file; needs "
      "--topology");
  app.add_option("--goal", flags.goal,
                 "Of planning: throughput: the most tokens a second for each "
                 "device (default); latency: the shortest step, or prompt "
                 "where the model has no caches; fit: the fewest devices")
      ->check(CLI::IsMember({"latency", "throughput", "fit"}));
}

void addTraining(CLI::App &app, TrainingFlags &flags) {
  CLI::Option *training = app.add_flag(
      "--training", flags.isOn,
      "Predict steps of training on --dims batch=SEQUENCES,seq=POSITIONS, as "
      "arithmetic of the forward graph; shardc compiles inference");
  auto add = [&](const char *name, auto &value, const char *help) {
    return app.add_option(name, value, help)->needs(training);
  };
  constexpr int64_t kMost = 1 << 20;
  add("--micro-batch", flags.microBatch,
      "Sequences that a replica works on at a time (default 1)")
      ->check(CLI::Range(int64_t{1}, kMost));
  add("--recompute", flags.recompute,
      "What is computed again for the backward pass instead of being kept: "
      "none (default); selective: scores of attention; full: layers")
      ->check(CLI::IsMember({"none", "selective", "full"}));
  add("--interleave", flags.interleave,
      "Chunks of layers that each stage of a pipeline has (default 1)")
      ->check(CLI::Range(int64_t{1}, kMost));
  add("--zero", flags.zeroStage,
      "What replicas share out: 0 nothing (default), 1 the optimizer's state, "
      "2 "
      "and gradients, 3 and weights")
      ->check(CLI::Range(0, 3));
  add("--gradient-bits", flags.gradientBits,
      "Of gradients that are summed over micro-batches and replicas: 16 "
      "(default) "
      "or 32")
      ->check(CLI::IsMember({16, 32}));
  add("--attention", flags.attention,
      "fused: one kernel, scores stay in registers (default); unfused: scores "
      "are written and read, by products and softmax")
      ->check(CLI::IsMember({"fused", "unfused"}));
  app.add_flag(
         "--dropout", flags.hasDropout,
         "Drop out of attention's scores and what residuals add: masks are "
         "written, read and kept")
      ->needs(training);
  add("--layer-overlap", flags.overlapsLayers,
      "on (default): collectives of gradients inside layers run beside "
      "products "
      "with gradients of weights; off: behind them")
      ->check(CLI::IsMember({"on", "off"}));
  add("--replica-overlap", flags.overlapsReplicas,
      "on (default): sums of gradients over replicas run beside the last "
      "backward pass; off: behind it")
      ->check(CLI::IsMember({"on", "off"}));
  for (const char *flag :
       {"--report", "--mix", "--micro-batches", "--serve", "--bitwise"})
    training->excludes(app.get_option(flag));
}

std::string checkLoadedPlan(const CLI::App &app, const Flags &flags) {
  if (flags.loadPlan.empty())
    return "";
  for (const char *flag : {"--dp", "--pp", "--fsdp", "--cp", "--ep", "--tp",
                           "--rank-order", "--sp", "--cp-mode", "--ep-mode",
                           "--micro-batches", "--pin", "--shares", "--auto"})
    if (const CLI::Option *option = app.get_option_no_throw(flag);
        option && option->count() > 0)
      return std::string(flag) + ": --load-plan has it; leave one of them out";
  return "";
}

std::string checkAutomatic(const CLI::App &app, const Flags &flags) {
  if (flags.topology.empty())
    return "--auto: needs --topology, for example --topology h100:1x8";
  for (const char *flag : {"--ep-mode", "--plan-dims", "--from"})
    if (app.get_option(flag)->count() > 0)
      return std::string(flag) + ": --auto chooses it; leave one of them out";
  return "";
}

} // namespace shardc
