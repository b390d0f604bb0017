#include "runtime/stage/ShapePlan.h"

#include <algorithm>

namespace shardc::runtime {

/// Plans that are kept: prefill and decode, and two more lengths.
static constexpr size_t kKeptPlans = 4;

ShapePlan *ShapePlans::find(std::span<const int64_t> symbols,
                            bool hasState) const {
  auto found = std::find_if(plans.begin(), plans.end(), [&](const auto &plan) {
    return plan->isFor(symbols, hasState);
  });
  return found == plans.end() ? nullptr : found->get();
}

size_t ShapePlans::freeSlot(std::span<const int64_t> symbols) {
  if (plans.size() < kKeptPlans)
    return plans.size();
  auto least = std::min_element(plans.begin(), plans.end(),
                                [&](const auto &a, const auto &b) {
                                  return a->isWorthLess(*b, symbols);
                                });
  const size_t slot = (*least)->slot;
  plans.erase(least);
  return slot;
}

ShapePlan &ShapePlans::add(std::span<const int64_t> symbols, bool hasState) {
  const size_t slot = freeSlot(symbols);
  plans.push_back(std::make_unique<ShapePlan>());
  ShapePlan &plan = *plans.back();
  plan.slot = slot;
  plan.symbols.assign(symbols.begin(), symbols.end());
  plan.hasState = hasState;
  return plan;
}

} // namespace shardc::runtime
