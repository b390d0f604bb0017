//===- TransferCostTest.cpp - Seconds from one stage to the next ----------===//

#include "passes/plan/cost/TransferCost.h"
#include "passes/plan/machine/ReadMachine.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::plan;

namespace {

Machine twoNodesOfFour() {
  Machine machine;
  EXPECT_EQ(parseMachine(R"({
    "nodes": 2, "devices_per_node": 4,
    "inside_node": {"gigabytes_per_second": 100, "microseconds": 2},
    "between_nodes": {"gigabytes_per_second": 10, "microseconds": 20}})",
                         machine),
            "");
  return machine;
}

TEST(TransferCost, partsGoOverTheSlowLinksAndAreGatheredOverTheFastOnes) {
  const Machine machine = twoNodesOfFour();
  const dist::Mesh mesh{{{"pp", 2}, {"tp", 4}}};
  const Transfer transfer{0, 1, 4e6, {{"tp", 1, 4}}};
  EXPECT_DOUBLE_EQ(wholeSeconds(machine, mesh, transfer), 20e-6 + 400e-6);
  // A quarter each; then three steps of a quarter.
  EXPECT_DOUBLE_EQ(scatteredSeconds(machine, mesh, transfer),
                   20e-6 + 100e-6 + 3 * (2e-6 + 10e-6));
}

TEST(TransferCost, ofTwoAxesTheOneThatIsAlikeGathers) {
  const Machine machine = twoNodesOfFour();
  const dist::Mesh mesh{{{"pp", 2}, {"cp", 2}, {"tp", 2}}};
  const Transfer transfer{0, 1, 2e6, {{"tp", 1, 2}}};
  EXPECT_DOUBLE_EQ(scatteredSeconds(machine, mesh, transfer),
                   20e-6 + 100e-6 + (2e-6 + 10e-6));
}

TEST(TransferCost, whereStagesShareANodeThereIsNothingToGain) {
  const Machine machine = twoNodesOfFour();
  const dist::Mesh mesh{{{"tp", 4}, {"pp", 2}}};
  const Transfer transfer{0, 1, 4e6, {{"tp", 1, 4}}};
  EXPECT_LT(wholeSeconds(machine, mesh, transfer),
            scatteredSeconds(machine, mesh, transfer));
}

} // namespace
