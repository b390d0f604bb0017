//===- HtmlReport.h - A plan on one page ----------------------------------===//
//
// The mesh on the machine, stages and their balance, memory by kind, a layer with
// its shardings, the predicted timeline, collectives and the alternatives: one
// file that needs no network. All data stand in it as JSON; HtmlReport.html draws
// them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PLAN_HTMLREPORT_H
#define SHARDC_COMPILER_PLAN_HTMLREPORT_H

#include "compiler/plan/PlanModel.h"

namespace shardc {

/// `explanation` is the text of --explain-json, "" where nothing was compiled;
/// `request` wanted a layer.
void writeHtmlReport(const std::string &explanation, const PlanRequest &request,
                     const PlanAnswer &answer, llvm::raw_ostream &os);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_HTMLREPORT_H
