//===- FitSearch.cpp - The fewest devices on which a model fits -----------===//

#include "passes/plan/degrees/FitSearch.h"

#include "dialects/dist/algebra/StorageAxis.h"

namespace shardc::plan {

namespace {

class FitSearch {
public:
  FitSearch(llvm::ArrayRef<Workload> kinds, const Machine &machine,
            const FixedDegrees &fixed, FitBudget &budget, double weightShare)
      : space(kinds, machine, fixed), predictor(kinds, machine), fixed(fixed),
        budget(budget), weightShare(weightShare),
        isTraining(kinds.front().training.has_value()) {
    if (!isTraining)
      alone = predictor.predictMemory({});
  }

  std::optional<Degrees> run() {
    std::vector<Degrees> all = candidates();
    llvm::stable_sort(all, [](const Degrees &a, const Degrees &b) {
      return a.numRanks() < b.numRanks();
    });
    for (const Degrees &degrees : all) {
      if ((best && best->numRanks() < degrees.numRanks()) || budget.plans <= 0)
        break;
      const std::vector<Degrees> variants = space.variantsOf(degrees);
      if (llvm::any_of(leanest(variants),
                       [&](const Degrees &variant) { return fits(variant); }))
        takeFastest(variants);
    }
    return best;
  }

private:
  /// All that are not out of the question.
  std::vector<Degrees> candidates() {
    std::vector<Degrees> all;
    for (Degrees degrees : space.ofOneReplica()) {
      const int64_t used = degrees.numRanks();
      for (int64_t fsdp : space.ways(dist::kStorageAxis, used)) {
        // As in the ranking (Ranking.cpp).
        if (fsdp > 1 && degrees.cp > 1 && !fixed.numbers.count("fsdp"))
          continue;
        degrees.fsdp = fsdp;
        for (int64_t dp : space.ways(dist::kReplicaAxis, used * fsdp)) {
          degrees.dp = dp;
          space.complete(degrees);
          if (mayFit(degrees) && predictor.whyNot(degrees).empty())
            all.push_back(degrees);
        }
        degrees.dp = 1;
        degrees.shares.clear();
        degrees.order.clear();
      }
    }
    return all;
  }

  /// Of the average rank, if all were shared out evenly.
  bool mayFit(const Degrees &degrees) const {
    if (isTraining || alone.limit == 0)
      return true;
    const auto parts =
        double(degrees.tp * degrees.ep * degrees.pp * degrees.fsdp);
    const MemoryPrediction &memory = alone.memory;
    return memory.buffers + weightShare * memory.weights / parts +
               memory.kv / double(degrees.numRanks()) <=
           alone.limit;
  }

  /// Those that need the least: short parts of sequences, and of the batch.
  static std::vector<Degrees> leanest(std::vector<Degrees> variants) {
    const Degrees last = variants.back();
    llvm::erase_if(variants, [&](const Degrees &variant) {
      return variant.sequenceParallel != last.sequenceParallel ||
             variant.contextMode != last.contextMode ||
             variant.microBatches != last.microBatches;
    });
    return variants;
  }

  void takeFastest(llvm::ArrayRef<Degrees> variants) {
    for (const Degrees &variant : variants) {
      if (!fits(variant))
        continue;
      const double seconds = predictor.predict(variant).main().total;
      if (!best || seconds < bestSeconds)
        best = variant, bestSeconds = seconds;
    }
  }

  bool fits(const Degrees &degrees) {
    if (!predictor.whyNot(degrees).empty())
      return false;
    --budget.plans;
    const Prediction prediction = predictor.predictMemory(degrees);
    return prediction.limit == 0 ||
           prediction.memory.total() -
                   (1 - weightShare) * prediction.memory.weights <=
               prediction.limit;
  }

  const DegreeSpace space;
  MixPredictor predictor;
  const FixedDegrees &fixed;
  FitBudget &budget;
  const double weightShare;
  const bool isTraining;
  Prediction alone; ///< of one rank
  std::optional<Degrees> best;
  double bestSeconds = 0;
};

} // namespace

std::optional<Degrees> findFewestDevices(llvm::ArrayRef<Workload> kinds,
                                         const Machine &machine,
                                         const FixedDegrees &fixed,
                                         FitBudget &budget,
                                         double weightShare) {
  return FitSearch(kinds, machine, fixed, budget, weightShare).run();
}

} // namespace shardc::plan
