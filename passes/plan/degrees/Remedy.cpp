//===- Remedy.cpp - What would fit where a model does not -----------------===//

#include "passes/plan/degrees/Remedy.h"

#include "llvm/ADT/StringExtras.h"

namespace shardc::plan {

/// Up to what any mesh may have.
static constexpr int64_t kMostDevices = 65536;

/// The fewest devices on which all of it fits.
static std::optional<Candidate> fewest(llvm::ArrayRef<Workload> kinds,
                                       const Machine &machine,
                                       const FixedDegrees &fixed) {
  std::vector<Candidate> ranked = rankDegrees(kinds, machine, Goal::Fit, fixed);
  if (ranked.empty() || !ranked.front().prediction.fits())
    return std::nullopt;
  return ranked.front();
}

/// Twice as many nodes again and again.
static std::string moreDevices(llvm::ArrayRef<Workload> kinds, Machine machine,
                               const FixedDegrees &fixed) {
  while (machine.numDevices() * 2 <= kMostDevices) {
    machine.nodes *= 2;
    // Nodes that are listed one by one are listed again.
    if (machine.devices.size() > 1) {
      const std::vector<Device> again = machine.devices;
      machine.devices.insert(machine.devices.end(), again.begin(), again.end());
    }
    if (std::optional<Candidate> fits = fewest(kinds, machine, fixed))
      return std::to_string(fits->degrees.numRanks()) + " devices (" +
             fits->degrees.flags() + ")";
  }
  return "";
}

/// Bytes of a model's weights where none has more than 8 bits, of those now.
static double shareOf8Bits(const Graph &graph) {
  double now = 0, then = 0;
  for (const GraphOp &op : graph.ops) {
    if (op.kind != OpKind::Weight)
      continue;
    const GraphValue &value = graph.values[op.resultValues.front()];
    const double elements = value.elements * op.count;
    now += elements * double(value.bits);
    then += elements * double(std::min<int64_t>(value.bits, 8));
  }
  return now > 0 ? then / now : 1;
}

static std::string narrowWeights(llvm::ArrayRef<Workload> kinds,
                                 const Machine &machine,
                                 const FixedDegrees &fixed) {
  const double share = shareOf8Bits(*kinds.front().prompt.program->graph);
  if (share == 1 || kinds.front().training)
    return "";
  // What they free is for everything else.
  const std::vector<Candidate> ranked =
      rankDegrees(kinds, machine, Goal::Fit, fixed);
  const Candidate *best = nullptr;
  for (const Candidate &candidate : ranked) {
    const MemoryPrediction &memory = candidate.prediction.memory;
    if (memory.total() - (1 - share) * memory.weights <=
            candidate.prediction.limit &&
        (!best || candidate.degrees.numRanks() < best->degrees.numRanks()))
      best = &candidate;
  }
  return best ? "8-bit weights (" + best->degrees.flags() + ")" : "";
}

/// Half as many positions again and again, of prompts and of what is behind them.
static std::string shorterContext(llvm::ArrayRef<Workload> kinds,
                                  const Machine &machine,
                                  const FixedDegrees &fixed) {
  std::vector<Workload> shorter = kinds.vec();
  auto halve = [](Sizes &sizes, const std::string &symbol) {
    auto known = sizes.bySymbol().find(symbol);
    if (symbol.empty() || known == sizes.bySymbol().end() || known->second < 2)
      return int64_t(0);
    const int64_t half = known->second / 2;
    sizes.set(symbol, half);
    return half;
  };
  for (int64_t longest = 1; longest > 0;) {
    longest = 0;
    for (Workload &kind : shorter) {
      longest = std::max(longest, halve(kind.prompt.sizes, kind.lengthSymbol));
      if (kind.step)
        longest = std::max(longest, halve(kind.step->sizes, kind.pastSymbol));
    }
    if (longest == 0)
      break;
    if (std::optional<Candidate> fits = fewest(shorter, machine, fixed))
      return "a context of " + std::to_string(longest) + " positions (" +
             fits->degrees.flags() + ")";
  }
  return "";
}

std::string whatWouldFit(llvm::ArrayRef<Workload> kinds, const Machine &machine,
                         const FixedDegrees &fixed) {
  std::vector<std::string> remedies;
  for (std::string remedy : {moreDevices(kinds, machine, fixed),
                             narrowWeights(kinds, machine, fixed),
                             shorterContext(kinds, machine, fixed)})
    if (!remedy.empty())
      remedies.push_back(std::move(remedy));
  return llvm::join(remedies, "; ");
}

} // namespace shardc::plan
