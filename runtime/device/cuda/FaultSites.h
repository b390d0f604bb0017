//===- FaultSites.h - Launches whose data may be wrong --------------------===//
//
// Each place that may say so has a number, which kernels leave where they find
// something wrong (an index of Gather). It stays: a captured launch says the
// same one each time. What is wrong has a code: InvalidArgument of what follows
// from the inputs of a request.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_FAULTSITES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_FAULTSITES_H

#include "runtime/collectives/Communicator.h"

#include <deque>
#include <map>
#include <string>
#include <tuple>

namespace shardc::runtime {

class FaultSites {
public:
  struct Site {
    std::string kind, node;
    int instruction;
    const char *problem;
    StatusCode code;
  };

  /// From 1; allocates only for a site that is new. `problem` is text that
  /// stays.
  unsigned numberOf(const CollectiveSite &site, const char *problem,
                    StatusCode code);
  /// Null if it is no site's number.
  const Site *find(unsigned number) const {
    return number > 0 && number <= sites.size() ? &sites[number - 1] : nullptr;
  }

private:
  /// With the text of `sites`.
  using Key =
      std::tuple<int, std::string_view, std::string_view, std::string_view>;
  std::deque<Site> sites;
  std::map<Key, unsigned> numbers;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_FAULTSITES_H
