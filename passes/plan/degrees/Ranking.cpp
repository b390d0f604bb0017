//===- Ranking.cpp - The best degrees for a model and a machine -----------===//

#include "passes/plan/degrees/Ranking.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/machine/DeviceShares.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace shardc::plan {

std::optional<Goal> symbolizeGoal(llvm::StringRef text) {
  if (text == "latency")
    return Goal::Latency;
  if (text == "throughput")
    return Goal::Throughput;
  if (text == "fit")
    return Goal::Fit;
  return std::nullopt;
}

namespace {

/// Predictions that differ by less say nothing.
constexpr double kTie = 0.01;

/// What is to be small; without a unit.
double scoreOf(const Candidate &candidate, Goal goal) {
  const Prediction &prediction = candidate.prediction;
  const auto ranks = double(candidate.degrees.numRanks());
  switch (goal) {
  case Goal::Latency:
    return prediction.main().total;
  case Goal::Throughput:
    return ranks / std::max(prediction.tokensPerSecond, 1e-30);
  case Goal::Fit:
    return ranks;
  }
  return 0;
}

/// Fewer devices, then what needs fewer words, then what is faster.
bool isSimpler(const Candidate &a, const Candidate &b) {
  auto key = [](const Candidate &c) {
    const Degrees &d = c.degrees;
    return std::tuple(d.numRanks(),
                      (d.pp > 1) + (d.fsdp > 1) + (d.cp > 1) + (d.ep > 1),
                      c.prediction.main().total, d.dp, d.pp, d.fsdp, d.cp, d.ep,
                      d.flags().size());
  };
  return key(a) < key(b);
}

bool isBetter(const Candidate &a, const Candidate &b, Goal goal) {
  if (a.prediction.fits() != b.prediction.fits())
    return a.prediction.fits();
  if (!a.prediction.fits())
    return a.prediction.memory.total() != b.prediction.memory.total()
               ? a.prediction.memory.total() < b.prediction.memory.total()
               : isSimpler(a, b);
  const double left = scoreOf(a, goal), right = scoreOf(b, goal);
  if (left != right)
    return left < right;
  const double leftTime = a.prediction.main().total,
               rightTime = b.prediction.main().total;
  return leftTime != rightTime ? leftTime < rightTime : isSimpler(a, b);
}

class Ranker {
public:
  Ranker(llvm::ArrayRef<Workload> kinds, const Machine &machine, Goal goal,
         const FixedDegrees &fixed)
      : kinds(kinds), machine(machine), goal(goal), fixed(fixed),
        predictor(kinds, machine) {}

  std::vector<Candidate> run() {
    for (int64_t tp : ways("tp", 1))
      for (int64_t ep : ways("ep", tp))
        for (int64_t cp : ways("cp", tp * ep))
          for (int64_t pp : ways("pp", tp * ep * cp))
            addReplicas({1, pp, 1, cp, ep, tp});
    sort();
    explain();
    return std::move(candidates);
  }

private:
  /// Of an axis, where others take so many devices.
  std::vector<int64_t> ways(const char *axis, int64_t used) const {
    const int64_t devices = machine.numDevices(), most = devices / used;
    if (auto known = fixed.numbers.find(axis); known != fixed.numbers.end())
      return known->second <= most ? std::vector<int64_t>{known->second}
                                   : std::vector<int64_t>{};
    if (llvm::StringRef(axis) == dist::kExpertAxis && !kinds.front().hasExperts)
      return {1};
    // Of training --zero says what replicas share out.
    if (llvm::StringRef(axis) == dist::kStorageAxis && kinds.front().training)
      return {1};
    std::vector<int64_t> ways;
    for (int64_t n = 1; n <= most; ++n)
      if (devices % n == 0 || (n & (n - 1)) == 0)
        ways.push_back(n);
    return ways;
  }

