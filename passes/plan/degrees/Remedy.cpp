//===- Remedy.cpp - What would fit where a model does not -----------------===//

#include "passes/plan/degrees/Remedy.h"

#include "passes/plan/degrees/FitSearch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace shardc::plan {

/// Up to what any mesh may have.
static constexpr int64_t kMostDevices = 65536;

/// Twice as many nodes again and again.
static std::string moreDevices(llvm::ArrayRef<Workload> kinds, Machine machine,
                               const FixedDegrees &fixed) {
  FitBudget budget;
  while (machine.numDevices() * 2 <= kMostDevices && budget.plans > 0) {
    machine.nodes *= 2;
    // Nodes that are listed one by one are listed again.
    if (machine.devices.size() > 1) {
      const std::vector<Device> again = machine.devices;
      machine.devices.insert(machine.devices.end(), again.begin(), again.end());
    }
    if (std::optional<Degrees> fits =
            findFewestDevices(kinds, machine, fixed, budget))
      return std::to_string(fits->numRanks()) + " devices (" + fits->flags() +
             ")";
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
  FitBudget budget;
  const std::optional<Degrees> fits =
      findFewestDevices(kinds, machine, fixed, budget, share);
  return fits ? "8-bit weights (" + fits->flags() + ")" : "";
}

/// Positions, and how many of the longest request: each kind's are halved so many
/// times, of prompts and of what is behind them.
struct Shorter {
  std::vector<Workload> kinds;
  int64_t longest = 0;
};

static Shorter halve(llvm::ArrayRef<Workload> kinds, unsigned times) {
  Shorter shorter{kinds.vec()};
  auto halveSize = [&](Sizes &sizes, const std::string &symbol) {
    auto known = sizes.bySymbol().find(symbol);
    if (symbol.empty() || known == sizes.bySymbol().end())
      return;
    const int64_t part = std::max<int64_t>(known->second >> times, 1);
    shorter.longest = std::max(shorter.longest, part);
    sizes.set(symbol, std::min(part, known->second));
  };
  auto halveRows = [&](int64_t &positions) {
    positions = std::max<int64_t>(positions >> times, 1);
    shorter.longest = std::max(shorter.longest, positions);
  };
  for (Workload &kind : shorter.kinds) {
    if (kind.rows) {
      halveRows(kind.prompt.length);
      if (kind.step && kind.step->past > 0)
        halveRows(kind.step->past);
      continue;
    }
    halveSize(kind.prompt.sizes, kind.lengthSymbol);
    if (kind.step)
      halveSize(kind.step->sizes, kind.pastSymbol);
  }
  return shorter;
}

/// The fewest halves that help: fewer positions never take more.
static std::string shorterContext(llvm::ArrayRef<Workload> kinds,
                                  const Machine &machine,
                                  const FixedDegrees &fixed) {
  const int64_t longest = halve(kinds, 0).longest;
  if (longest < 2)
    return "";
  FitBudget budget;
  std::string found;
  for (unsigned least = 1, most = llvm::Log2_64(longest); least <= most;) {
    const unsigned times = (least + most) / 2;
    const Shorter shorter = halve(kinds, times);
    if (std::optional<Degrees> fits =
            findFewestDevices(shorter.kinds, machine, fixed, budget)) {
      found = "a context of " + std::to_string(shorter.longest) +
              " positions (" + fits->flags() + ")";
      most = times - 1;
    } else {
      least = times + 1;
    }
  }
  return found;
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
