//===- Ranking.cpp - The best degrees for a model and a machine -----------===//

#include "passes/plan/degrees/Ranking.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/degrees/MixPredictor.h"
#include "passes/plan/degrees/RankOrder.h"

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

/// How many of the best have their best order of ranks, and how many predictions
/// may be made for that.
constexpr int64_t kOrdered = 16;
constexpr int kMostOrders = 400;

/// How many of the best have splits of weights for these sizes.
constexpr size_t kSized = 4;

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
                      (d.pp > 1) + (d.fsdp > 1) + (d.cp > 1) + (d.ep > 1) +
                          !d.order.empty(),
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

/// Of a run, if nothing had to be sent.
double withoutCommunication(const Candidate &candidate) {
  const Prediction &prediction = candidate.prediction;
  double once = 0, slowest = 0;
  for (const StagePrediction &stage : prediction.stages) {
    const Seconds &seconds = prediction.step ? stage.step : stage.prompt;
    const double busy = seconds.total() - seconds.communication;
    once += busy;
    slowest = std::max(slowest, busy);
  }
  return once + double(candidate.degrees.microBatches - 1) * slowest;
}

/// Seconds for the same score: small is good.
using Rank = std::pair<double, double>;

/// A variant whose ranks may be in another order.
struct Orderable {
  Degrees degrees;
  size_t candidate; ///< that it is a variant of
  Rank bound;       ///< of any order
};

class Ranker {
public:
  Ranker(llvm::ArrayRef<Workload> kinds, const Machine &machine, Goal goal,
         const FixedDegrees &fixed)
      : goal(goal), fixed(fixed), space(kinds, machine, fixed),
        machine(machine), isTraining(kinds.front().training.has_value()),
        servesRows(kinds.front().rows.has_value()), typical(kinds.front()),
        predictor(kinds, machine) {}

