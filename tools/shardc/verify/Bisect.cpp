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

class Bisection {
public:
  Bisection(const CompileOptions &one, const CompileOptions &plan,
            unsigned profile, const Request &request,
            const tensors::Tolerance &tolerance)
      : one(one), plan(plan), profile(profile), request(request),
        tolerance(tolerance) {}

  /// `exists` says whether there is such a profile.
  Status list(bool &exists) {
    std::vector<probe::Probe> ofOne;
    SHARDC_RETURN_IF_ERROR(listProbes(one, ofOne, exists));
    if (!exists)
      return Status::ok();
    SHARDC_RETURN_IF_ERROR(listProbes(plan, probes, exists));
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
    if (first == kNowhere)
      first = firstUnknown();
    if (first != kNowhere)
      difference = describe(first);
    return Status::ok();
  }

private:
  Status listProbes(const CompileOptions &options,
                    std::vector<probe::Probe> &list, bool &exists) {
    CompileOptions listing = withHook(
        options, profile,
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

  Status runWith(const CompileOptions &options,
                 const std::vector<size_t> &numbers,
                 std::vector<Tensor> &values) {
    Build build;
    SHARDC_RETURN_IF_ERROR(
        build.run(withHook(options, profile, [&](mlir::ModuleOp module) {
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

  const CompileOptions &one, &plan;
  unsigned profile;
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
  Status status;
  for (unsigned profile = 0; !difference; ++profile) {
    Bisection bisection(one, plan, profile, request, tolerance);
    bool exists = false;
    SHARDC_RETURN_IF_ERROR(bisection.list(exists));
    if (!exists)
      return status;
    // The request may be for another profile, which then refuses it.
    if (Status searched = bisection.search(difference);
        !searched.isOk() && status.isOk())
      status = searched;
  }
  return Status::ok();
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
