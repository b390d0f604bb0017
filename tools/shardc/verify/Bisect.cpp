#include "tools/shardc/verify/Bisect.h"

#include "runtime/base/Message.h"

#include <algorithm>

using namespace shardc::runtime;

namespace shardc::verifier {
namespace {

constexpr size_t kProbes = 40; ///< outputs that are added at a time
constexpr size_t kNowhere = SIZE_MAX;

enum class State : char { Unknown, Agrees, Differs };

/// One profile of a module, seen at phase partitioned.
CompileOptions withHook(CompileOptions options, unsigned profile,
                        std::function<void(mlir::ModuleOp)> hook,
                        bool *exists = nullptr) {
  options.generatesKernels = false; // values stay what their ops compute
  options.afterPhase = [=](llvm::StringRef phase, mlir::ModuleOp module) {
    if (phase != "partitioned")
      return ExitCode::Done;
    const bool kept = probe::keepProfile(module, profile);
    if (exists)
      *exists = kept;
    if (kept)
      hook(module);
    return ExitCode::Done;
  };
  return options;
}

/// What is compiled, and which of its profiles is looked at.
struct Side {
  const CompileOptions &options;
  unsigned profile;
};

class Bisection {
public:
  Bisection(Side one, Side plan, const Request &request,
            const tensors::Tolerance &tolerance)
      : one(one), plan(plan), request(request), tolerance(tolerance) {}

  /// Whether there are such profiles.
  enum class Found { None, One, Both };

  Status list(Found &found) {
    std::vector<probe::Probe> ofOne;
    bool exists = false;
    SHARDC_RETURN_IF_ERROR(listProbes(one, ofOne, exists));
    found = exists ? Found::One : Found::None;
    if (!exists)
      return Status::ok();
    SHARDC_RETURN_IF_ERROR(listProbes(plan, probes, exists));
    if (!exists)
      return Status::ok();
    found = Found::Both;
    std::map<verify::Term, size_t> numbers;
    for (size_t i = 0; i < ofOne.size(); ++i)
      numbers.try_emplace(ofOne[i].term, i);
    states.assign(probes.size(), State::Unknown);
    counterparts.assign(probes.size(), kNowhere);
    for (size_t i = 0; i < probes.size(); ++i)
      if (auto it = numbers.find(probes[i].term); it != numbers.end())
        counterparts[i] = it->second;
    return Status::ok();
  }

  Status search(std::optional<Difference> &difference) {
    std::vector<size_t> suspects;
    for (size_t i = 0; i < probes.size(); ++i)
      suspects.push_back(i);
    size_t first = kNowhere;
    for (;;) {
      std::erase_if(suspects, [&](size_t i) {
        return counterparts[i] == kNowhere || states[i] != State::Unknown;
      });
      if (suspects.empty())
        break;
      SHARDC_RETURN_IF_ERROR(compare(sample(suspects)));
      if (size_t earliest = earliestDifference(suspects);
          earliest != kNowhere) {
        first = earliest;
        suspects = ancestors(first);
      }
    }
    if (first == kNowhere && plan.options.trusted)
      first = firstUnknown();
    if (first != kNowhere)
      difference = describe(first);
    return Status::ok();
  }

private:
  static Status listProbes(Side side, std::vector<probe::Probe> &list,
                           bool &exists) {
    CompileOptions listing = withHook(
        side.options, side.profile,
        [&](mlir::ModuleOp module) { list = probe::listProbes(module); },
        &exists);
    listing.to = "partitioned";
    return compileQuietly(listing);
  }

  /// Spread evenly, the last one included.
  static std::vector<size_t> sample(const std::vector<size_t> &suspects) {
    const size_t count = std::min(kProbes, suspects.size());
    std::vector<size_t> chosen;
    for (size_t i = 1; i <= count; ++i)
      chosen.push_back(suspects[i * suspects.size() / count - 1]);
    return chosen;
  }

  Status runWith(Side side, const std::vector<size_t> &numbers,
                 std::vector<Tensor> &values) {
    Build build;
    SHARDC_RETURN_IF_ERROR(build.run(
        withHook(side.options, side.profile, [&](mlir::ModuleOp module) {
          probe::exposeProbes(module, numbers);
        })));
    std::vector<Tensor> outputs;
    SHARDC_RETURN_IF_ERROR(runRequest(build.session(), request, outputs));
    values.clear();
    for (size_t i = outputs.size() - numbers.size(); i < outputs.size(); ++i)
      values.push_back(std::move(outputs[i]));
    return Status::ok();
  }

