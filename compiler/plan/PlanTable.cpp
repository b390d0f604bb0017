//===- PlanTable.cpp - Ranked degrees for people and for programs ---------===//

#include "compiler/plan/PlanTable.h"

#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <cctype>

using Json = nlohmann::json;

namespace shardc {

/// More lines nobody reads; --json has all.
static constexpr size_t kLines = 12;

static std::string percent(double part, double whole) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.0f %%", whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

static std::string format(const char *pattern, double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(pattern, number);
  return text;
}

static std::string planDimsText(const PlanRequest &request,
                                const PlanAnswer &answer) {
  std::string text;
  for (const auto &[name, size] : planDimsOf(request, answer))
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(size);
  return text;
}

/// As a shell takes it: flags are pasted.
static std::string shellWord(const std::string &text) {
  if (llvm::all_of(text, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) ||
               llvm::StringRef("_./:,=-+@%").contains(c);
      }))
    return text;
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

static std::string flagsForSizes(const PlanRequest &request,
                                 const PlanAnswer &answer) {
  return "--topology " + shellWord(request.topology) + " --plan-dims " +
         shellWord(planDimsText(request, answer));
}

/// How the model is imported, before the degrees.
static std::string flagsOfImport(const PlanRequest &request) {
  std::string weights = request.bitwise ? "--bitwise " : "";
  if (!request.weightsType.empty())
    weights += "--weights-type " + request.weightsType +
               (request.weightsGroup == 32
                    ? " "
                    : ":" + std::to_string(request.weightsGroup) + " ");
  if (request.page == 0)
    return weights;
  return weights +
         (request.page == 64
              ? std::string("--serve ")
              : "--serve=" + std::to_string(request.page) + " ") +
         (request.kvType.empty() ? "" : "--kv-type " + request.kvType + " ");
}

static std::string reasonOf(const plan::Candidate &candidate) {
  return candidate.reason + (candidate.forSizes ? "; for these sizes" : "");
}

/// The cells of a candidate, as the header names them.
static std::vector<std::string> cellsOf(const PlanRequest &request,
                                        const plan::Candidate &candidate) {
  const plan::Prediction &p = candidate.prediction;
  const plan::RunPrediction &run = p.main();
  if (p.training)
    return {candidate.degrees.flags(),
            format("%.1f", p.memory.total() / 1e9),
            format("%.1f", run.total * 1e3),
            format("%.0f", p.tokensPerSecond),
            percent(run.busy.communication, run.total),
            percent(run.bubble, run.total),
            candidate.reason};
  return {flagsOfImport(request) + candidate.degrees.flags(),
          format("%.1f", p.memory.total() / 1e9),
          format("%.1f", p.prompt.total * 1e3),
          p.step ? format("%.2f", p.step->total * 1e3) : "-",
          format("%.0f", p.tokensPerSecond),
          percent(run.busy.communication, run.total),
          percent(run.bubble, run.total),
          reasonOf(candidate)};
}

void printPlanTable(const PlanRequest &request, const PlanAnswer &answer,
                    llvm::raw_ostream &output) {
  output << request.model << " on " << request.topology << ":";
  for (auto [kind, dims] : llvm::zip(request.kinds, answer.dims)) {
    if (request.kinds.size() > 1)
      output << "\n  " << llvm::format("%g", kind.weight) << ":";
    for (const auto &[name, size] : dims)
      output << " " << name << "=" << size;
  }
  output << "\n\n";
  std::vector<std::vector<std::string>> lines = {
      {"flags", "GB/rank", "prompt ms", "step ms", "tokens/s", "comm.",
       "bubble", "why"}};
  if (request.training)
    lines.front() = {"flags", "GB/rank", "step ms", "tokens/s",
                     "comm.", "bubble",  "why"};
  for (const plan::Candidate &candidate : answer.candidates)
    if (lines.size() <= kLines)
      lines.push_back(cellsOf(request, candidate));
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  for (const auto &line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i)
      // Words to the left, numbers to the right.
      output << (i == 0 ? llvm::left_justify(line[i], widths[i])
                        : llvm::right_justify(line[i], widths[i]))
             << "  ";
    output << line.back() << "\n";
  }
  // Flags alone do not choose them.
  if (llvm::any_of(
          llvm::ArrayRef(answer.candidates).take_front(lines.size() - 1),
          [](const plan::Candidate &one) { return one.forSizes.has_value(); }))
    output << "for these sizes: --auto, or the flags with "
           << flagsForSizes(request, answer) << "\n";
  if (answer.candidates.size() > kLines)
    output << "and " << answer.candidates.size() - kLines
           << " more; --json FILE has all\n";
  if (!answer.remedy.empty())
    output << "\nnothing fits: " << answer.remedy << "\n";
}

