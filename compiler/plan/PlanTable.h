//===- PlanTable.h - Ranked degrees for people and for programs -----------===//
#ifndef SHARDC_COMPILER_PLAN_PLANTABLE_H
#define SHARDC_COMPILER_PLAN_PLANTABLE_H

#include "compiler/plan/PlanModel.h"

namespace shardc {

/// The best ones, a line each, with flags to paste.
void printPlanTable(const PlanRequest &request, const PlanAnswer &answer,
                    llvm::raw_ostream &output);
/// All of them: bytes and seconds of the fullest and slowest rank.
void printPlanJson(const PlanRequest &request, const PlanAnswer &answer,
                   llvm::raw_ostream &output);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_PLANTABLE_H