  std::vector<Candidate> run() {
    for (const Degrees &degrees : space.ofOneReplica())
      addReplicas(degrees);
    orderRanks();
    chooseForSizes();
    sort();
    explain();
    return std::move(candidates);
  }

private:
  /// Alone, replicated, and with weights that replicas share out where memory asks
  /// for that: where as many whole ones would not fit. Not beside "cp", whose
  /// long prompts have few rows, unless it is asked for.
  void addReplicas(Degrees degrees) {
    const int64_t used = degrees.numRanks();
    for (int64_t fsdp : space.ways(dist::kStorageAxis, used)) {
      degrees.fsdp = fsdp;
      if (fsdp > 1 && !fixed.numbers.count("fsdp") &&
          (degrees.cp > 1 || fitsWhole(degrees)))
        continue;
      for (int64_t dp : space.ways(dist::kReplicaAxis, used * fsdp)) {
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
           llvm::any_of(space.variantsOf(degrees), [&](const Degrees &variant) {
             return predictor.whyNot(variant).empty() &&
                    predictor.predictMemory(variant).fits();
           });
  }

  /// The best variant of these numbers of ways.
  void add(Degrees degrees) {
    space.complete(degrees);
    if (!predictor.whyNot(degrees).empty())
      return;
    std::optional<Candidate> best;
    for (const Degrees &variant : space.variantsOf(degrees)) {
      if (!predictor.whyNot(variant).empty())
        continue;
      Candidate candidate{variant, predictor.predict(variant)};
      if (mayGainByOrder(candidate))
        orderable.push_back(orderableOf(candidate));
      if (!best || isBetter(candidate, *best, goal))
        best = std::move(candidate);
    }
    if (best)
      candidates.push_back(std::move(*best));
  }

  /// Of what it sends, if that were for nothing.
  bool mayGainByOrder(const Candidate &candidate) const {
    return !isTraining && fixed.order.empty() &&
           candidate.degrees.shares.empty() && candidate.prediction.fits() &&
           (1 + kTie) * withoutCommunication(candidate) <
               candidate.prediction.main().total &&
           !otherOrders(candidate.degrees, machine).empty();
  }

  Orderable orderableOf(const Candidate &candidate) const {
    const double least = withoutCommunication(candidate),
                 score = scoreOf(candidate, goal);
    const double part = least / candidate.prediction.main().total;
    return {candidate.degrees,
            candidates.size(),
            {goal == Goal::Fit ? score : score * part, least}};
  }

  /// Other orders of ranks for what may be among the best with them, the most
  /// promising first.
  void orderRanks() {
    std::vector<Rank> ranks;
    for (const Candidate &candidate : candidates)
      if (candidate.prediction.fits())
        ranks.push_back(
            {scoreOf(candidate, goal), candidate.prediction.main().total});
    if (ranks.empty())
      return;
    const auto last =
        ranks.begin() + std::min(int64_t(ranks.size()), kOrdered) - 1;
    std::nth_element(ranks.begin(), last, ranks.end());
    llvm::stable_sort(orderable, [](const Orderable &a, const Orderable &b) {
      return a.bound < b.bound;
    });
    int left = kMostOrders;
    for (const Orderable &each : orderable) {
      if (left <= 0 || *last < each.bound)
        break;
      left -= takeBestOrder(each);
    }
  }

  /// How many were predicted. An order of its own is for what a prediction can
  /// tell from the default one.
  int takeBestOrder(const Orderable &orderable) {
    Candidate &best = candidates[orderable.candidate];
    auto isWorse = [&](double seconds) {
      const double most = best.prediction.main().total;
      return best.degrees.order.empty() ? seconds * (1 + kTie) >= most
                                        : seconds >= most;
    };
    if (isWorse(orderable.bound.second))
      return 0;
    const std::vector<Degrees> orders = otherOrders(orderable.degrees, machine);
    for (const Degrees &degrees : orders) {
      Candidate candidate{degrees, predictor.predict(degrees)};
      if (!isWorse(candidate.prediction.main().total))
        best = std::move(candidate);
    }
    return int(orders.size());
  }

  /// One stage that sends next to nothing has nothing to choose.
  void chooseForSizes() {
    if (isTraining)
      return;
    std::vector<Candidate *> best;
    for (Candidate &candidate : candidates)
      if (candidate.prediction.fits() &&
          (candidate.degrees.pp > 1 ||
           (1 + kTie) * withoutCommunication(candidate) <
               candidate.prediction.main().total))
        best.push_back(&candidate);
    llvm::stable_sort(best, [&](const Candidate *a, const Candidate *b) {
      return isBetter(*a, *b, goal);
    });
    best.resize(std::min(best.size(), kSized));
    for (Candidate *candidate : best)
      chooseForSizes(*candidate);
  }

  void chooseForSizes(Candidate &candidate) {
    Candidate sized{
        candidate.degrees, {}, predictor.chooseForSizes(candidate.degrees)};
    predictor.use(sized.degrees, *sized.forSizes);
    sized.prediction = predictor.predict(sized.degrees);
    if (sized.prediction.fits() && sized.prediction.main().total * (1 + kTie) <=
                                       candidate.prediction.main().total)
      candidate = std::move(sized);
    else
      predictor.forget(candidate.degrees);
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
    const double cached =
        isTraining ? 0 : predictor.predictMemory({}).memory.kv;
    for (Candidate &candidate : candidates) {
      candidate.reason = reasonOf(candidate);
      if (const int64_t copies = copiesOfKeys(candidate, cached); copies > 1)
        candidate.reason += "; each key is on " + std::to_string(copies) +
                            " ranks" +
                            (servesRows ? "" : ", with --serve on one");
    }
  }

  /// How many ranks have the same keys and values, of so many bytes in all.
  int64_t copiesOfKeys(const Candidate &candidate, double cached) const {
    const Degrees &degrees = candidate.degrees;
    if (cached <= 0 || !degrees.shares.empty())
      return 1;
    double held = 0;
    for (const StagePrediction &stage : candidate.prediction.stages)
      held += stage.memory.kv;
    held *= double(degrees.numRanks() / degrees.pp);
    // As many rows as the fullest rank's each: 2 of 3 over two replicas are 4.
    const int64_t batch = typical.batch, ofReplica = ceilDiv(batch, degrees.dp);
    const int64_t rows = typical.batchSymbol.empty() ? batch * degrees.dp
                         : servesRows ? ofReplica * degrees.dp
                                      : ceilDiv(ofReplica, degrees.fsdp) *
                                            degrees.fsdp * degrees.dp;
    // What is left of a copy are heads that do not divide over the ranks.
    return int64_t(held / cached * double(batch) / double(rows) + 0.01);
  }
  static int64_t ceilDiv(int64_t count, int64_t parts) {
    return (count + parts - 1) / parts;
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

  const Goal goal;
  const FixedDegrees &fixed;
  const DegreeSpace space;
  const Machine &machine;
  const bool isTraining, servesRows;
  const Workload &typical; ///< for its batch
  MixPredictor predictor;
  std::vector<Candidate> candidates;
  std::vector<Orderable> orderable;
};

} // namespace

std::vector<Candidate> rankDegrees(llvm::ArrayRef<Workload> kinds,
                                   const Machine &machine, Goal goal,
                                   const FixedDegrees &fixed) {
  return Ranker(kinds, machine, goal, fixed).run();
}

} // namespace shardc::plan