  Status compare(const std::vector<size_t> &chosen) {
    std::vector<size_t> ofOne;
    for (size_t i : chosen)
      ofOne.push_back(counterparts[i]);
    std::vector<Tensor> found, expected;
    SHARDC_RETURN_IF_ERROR(runWith(one, ofOne, expected));
    SHARDC_RETURN_IF_ERROR(runWith(plan, chosen, found));
    for (size_t n = 0; n < chosen.size(); ++n) {
      tensors::Comparison result =
          tensors::compare(found[n], expected[n], tolerance);
      if (!result.fits) {
        states[chosen[n]] = State::Differs;
        comparisons[chosen[n]] = std::move(result);
        continue;
      }
      states[chosen[n]] = State::Agrees;
      for (size_t before : ancestors(chosen[n]))
        if (states[before] == State::Unknown)
          states[before] = State::Agrees;
    }
    return Status::ok();
  }

  size_t earliestDifference(const std::vector<size_t> &among) const {
    for (size_t i : among)
      if (states[i] == State::Differs)
        return i;
    return kNowhere;
  }

  /// That one rank does not compute, so that nothing is known of it.
  size_t firstUnknown() const {
    auto it = std::find(counterparts.begin(), counterparts.end(), kNowhere);
    return it == counterparts.end() ? kNowhere
                                    : size_t(it - counterparts.begin());
  }

  /// In order, without the probe itself.
  std::vector<size_t> ancestors(size_t probe) const {
    std::vector<char> isOne(probe + 1);
    isOne[probe] = 1;
    std::vector<size_t> found;
    for (size_t i = probe + 1; i-- > 0;) {
      if (!isOne[i])
        continue;
      for (size_t from : probes[i].from)
        isOne[from] = 1;
      if (i != probe)
        found.push_back(i);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  Difference describe(size_t first) const {
    Difference difference{
        probes[first], counterparts[first] != kNowhere, {}, {}};
    if (difference.isComparable)
      difference.comparison = comparisons.at(first);
    for (size_t from : probes[first].from)
      difference.from.push_back({probes[from], counterparts[from] != kNowhere});
    return difference;
  }

  Side one, plan;
  const Request &request;
  const tensors::Tolerance &tolerance;
  std::vector<probe::Probe> probes; ///< of the plan
  std::vector<State> states;
  std::vector<size_t> counterparts; ///< what one rank calls them
  std::map<size_t, tensors::Comparison> comparisons;
};

} // namespace

Status findFirstDifference(const CompileOptions &one,
                           const CompileOptions &plan, const Request &request,
                           const tensors::Tolerance &tolerance,
                           std::optional<Difference> &difference) {
  // Which profiles the request is for shows when the others refuse it, or do
  // not differ.
  Status refused;
  bool looked = false;
  for (unsigned ofOne = 0;; ++ofOne)
    for (unsigned ofPlan = 0;; ++ofPlan) {
      Bisection bisection({one, ofOne}, {plan, ofPlan}, request, tolerance);
      Bisection::Found found = Bisection::Found::Both;
      SHARDC_RETURN_IF_ERROR(bisection.list(found));
      if (found == Bisection::Found::None)
        return looked ? Status::ok() : refused;
      if (found == Bisection::Found::One)
        break;
      Status searched = bisection.search(difference);
      looked |= searched.isOk();
      if (!searched.isOk())
        refused = searched;
      if (difference)
        return Status::ok();
    }
}

static std::string probeText(const probe::Probe &probe) {
  std::string text = probe.node + " (" + probe.op + ", " + probe.type;
  if (!probe.sharding.empty())
    text += " held as " + probe.sharding;
  return text + ", stage " + std::to_string(probe.stage) + ")";
}

std::string differenceText(const Difference &difference) {
  std::string text = difference.isComparable
                         ? "first difference: "
                         : "first value that one rank does not compute: ";
  text += probeText(difference.probe);
  if (difference.isComparable)
    text += message("\n  ", difference.comparison.problem, "\n  largest error ",
                    difference.comparison.largestError, ", ",
                    difference.comparison.ofTolerance, " of the tolerance");
  for (const Origin &origin : difference.from)
    text += (origin.isComparable ? "\n  of what agrees: "
                                 : "\n  of what one rank does not compute: ") +
            probeText(origin.probe);
  return text;
}

} // namespace shardc::verifier
