//===- ReadPlanFile.h - A plan that was saved -----------------------------===//
#ifndef SHARDC_COMPILER_PLAN_READPLANFILE_H
#define SHARDC_COMPILER_PLAN_READPLANFILE_H

#include "compiler/Compile.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc {

/// Of a file that --save-plan wrote, or of an artifact's folder: sets the mesh, the
/// modes and the plan. "" or what is wrong with it.
std::string readPlanFile(const std::string &path, CompileOptions &options);

/// Of what such a file has.
std::string readPlan(const nlohmann::json &plan, CompileOptions &options);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_READPLANFILE_H
