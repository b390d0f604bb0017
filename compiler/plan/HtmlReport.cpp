//===- HtmlReport.cpp - A plan on one page --------------------------------===//

#include "compiler/plan/HtmlReport.h"

#include "compiler/plan/PlanTable.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc {

static constexpr unsigned char kPage[] = {
#include "compiler/plan/HtmlReport.inc"
};

/// Where the data go.
static constexpr llvm::StringLiteral kPlace = "\"@DATA@\"";

/// More lines of the table nobody reads.
static constexpr size_t kAlternatives = 20;

static Json jsonOf(const plan::Seconds &seconds) {
  return {{"compute", seconds.compute},
          {"read", seconds.read},
          {"communication", seconds.communication}};
}

static Json stagesOf(const plan::Candidate &chosen) {
  Json stages = Json::array();
  for (const plan::StagePrediction &stage : chosen.prediction.stages)
    stages.push_back({{"prompt", jsonOf(stage.prompt)},
                      {"step", jsonOf(stage.step)},
                      {"weights", stage.memory.weights},
                      {"activations", stage.memory.activations},
                      {"kv", stage.memory.kv}});
  return stages;
}

/// What the page shows of the explanation.
static Json explained(const std::string &text) {
  Json explanation = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!explanation.is_object())
    return nullptr;
  Json shown = Json::object();
  for (const char *key : {"collectives", "transfers", "structures"})
    if (explanation.contains(key))
      shown[key] = explanation[key];
  return shown;
}

static Json kindsOf(const PlanRequest &request, const PlanAnswer &answer) {
  Json kinds = Json::array();
  for (auto [kind, dims] : llvm::zip(request.kinds, answer.dims))
    kinds.push_back({{"weight", kind.weight}, {"dims", dims}});
  return kinds;
}

void writeHtmlReport(const std::string &explanation, const PlanRequest &request,
                     const PlanAnswer &answer, llvm::raw_ostream &os) {
  Json data = {
      {"model", request.model},
      {"topology", request.topology},
      {"goal", goalName(request.goal)},
      {"kinds", kindsOf(request, answer)},
      {"machine",
       {{"nodes", answer.machine.nodes},
        {"devices_per_node", answer.machine.devicesPerNode},
        {"devices", Json::array()}}},
      {"layer", Json::parse(answer.layer.empty() ? "[]" : answer.layer)},
      {"explanation", explained(explanation)},
      {"candidates", Json::array()}};
  for (const plan::Device &device : answer.machine.devices)
    data["machine"]["devices"].push_back(device.name);
  if (answer.chosen) {
    data["chosen"] = jsonOf(request, answer, *answer.chosen);
    data["chosen"]["stages"] = stagesOf(*answer.chosen);
  }
  for (const plan::Candidate &candidate : answer.candidates)
    if (data["candidates"].size() < kAlternatives)
      data["candidates"].push_back(jsonOf(request, answer, candidate));
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Nothing in it may end the script.
  for (size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
    text.replace(at, 2, "<\\/");
  const llvm::StringRef page(reinterpret_cast<const char *>(kPage),
                             sizeof(kPage));
  const auto [before, after] = page.split(kPlace);
  os << before << text << after;
}

} // namespace shardc
