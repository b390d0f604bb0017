//===- TopologyFuzz.cpp - Any text as a machine file ----------------------===//
#include "passes/plan/machine/ReadMachine.h"

#include <cmath>
#include <cstdlib>

/// What is accepted can be asked what collectives and products cost.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc;
  plan::Machine machine;
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (!plan::parseMachine(text, machine).empty())
    return 0;
  if (machine.numDevices() < 1 ||
      machine.nodeOf(machine.numDevices() - 1) != machine.nodes - 1)
    std::abort();
  auto check = [](double seconds) {
    if (std::isnan(seconds) || seconds < 0)
      std::abort();
  };
  for (int64_t nodes : {int64_t{1}, machine.nodes})
    for (const artifact::CollectiveForm &form : artifact::kCollectiveForms) {
      const plan::Route route{8 * nodes, nodes, 8};
      check(plan::collectiveSeconds(machine, form.kind, route, 1 << 20));
      check(plan::sendSeconds(machine, route, 1 << 20));
    }
  for (const plan::Device &device : machine.devices)
    check(plan::productSeconds(device, {1024, 4096, 4096, 16}));
  return 0;
}
