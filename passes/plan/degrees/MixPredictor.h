//===- MixPredictor.h - What several kinds of requests take together ------===//
//
// Three of four requests are short, one is long:
//
//   weight 3   batch 32, steps behind  8192 positions    9 ms a step
//   weight 1   batch  4, steps behind 65536 positions   17 ms a step
//   together                                            11 ms a step
//
// Times are means by weight; tokens a second are those of all requests over the
// time of all. Memory is that of the kind that needs most: they take turns.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_MIXPREDICTOR_H
#define SHARDC_PASSES_PLAN_DEGREES_MIXPREDICTOR_H

#include "passes/plan/degrees/Predictor.h"

namespace shardc::plan {

class MixPredictor {
public:
  /// At least one kind, of one model; all outlive the object.
  MixPredictor(llvm::ArrayRef<Workload> kinds, const Machine &machine);

  /// Why the model cannot be cut like this for each kind, or "".
  std::string whyNot(const Degrees &degrees) const;
  Prediction predict(const Degrees &degrees);
  Prediction predictMemory(const Degrees &degrees);
  /// For the typical kind of requests.
  Predictor::SizedChoice chooseForSizes(const Degrees &degrees) {
    return predictors[typicalKind(kinds)].chooseForSizes(degrees);
  }
  /// From now on, for all kinds.
  void use(const Degrees &degrees, const Predictor::SizedChoice &choice) {
    for (Predictor &predictor : predictors)
      predictor.use(degrees, choice);
  }
  void forget(const Degrees &degrees) {
    for (Predictor &predictor : predictors)
      predictor.forget(degrees);
  }
  /// Of the first kind.
  Predictor::Detail detail(const Degrees &degrees) {
    return predictors.front().detail(degrees);
  }

private:
  llvm::ArrayRef<Workload> kinds;
  std::vector<Predictor> predictors;
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_MIXPREDICTOR_H