  /// Alone, replicated, and with weights that replicas share out where memory asks
  /// for that: where as many whole ones would not fit. Not beside "cp", whose
  /// long prompts have few rows, unless it is asked for.
  void addReplicas(Degrees degrees) {
    const int64_t used = degrees.numRanks();
    for (int64_t fsdp : ways("fsdp", used)) {
      degrees.fsdp = fsdp;
      if (fsdp > 1 && !fixed.numbers.count("fsdp") &&
          (degrees.cp > 1 || fitsWhole(degrees)))
        continue;
      for (int64_t dp : ways("dp", used * fsdp)) {
        degrees.dp = dp;
        add(degrees);
      }
      degrees.dp = 1;
    }
  }

  /// Whether ranks that hold all of the weights fit that have the same rows.
  bool fitsWhole(Degrees degrees) {
    std::swap(degrees.dp, degrees.fsdp);
    return predictor.whyNot(degrees).empty() &&
           llvm::any_of(variantsOf(degrees), [&](const Degrees &variant) {
             return predictor.whyNot(variant).empty() &&
                    predictor.predict(variant).fits();
           });
  }

  /// The best variant of these numbers of ways.
  void add(Degrees degrees) {
    degrees.shares = sharesOf(degrees);
    if (!predictor.whyNot(degrees).empty())
      return;
    std::optional<Candidate> best;
    for (const Degrees &variant : variantsOf(degrees)) {
      if (!predictor.whyNot(variant).empty())
        continue;
      Candidate candidate{variant, predictor.predict(variant), ""};
      if (!best || isBetter(candidate, *best, goal))
        best = std::move(candidate);
    }
    if (best)
      candidates.push_back(std::move(*best));
  }

  std::map<std::string, llvm::SmallVector<int64_t, 2>>
  sharesOf(const Degrees &degrees) const {
    std::map<std::string, llvm::SmallVector<int64_t, 2>> given;
    const dist::Mesh mesh = degrees.mesh();
    for (const auto &[name, shares] : fixed.shares)
      if (const dist::Axis *axis = mesh.find(name);
          axis && axis->size == int64_t(shares.size()))
        given[name] = shares;
    if (!fixed.hasDeviceShares)
      return given;
    return degreesOf(withDeviceShares(machine, degrees.mesh())).shares;
  }

  /// The plainest first.
  std::vector<Degrees> variantsOf(const Degrees &degrees) const {
    std::vector<Degrees> variants{degrees};
    auto multiply = [&](auto change) {
      const size_t count = variants.size();
      for (size_t i = 0; i < count; ++i) {
        variants.push_back(variants[i]);
        change(variants.back());
      }
    };
    if (degrees.tp > 1) {
      const auto known = fixed.numbers.find("sp");
      if (known == fixed.numbers.end())
        multiply([](Degrees &d) { d.sequenceParallel = true; });
      else
        variants.front().sequenceParallel = known->second != 0;
    }
    if (degrees.cp > 1) {
      const auto known = fixed.numbers.find("cp-mode");
      if (known == fixed.numbers.end())
        multiply([](Degrees &d) { d.contextMode = ContextMode::Ulysses; });
      else
        for (Degrees &variant : variants)
          variant.contextMode = ContextMode(known->second);
    }
    if (degrees.ep > 1)
      multiply([](Degrees &d) { d.expertMode = ExpertMode::Batch; });
    const size_t plain = variants.size();
    if (const auto known = fixed.numbers.find("micro-batches");
        known != fixed.numbers.end() && !kinds.front().training) {
      for (Degrees &variant : variants)
        variant.microBatches = known->second;
      return variants;
    }
    int64_t most = degrees.pp > 1 && kinds.front().hasMicroBatches &&
                           !kinds.front().training
                       ? 4 * degrees.pp
                       : 1;
    for (const Workload &kind : kinds)
      most = std::min(most, kind.batch / (degrees.dp * degrees.fsdp));
    for (int64_t parts = 2; parts <= most; parts *= 2)
      for (size_t i = 0; i < plain; ++i) {
        variants.push_back(variants[i]);
        variants.back().microBatches = parts;
      }
    return variants;
  }

