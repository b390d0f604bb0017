#include "tests/conformance/cuda/SimulatedCosts.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>

namespace shardc::testing {
namespace {

struct Price {
  const char *name;
  double microseconds;
};
/// In the order of HostCost.
constexpr Price kPrices[] = {
    {"launch", 4},        {"node_update", 8},          {"instantiate", 3},
    {"graph_launch", 10}, {"nccl_call", 100},          {"heuristics", 50},
    {"allocation", 100},  {"attention_plan", 100'000},
};
constexpr auto kCount = static_cast<size_t>(HostCost::Count);
static_assert(std::size(kPrices) == kCount);

/// Written at the end of the process.
struct Bill {
  std::array<std::atomic<long>, kCount> counts = {};

  ~Bill() {
    const char *path = std::getenv("SHARDC_SIMULATED_COSTS");
    if (!path)
      return;
    std::ofstream file(path);
    double sum = 0;
    file << "{";
    for (size_t i = 0; i < kCount; ++i) {
      file << '"' << kPrices[i].name << "\": " << counts[i] << ", ";
      sum += kPrices[i].microseconds * static_cast<double>(counts[i]);
    }
    file << "\"microseconds\": " << sum << "}\n";
  }
};
Bill bill;

} // namespace

void spend(HostCost cost, unsigned times) {
  bill.counts[static_cast<size_t>(cost)] += times;
}

long spentSoFar(HostCost cost) {
  return bill.counts[static_cast<size_t>(cost)];
}

} // namespace shardc::testing
