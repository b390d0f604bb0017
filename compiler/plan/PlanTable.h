//===- PlanTable.h - Ranked degrees for people and for programs -----------===//
#ifndef SHARDC_COMPILER_PLAN_PLANTABLE_H
#define SHARDC_COMPILER_PLAN_PLANTABLE_H

#include "compiler/plan/PlanModel.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc {

/// The best ones, a line each, with flags to paste.
void printPlanTable(const PlanRequest &request, const PlanAnswer &answer,
                    llvm::raw_ostream &output);
/// All of them: bytes and seconds of the fullest and slowest rank.
void printPlanJson(const PlanRequest &request, const PlanAnswer &answer,
                   llvm::raw_ostream &output);

/// An entry of "candidates".
nlohmann::json jsonOf(const PlanRequest &request, const PlanAnswer &answer,
                      const plan::Candidate &candidate);

/// The sizes of --plan-dims that choices of a compile are for, as they were for the
/// prediction. A step of rows behind some positions has one of each.
std::map<std::string, int64_t> planDimsOf(const PlanRequest &request,
                                          const PlanAnswer &answer);

const char *goalName(plan::Goal goal);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PLANTABLE_H
