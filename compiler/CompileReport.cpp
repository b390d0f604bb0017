//===- CompileReport.cpp - What a compilation says of itself --------------===//

#include "compiler/CompileReport.h"

#include "compiler/FlagFile.h"
#include "compiler/package/MeshJson.h"
#include "dialects/onnx/QuantizedMatrix.h"
#include "dialects/onnx/ops/Attention.h"
#include "passes/plan/machine/ReadMachine.h"
#include "passes/shard/Passes.h"
#include "passes/stage/Passes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using Json = nlohmann::json;

namespace shardc {

static constexpr auto kReplaceBadText = Json::error_handler_t::replace;

/// Off the module.
static std::optional<Json> takeJson(ModuleOp module, StringRef attribute) {
  auto text = module->getAttrOfType<StringAttr>(attribute);
  if (!text)
    return std::nullopt;
  module->removeAttr(attribute);
  return Json::parse(text.getValue());
}

static Json jsonOf(const report::SymbolValues &sizes) {
  Json json = Json::object();
  for (const auto &size : sizes)
    json[size.getKey().str()] = size.getValue();
  return json;
}

/// As a file has it: "h100:2x8" is {"preset": "h100", "nodes": 2, ...}.
static Json machineJson(StringRef text) {
  if (!plan::isPreset(text))
    return Json::parse(text);
  plan::Machine machine;
  if (!plan::parseMachine(text, machine).empty())
    return Json::object(); // it was read before
  return {{"preset", text.split(':').first.str()},
          {"nodes", machine.nodes},
          {"devices_per_node", machine.devicesPerNode}};
}

void CompileReport::addWeightsType(ModuleOp module) {
  if (options.weightsType.empty())
    return;
  uint64_t before = 0, after = 0;
  const auto matrices = onnx::quantizedMatrices(module);
  for (const onnx::QuantizedMatrix &matrix : matrices) {
    before += matrix.length;
    after += matrix.dataBytes() + matrix.scaleBytes();
  }
  char share[16];
  std::snprintf(share, sizeof(share), "%.2f",
                before > 0 ? double(after) / double(before) : 1);
  addChoice("--weights-type " + options.weightsType + ": " +
            std::to_string(matrices.size()) + " weights of products take " +
            share + " of their bytes");
}

void CompileReport::addCompute(ModuleOp module) {
  if (options.compute.empty())
    return;
  int64_t products = 0, attentions = 0;
  module.walk([&](Operation *op) {
    const bool rounds =
        op->hasAttr("operand_bits") || op->hasAttr("activation_bits");
    (isa<onnx::AttentionOp>(op) ? attentions : products) += rounds;
  });
  std::string text =
      "--compute " + options.compute + ": " + std::to_string(products) +
      " products with constant weights round " +
      (options.compute == "bf16" ? "both operands to bf16"
                                 : "the other operand to 8 bits");
  if (attentions > 0 && !options.bitwise)
    text += ", and so do those of " + std::to_string(attentions) +
            " attentions, of more than 8 queries";
  addChoice(text);
}

/// "17 collectives, 901120 bytes on the wire a rank" of a profile.
static std::string sentBy(const Json &total) {
  std::string text = total.at("collectives").dump() + " collectives";
  const Json bytes = total.value("wire_bytes", Json());
  if (bytes.is_number())
    text += ", " + bytes.dump() + " bytes on the wire";
  if (const Json seconds = total.value("seconds", Json()); seconds.is_number())
    llvm::raw_string_ostream(text)
        << llvm::format(", %.1f us", seconds.get<double>() * 1e6);
  return text;
}

/// "; a run is predicted to take 1234.5 us, +7.0 % of that without", where both
/// are known.
static std::string predictedFor(const std::string &profile, const Json &report,
                                const Json &without) {
  const auto secondsOf = [&](const Json &of) {
    return of.value("predicted", Json::object()).value(profile, 0.0);
  };
  const double after = secondsOf(report), before = secondsOf(without);
  if (after <= 0 || before <= 0)
    return "";
  std::string text;
  llvm::raw_string_ostream(text)
      << "; a run is predicted to take "
      << llvm::format("%.1f us, %+.1f %% of that without", after * 1e6,
                      100 * (after / before - 1));
  return text;
}

void CompileReport::addBitwise(llvm::StringRef without) {
  const Json other = Json::parse(without, nullptr, /*allow_exceptions=*/false);
  for (const Json &total : report["totals"]) {
    const std::string profile = total.value("profile", "");
    for (const Json &same : other.value("totals", Json::array()))
      if (same.value("profile", "") == profile)
        addChoice("--bitwise: no sum is shared out" +
                  (profile.empty() ? "" : " (" + profile + ")") + ": " +
                  sentBy(total) + "; without it " + sentBy(same) +
                  // Unknown sizes have no seconds.
                  (total.value("seconds", Json()).is_number()
                       ? predictedFor(profile, report, other)
                       : ""));
  }
}

void CompileReport::takePlan(ModuleOp module, StringRef machine,
                             const report::SymbolValues &planDims) {
  if (std::optional<Json> found = takeJson(module, shard::kAlternativesAttr))
    report["alternatives"] = *found;
  if (std::optional<Json> found = takeJson(module, shard::kPredictedAttr))
    report["predicted"] = *found;
  std::optional<Json> taken = takeJson(module, shard::kPlanAttr);
  if (!taken)
    return;
  Json &plan = *taken;
  plan["format"] = "shardc plan 1";
  plan["sp"] = options.sequenceParallel;
  plan["micro_batches"] = options.microBatches;
  plan["cp_mode"] = options.contextMode;
  plan["mesh"] = package::meshJson(options.mesh);
  plan["overlap"] = options.overlap;
  if (options.bitwise)
    plan["bitwise"] = true;
  if (options.page > 0)
    plan["page"] = options.page;
  if (!options.kvType.empty())
    plan["kv_type"] = options.kvType;
  if (!options.weightsType.empty()) {
    plan["weights_type"] = options.weightsType;
    plan["weights_group"] = options.weightsGroup;
  }
  if (!machine.empty())
    plan["machine"] = machineJson(machine);
  if (!planDims.empty())
    plan["plan_dims"] = jsonOf(planDims);
  report["plan"] = plan;
}

void CompileReport::takeStages(ModuleOp module) {
  std::optional<Json> stages = takeJson(module, stage::kStagesAttr);
  if (stages && report.contains("plan")) // else the shardings were there before
    report["plan"].update(*stages);
}

ExitCode CompileReport::savePlan(llvm::raw_ostream &errors) const {
  if (options.savePlan.empty())
    return ExitCode::Done;
  auto write = [&](llvm::raw_ostream &file) {
    file << report.at("plan").dump(1, ' ', false, kReplaceBadText) << '\n';
  };
  return writeFlagFile("--save-plan", options.savePlan, write, errors);
}

void CompileReport::addPartitioned(ModuleOp module,
                                   const plan::Machine *machine) {
  report.update(
      report::explainPlan(module, dims, machine, layers ? &*layers : nullptr));
}

void CompileReport::addLowered(ModuleOp module) {
  report::explainMemory(module, dims, report);
  report::explainCaches(module, dims, report);
  report::explainOverlap(module, options.overlap, options.target, report);
}

void CompileReport::addSource(const std::string &machine) {
  report["source"] = {{"recover", options.recover},
                      {"doubles", options.doubles},
                      {"compute", options.compute},
                      {"bitwise", options.bitwise},
                      {"weights_type", options.weightsType},
                      {"weights_group", options.weightsGroup},
                      {"machine", machine}};
  if (options.page > 0)
    report["source"].update(
        {{"page", options.page}, {"kv_type", options.kvType}});
}

ExitCode CompileReport::tell(llvm::raw_ostream &output,
                             llvm::raw_ostream &errors) const {
  if (options.explain)
    report::printExplanation(report, output);
  if (options.explanation)
    *options.explanation = report.dump(-1, ' ', false, kReplaceBadText);
  if (options.explainJson.empty())
    return ExitCode::Done;
  auto write = [&](llvm::raw_ostream &file) {
    file << report.dump(1, ' ', false, kReplaceBadText) << '\n';
  };
  return writeFlagFile("--explain-json", options.explainJson, write, errors);
}

} // namespace shardc
