//===- ReadPlanFile.cpp - A plan that was saved ---------------------------===//

#include "compiler/plan/ReadPlanFile.h"

#include "dialects/dist/algebra/Shares.h"
#include "passes/plan/ContextAttention.h"
#include "passes/plan/PlanEntry.h"
#include "passes/plan/machine/ReadMachine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc {

static constexpr char kFormat[] = "shardc plan 1";

using Kind = plan::EntryKey::Kind;
static constexpr plan::EntryKey kPlanKeys[] = {{"format", Kind::Text, true},
                                               {"mesh", Kind::List, true},
                                               {"sp", Kind::Truth},
                                               {"micro_batches", Kind::Number},
                                               {"cp_mode", Kind::Text, true},
                                               {"ep_mode", Kind::Text, true},
                                               {"programs", Kind::Object, true},
                                               {"cuts", Kind::Object},
                                               {"stages", Kind::Object},
                                               {"machine", Kind::Object},
                                               {"plan_dims", Kind::Object},
                                               {"overlap", Kind::Text},
                                               {"page", Kind::Number},
                                               {"kv_type", Kind::Text},
                                               {"bitwise", Kind::Truth},
                                               {"weights_type", Kind::Text},
                                               {"weights_group", Kind::Number}};
static constexpr plan::EntryKey kAxisKeys[] = {{"name", Kind::Text, true},
                                               {"size", Kind::Number, true},
                                               {"shares", Kind::List}};

static constexpr int64_t kMaxRanks = 65536;

static constexpr int kMostDepth = 16;

/// "" or what is wrong with the shares of an axis.
static std::string readShares(const Json &list, dist::Axis &axis) {
  llvm::SmallVector<int64_t> shares;
  for (const Json &share : list)
    shares.push_back(share.is_number_integer() ? share.get<int64_t>() : 0);
  if (std::string problem = dist::problemOfShares(shares, axis);
      !problem.empty())
    return "\"shares\": " + problem;
  axis.shares = dist::reducedShares(shares);
  return "";
}

static std::string readMesh(const Json &axes, dist::Mesh &mesh) {
  mesh.axes.clear();
  for (const Json &axis : axes) {
    if (std::string wrong = plan::checkEntry(axis, kAxisKeys); !wrong.empty())
      return "an axis of \"mesh\" " + wrong;
    const std::string name = axis["name"].get<std::string>();
    if (name.empty() || mesh.find(name))
      return "\"mesh\" has an axis twice, or one without a name";
    mesh.axes.push_back({name, axis["size"].get<int64_t>()});
    if (mesh.axes.back().size < 1 || mesh.axes.back().size > kMaxRanks ||
        mesh.numRanks() > kMaxRanks)
      return "\"mesh\" has more than " + std::to_string(kMaxRanks) +
             " ranks, or none";
    if (axis.contains("shares"))
      if (std::string problem = readShares(axis["shares"], mesh.axes.back());
          !problem.empty())
        return problem;
  }
  return mesh.axes.empty() ? "\"mesh\" has no axes" : "";
}

std::string readPlanFile(const std::string &path, CompileOptions &options) {
  const bool isFolder = llvm::sys::fs::is_directory(path);
  auto text =
      llvm::MemoryBuffer::getFile(isFolder ? path + "/manifest.json" : path);
  if (!text)
    return "cannot be read: " + text.getError().message();
  // Nothing in it lies deep; what does is left out.
  auto isShallow = [](int depth, Json::parse_event_t, Json &) {
    return depth < kMostDepth;
  };
  Json plan = Json::parse((*text)->getBuffer(), isShallow,
                          /*allow_exceptions=*/false);
  options.planName = "--load-plan " + path;
  if (isFolder && plan.is_object())
    plan = plan.value("plan", Json());
  return readPlan(plan, options);
}

/// "" or which entry of "stages" is none: a number by node.
static std::string checkStages(const Json &stages, const dist::Mesh &mesh) {
  const dist::Axis *pipeline = mesh.find(dist::kPipelineAxis);
  const int64_t numStages = pipeline ? pipeline->size : 1;
  for (const auto &[node, stage] : stages.items())
    if (!stage.is_number_integer() || stage.get<int64_t>() < 0 ||
        stage.get<int64_t>() >= numStages)
      return "\"stages\": " + node + ": is in stage " + stage.dump() +
             ", expected one of 0 to " + std::to_string(numStages - 1);
  return "";
}

/// As flags have it.
static std::string rowsText(int64_t page, const std::string &kvType) {
  return page == 0 ? "no --serve"
                   : "--serve=" + std::to_string(page) +
                         (kvType.empty() ? "" : " --kv-type " + kvType);
}