  /// By score; of those within a tie with the best one, the simplest leads.
  void sort() {
    llvm::stable_sort(candidates, [&](const Candidate &a, const Candidate &b) {
      return isBetter(a, b, goal);
    });
    if (candidates.empty())
      return;
    auto end = std::find_if(
        candidates.begin(), candidates.end(), [&](const Candidate &candidate) {
          return candidate.prediction.fits() !=
                     candidates.front().prediction.fits() ||
                 scoreOf(candidate, goal) >
                     (1 + kTie) * scoreOf(candidates.front(), goal);
        });
    // As many devices are as many, but not as fast.
    if (candidates.front().prediction.fits() && goal != Goal::Fit)
      std::stable_sort(candidates.begin(), end, isSimpler);
  }

  void explain() {
    for (Candidate &candidate : candidates)
      candidate.reason = reasonOf(candidate);
  }

  std::string reasonOf(const Candidate &candidate) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    const Prediction &own = candidate.prediction,
                     &best = candidates.front().prediction;
    if (!own.fits()) {
      os << "does not fit: "
         << llvm::format("%.1f of %.1f GB a rank", own.memory.total() / 1e9,
                         own.limit / 1e9);
      return text;
    }
    if (&candidate == &candidates.front()) {
      os << (goal == Goal::Latency      ? "the shortest "
             : goal == Goal::Throughput ? "the most tokens a device"
                                        : "the fewest devices");
      if (goal == Goal::Latency)
        os << (own.step || own.training ? "step" : "prompt");
      return text;
    }
    const double times =
        scoreOf(candidate, goal) / scoreOf(candidates.front(), goal);
    const int64_t ranks = candidate.degrees.numRanks(),
                  bestRanks = candidates.front().degrees.numRanks();
    if (goal == Goal::Fit && times == 1) {
      os << llvm::format("as few, but %.2f times as long",
                         own.main().total / best.main().total);
      addCause(own.main(), best.main(), os);
      return text;
    }
    if (times <= 1 + kTie) {
      os << "as good, but ";
      if (ranks > bestRanks)
        os << "takes " << ranks << " devices instead of " << bestRanks;
      else
        os << "less simple";
      return text;
    }
    os << llvm::format("%.2f", times)
       << (goal == Goal::Latency      ? " times as long"
           : goal == Goal::Throughput ? " times the devices for as many tokens"
                                      : " times the devices");
    addCause(own.main(), best.main(), os);
    return text;
  }

  /// What it spends more on than the best one does, as shares of its time.
  static void addCause(const RunPrediction &own, const RunPrediction &best,
                       llvm::raw_ostream &os) {
    const std::pair<const char *, double> parts[] = {
        {"reading", own.busy.read - best.busy.read},
        {"computing", own.busy.compute - best.busy.compute},
        {"communication", own.busy.communication - best.busy.communication},
        {"bubble", own.bubble - best.bubble}};
    const auto *most = std::max_element(
        std::begin(parts), std::end(parts),
        [](const auto &a, const auto &b) { return a.second < b.second; });
    if (most->second > 0.01 * own.total)
      os << llvm::format(": %.1f ms more %s", most->second * 1e3, most->first);
  }

  llvm::ArrayRef<Workload> kinds;
  const Machine &machine;
  Goal goal;
  const FixedDegrees &fixed;
  MixPredictor predictor;
  std::vector<Candidate> candidates;
};

} // namespace

std::vector<Candidate> rankDegrees(llvm::ArrayRef<Workload> kinds,
                                   const Machine &machine, Goal goal,
                                   const FixedDegrees &fixed) {
  return Ranker(kinds, machine, goal, fixed).run();
}

} // namespace shardc::plan
