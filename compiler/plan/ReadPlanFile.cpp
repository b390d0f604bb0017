//===- ReadPlanFile.cpp - A plan that was saved ---------------------------===//

#include "compiler/plan/ReadPlanFile.h"

#include "dialects/dist/algebra/Shares.h"
#include "passes/plan/ContextAttention.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc {

static constexpr char kFormat[] = "shardc plan 1";

static constexpr int64_t kMaxRanks = 65536;

static constexpr int kMostDepth = 16;

/// "" or what is wrong with the shares of an axis.
static std::string readShares(const Json &list, dist::Axis &axis) {
  llvm::SmallVector<int64_t> shares;
  if (list.is_array())
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
    if (!axis.is_object() || !axis.contains("name") || !axis.contains("size") ||
        !axis["name"].is_string() || !axis["size"].is_number_integer())
      return "\"mesh\" has an axis without \"name\" or \"size\"";
    const std::string name = axis["name"].get<std::string>();
    if (name.empty() || mesh.find(name))
      return "\"mesh\" has an axis twice, or one without a name";
    mesh.axes.push_back(
        {axis["name"].get<std::string>(), axis["size"].get<int64_t>()});
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
  if (isFolder && plan.is_object())
    plan = plan.value("plan", Json());
  return readPlan(plan, options);
}

std::string readPlan(const Json &plan, CompileOptions &options) {
  auto isText = [&](const char *key) {
    return plan.contains(key) && plan[key].is_string();
  };
  if (!plan.is_object() || !isText("format") || plan["format"] != kFormat ||
      !isText("cp_mode") || !isText("ep_mode") || !plan.contains("mesh") ||
      !plan["mesh"].is_array())
    return std::string("is no plan of this version (\"format\": \"") + kFormat +
           "\"); write one with --save-plan";
  if (std::string problem = readMesh(plan["mesh"], options.mesh);
      !problem.empty())
    return problem;
  const Json sp = plan.value("sp", Json(false)),
             parts = plan.value("micro_batches", Json(1));
  if (!sp.is_boolean() || !parts.is_number_integer() ||
      parts.get<int64_t>() < 1 || parts.get<int64_t>() > kMaxRanks)
    return "\"sp\" is no truth value, or \"micro_batches\" no number from 1 on";
  options.sequenceParallel = sp.get<bool>();
  options.microBatches = parts.get<int64_t>();
  options.contextMode = plan["cp_mode"].get<std::string>();
  options.expertMode = plan["ep_mode"].get<std::string>();
  if (!plan::symbolizeContextMode(options.contextMode))
    return "\"cp_mode\" is \"" + options.contextMode +
           "\", expected ring, ulysses or gather";
  if (options.expertMode != "tensor" && options.expertMode != "batch")
    return "\"ep_mode\" is \"" + options.expertMode +
           "\", expected tensor or batch";
  options.plan = plan.dump(-1, ' ', false, Json::error_handler_t::replace);
  return "";
}

} // namespace shardc