static std::string weightsText(const std::string &type, int64_t group) {
  if (type.empty())
    return "no --weights-type";
  return "--weights-type " + type +
         (type[0] == 'i' ? ":" + std::to_string(group) : "");
}

static std::string bitwiseText(bool isBitwise) {
  return isBitwise ? "--bitwise" : "no --bitwise";
}

/// "" or how what the plan is of is imported in another way than flags ask for:
/// its nodes, weights and rules are others.
static std::string checkImport(const Json &plan,
                               const CompileOptions &options) {
  const std::string ways[][2] = {
      {rowsText(plan.value("page", int64_t(0)),
                plan.value("kv_type", std::string())),
       rowsText(options.page, options.kvType)},
      {weightsText(plan.value("weights_type", std::string()),
                   plan.value("weights_group", int64_t(0))),
       weightsText(options.weightsType, options.weightsGroup)},
      {bitwiseText(plan.value("bitwise", false)),
       bitwiseText(options.bitwise)}};
  for (const auto &[of, asked] : ways)
    if (of != asked)
      return "was made with " + of + ", and this is with " + asked +
             "; give the same, or leave --load-plan out";
  return "";
}

/// What choices behind the plan are made for.
static std::string readCircumstances(const Json &plan,
                                     CompileOptions &options) {
  if (plan.contains("machine")) {
    options.planMachine = plan["machine"].dump();
    plan::Machine machine;
    if (std::string problem = plan::parseMachine(options.planMachine, machine);
        !problem.empty())
      return "\"machine\": " + problem;
    if (machine.numDevices() < options.mesh.numRanks())
      return "\"machine\" has " + std::to_string(machine.numDevices()) +
             " devices, \"mesh\" " + std::to_string(options.mesh.numRanks()) +
             " ranks";
  }
  const Json sizes = plan.value("plan_dims", Json::object());
  if (!sizes.empty() && !options.planDims.empty())
    return "has \"plan_dims\"; leave --plan-dims out";
  for (const auto &[name, size] : sizes.items()) {
    if (!size.is_number_integer() || size.get<int64_t>() < 0)
      return "\"plan_dims\": " + name + " is " + size.dump() +
             ", expected a size";
    options.planDims[name] = size.get<int64_t>();
  }
  const std::string overlap = plan.value("overlap", std::string("auto"));
  int parts = 0;
  if (overlap != "auto" && overlap != "off" &&
      (llvm::StringRef(overlap).getAsInteger(10, parts) || parts < 1 ||
       parts > 99))
    return "\"overlap\" is \"" + overlap +
           "\", expected auto, off or a number from 1 to 99";
  if (options.overlap == "auto") // else a flag says otherwise
    options.overlap = overlap;
  return "";
}

std::string readPlan(const Json &plan, CompileOptions &options) {
  if (!plan.is_object() || plan.value("format", Json()) != kFormat)
    return std::string("is no plan of this version (\"format\": \"") + kFormat +
           "\"); write one with --save-plan";
  if (std::string wrong = plan::checkEntry(plan, kPlanKeys); !wrong.empty())
    return wrong;
  if (std::string problem = checkImport(plan, options); !problem.empty())
    return problem;
  if (std::string problem = readMesh(plan["mesh"], options.mesh);
      !problem.empty())
    return problem;
  if (std::string problem =
          checkStages(plan.value("stages", Json::object()), options.mesh);
      !problem.empty())
    return problem;
  options.sequenceParallel = plan.value("sp", false);
  options.microBatches = plan.value("micro_batches", int64_t(1));
  if (options.microBatches < 1 || options.microBatches > kMaxRanks)
    return "\"micro_batches\" is " + plan["micro_batches"].dump() +
           ", expected 1 to " + std::to_string(kMaxRanks);
  options.contextMode = plan["cp_mode"].get<std::string>();
  options.expertMode = plan["ep_mode"].get<std::string>();
  if (!plan::symbolizeContextMode(options.contextMode))
    return "\"cp_mode\" is \"" + options.contextMode +
           "\", expected ring, ulysses or gather";
  if (options.expertMode != "tensor" && options.expertMode != "batch")
    return "\"ep_mode\" is \"" + options.expertMode +
           "\", expected tensor or batch";
  if (std::string problem = readCircumstances(plan, options); !problem.empty())
    return problem;
  options.plan = plan.dump(-1, ' ', false, Json::error_handler_t::replace);
  return "";
}

} // namespace shardc
