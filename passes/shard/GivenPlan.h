//===- GivenPlan.h - Whether a user's plan is one of a program ------------===//
//
// A search makes plans that every op can run by; a user may write others, which
// verify-phase would refuse in words of the compiler. Here they are refused in
// words of the plan, with the node and what it can do.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_SHARD_GIVENPLAN_H
#define SHARDC_PASSES_SHARD_GIVENPLAN_H

#include "passes/plan/PlanFile.h"
#include "passes/shard/FunctionGraph.h"

namespace shardc::shard {

/// "" or the first node that cannot run as the plan says, why, and what could
/// split it.
std::string findMistake(const FunctionGraph &source, const plan::Plan &plan,
                        const plan::OpNames &names, const dist::Mesh &mesh);

} // namespace shardc::shard

#endif // SHARDC_PASSES_SHARD_GIVENPLAN_H
