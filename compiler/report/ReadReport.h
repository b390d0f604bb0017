//===- ReadReport.h - The explanation that an artifact keeps --------------===//
#ifndef SHARDC_COMPILER_REPORT_READREPORT_H
#define SHARDC_COMPILER_REPORT_READREPORT_H

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace shardc::report {

/// Of an artifact's folder, or of a file that --explain-json wrote: "" or what is
/// wrong with it.
std::string readReport(const std::string &path, nlohmann::json &report);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_READREPORT_H