static Json memoryOf(const plan::Prediction &prediction) {
  const plan::MemoryPrediction &memory = prediction.memory;
  Json json = {{"weights", int64_t(memory.weights)},
               {"activations", int64_t(memory.activations)},
               {"kv", int64_t(memory.kv)},
               {"buffers", int64_t(memory.buffers)},
               {"total", int64_t(memory.total())},
               {"limit", int64_t(prediction.limit)}};
  if (prediction.training) {
    json["gradients"] = int64_t(memory.gradients);
    json["optimizer"] = int64_t(memory.optimizer);
  }
  return json;
}

static Json trainingOf(const plan::Prediction &prediction) {
  const plan::RunPrediction &run = prediction.prompt;
  const plan::TrainingPrediction &training = *prediction.training;
  return {{"step", run.total},
          {"forward", training.forward},
          {"backward", training.backward},
          {"recomputation", training.recomputed},
          {"gradients", training.gradients},
          {"optimizer", training.optimizer},
          {"bubble", run.bubble},
          {"compute", run.busy.compute},
          {"read", run.busy.read},
          {"communication", run.busy.communication},
          {"micro_batches", training.microBatches},
          {"layer",
           {{"forward", training.layerForward},
            {"backward", training.layerBackward},
            {"recomputation", training.layerRecomputed}}}};
}

static Json secondsOf(const plan::Prediction &prediction) {
  if (prediction.training)
    return trainingOf(prediction);
  const plan::RunPrediction &run = prediction.main();
  return {{"prefill", prediction.prompt.total},
          {"decode", prediction.step ? Json(prediction.step->total) : Json()},
          {"compute", run.busy.compute},
          {"read", run.busy.read},
          {"communication", run.busy.communication},
          {"bubble", run.bubble}};
}

Json jsonOf(const PlanRequest &request, const PlanAnswer &answer,
            const plan::Candidate &candidate) {
  const plan::Degrees &d = candidate.degrees;
  const dist::Mesh mesh = d.mesh();
  Json order = Json::array();
  for (const dist::Axis &axis : llvm::reverse(mesh.axes))
    if (axis.size > 1)
      order.push_back(axis.name);
  Json json = {
      {"mesh",
       {{"dp", d.dp},
        {"pp", d.pp},
        {"cp", d.cp},
        {"ep", d.ep},
        {"tp", d.tp},
        {"fsdp", d.fsdp}}},
      {"rank_order", std::move(order)},
      {"sp", d.sequenceParallel},
      {"micro_batches", d.microBatches},
      {"flags",
       flagsOfImport(request) + d.flags() +
           (candidate.forSizes ? " " + flagsForSizes(request, answer) : "")},
      {"fits", candidate.prediction.fits()},
      {"memory", memoryOf(candidate.prediction)},
      {"seconds", secondsOf(candidate.prediction)},
      {"tokens_per_second", candidate.prediction.tokensPerSecond},
      {"reason", candidate.reason}};
  if (candidate.forSizes && !candidate.forSizes->splits.factors.empty()) {
    const plan::ChosenSplits &splits = candidate.forSizes->splits;
    json["splits"] = {{"share", splits.share},
                      {"plans_tried", splits.numTried},
                      {"is_best", splits.isExact},
                      {"least_share", splits.leastShare}};
  }
  for (const auto &[axis, shares] : d.shares)
    json["shares"][axis] = shares;
  return json;
}

std::map<std::string, int64_t> planDimsOf(const PlanRequest &request,
                                          const PlanAnswer &answer) {
  std::map<std::string, int64_t> dims = answer.dims[answer.typicalKind];
  if (request.page > 0 && dims["past"] > 0)
    dims.erase("seq");
  return dims;
}

const char *goalName(plan::Goal goal) {
  static constexpr const char *kGoals[] = {"latency", "throughput", "fit"};
  return kGoals[size_t(goal)];
}

void printPlanJson(const PlanRequest &request, const PlanAnswer &answer,
                   llvm::raw_ostream &output) {
  Json json = {
      {"model", request.model},         {"topology", request.topology},
      {"goal", goalName(request.goal)}, {"dims", answer.dims.front()},
      {"candidates", Json::array()},    {"seconds_to_plan", answer.seconds}};
  if (request.page > 0)
    json["serve"] = {{"page", request.page}, {"kv_type", request.kvType}};
  if (!answer.remedy.empty())
    json["remedy"] = answer.remedy;
  if (request.kinds.size() > 1)
    for (auto [kind, dims] : llvm::zip(request.kinds, answer.dims))
      json["mix"].push_back({{"weight", kind.weight}, {"dims", dims}});
  for (const plan::Candidate &candidate : answer.candidates)
    json["candidates"].push_back(jsonOf(request, answer, candidate));
  output << json.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
}

} // namespace shardc
