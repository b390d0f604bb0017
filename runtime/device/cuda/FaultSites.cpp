#include "runtime/device/cuda/FaultSites.h"

namespace shardc::runtime {

unsigned FaultSites::numberOf(const CollectiveSite &site, const char *problem,
                              StatusCode code) {
  auto found = numbers.find({site.instruction, site.kind, site.node, problem});
  if (found != numbers.end())
    return found->second;
  const Site &added =
      sites.emplace_back(Site{std::string(site.kind), std::string(site.node),
                              site.instruction, problem, code});
  const auto number = static_cast<unsigned>(sites.size());
  numbers[{added.instruction, added.kind, added.node, added.problem}] = number;
  return number;
}

} // namespace shardc::runtime
