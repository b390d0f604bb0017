//===- MixPredictor.cpp - What several kinds of requests take together ----===//

#include "passes/plan/degrees/MixPredictor.h"

namespace shardc::plan {

MixPredictor::MixPredictor(llvm::ArrayRef<Workload> kinds,
                           const Machine &machine)
    : kinds(kinds) {
  for (const Workload &kind : kinds)
    predictors.emplace_back(kind, machine);
}

std::string MixPredictor::whyNot(const Degrees &degrees) const {
  for (const Predictor &predictor : predictors)
    if (std::string why = predictor.whyNot(degrees); !why.empty())
      return why;
  return "";
}

static void add(RunPrediction &sum, const RunPrediction &run, double share) {
  sum.total += run.total * share;
  sum.busy += run.busy * share;
  sum.bubble += run.bubble * share;
}

static void add(std::vector<StagePrediction> &sums,
                llvm::ArrayRef<StagePrediction> stages, double share) {
  sums.resize(stages.size());
  for (auto [sum, stage] : llvm::zip(sums, stages)) {
    sum.prompt += stage.prompt * share;
    sum.step += stage.step * share;
    if (stage.memory.total() > sum.memory.total())
      sum.memory = stage.memory;
  }
}

Prediction MixPredictor::predictMemory(const Degrees &degrees) {
  Prediction most;
  for (Predictor &predictor : predictors) {
    Prediction own = predictor.predictMemory(degrees);
    if (own.memory.total() >= most.memory.total())
      most = std::move(own);
  }
  return most;
}

Prediction MixPredictor::predict(const Degrees &degrees) {
  if (kinds.size() == 1)
    return predictors.front().predict(degrees);
  double weights = 0, tokens = 0, seconds = 0;
  for (const Workload &kind : kinds)
    weights += kind.weight;
  Prediction sum;
  for (auto [kind, predictor] : llvm::zip(kinds, predictors)) {
    const Prediction own = predictor.predict(degrees);
    const double share = kind.weight / weights;
    add(sum.prompt, own.prompt, share);
    if (own.step)
      add(sum.step ? *sum.step : sum.step.emplace(), *own.step, share);
    add(sum.stages, own.stages, share);
    if (own.memory.total() > sum.memory.total()) {
      sum.memory = own.memory;
      sum.limit = own.limit;
    }
    tokens += share * own.tokensPerSecond * own.main().total;
    seconds += share * own.main().total;
  }
  sum.tokensPerSecond = seconds > 0 ? tokens / seconds : 0;
  return sum;
}

} // namespace shardc::plan
