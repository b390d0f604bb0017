//===- PlanFlags.h - Flags that make a plan -------------------------------===//
//
// Of several commands: compiling, verifying, planning, explaining.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_PLANFLAGS_H
#define SHARDC_TOOLS_SHARDC_PLANFLAGS_H

#include "tools/shardc/Flags.h"

#include <CLI/CLI.hpp>

namespace shardc {

/// Of each axis.
constexpr int64_t kMaxRanks = 65536;

/// As the user wrote them.
struct DimTexts {
  std::string dims, planDims;
  std::vector<std::string> mix;
};

/// --serve and --kv-type.
void addServing(CLI::App &app, Flags &flags);
/// --no-progress.
void addNoProgress(CLI::App &app, Flags &flags);
/// --weights-type.
void addWeightsType(CLI::App &app, Flags &flags);
void addBitwise(CLI::App &app, Flags &flags);
/// --tp and the like.
void addDegrees(CLI::App &app, Flags &flags);
/// All that makes the plan.
void addPlanFlags(CLI::App &app, Flags &flags, DimTexts &dims);
/// Of planning for a machine, with or without compiling.
void addPlanning(CLI::App &app, Flags &flags, DimTexts &dims);

/// Of planning for training.
void addTraining(CLI::App &app, TrainingFlags &flags);

//===--- Behind parsing: "" or what is wrong ------------------------------===//

/// Major to minor; those of one way left out, but for "tp".
std::string collectAxes(Flags &flags);
/// --shares, of axes that are collected.
std::string readShares(Flags &flags);
/// "batch=1,seq=128"
std::string parseDims(const std::string &flag, const std::string &text,
                      std::map<std::string, int64_t> &dims);
/// "3:batch=32,seq=1024" of each kind of request, and no --dims beside them.
std::string parseMix(const DimTexts &dims, Flags &flags);
/// --load-plan and flags beside it.
std::string checkLoadedPlan(const CLI::App &app, const Flags &flags);
/// --compute and flags beside it.
std::string checkCompute(const Flags &flags);
/// --bitwise and flags beside it; without --cp-mode that is another one.
std::string checkBitwise(const CLI::App &app, Flags &flags);
/// --auto and flags beside it.
std::string checkAutomatic(const CLI::App &app, const Flags &flags);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_PLANFLAGS_H
