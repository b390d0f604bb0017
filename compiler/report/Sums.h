//===- Sums.h - What a profile sends in all -------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_SUMS_H
#define SHARDC_COMPILER_REPORT_SUMS_H

#include <nlohmann/json_fwd.hpp>

namespace shardc::report {

/// Adds to `total`, whose "profile" says of which one, sums over the report's
/// collectives and transfers: "collectives", "bytes", "wire_bytes",
/// "transfers", "transfer_bytes"; with a topology "seconds", what one request
/// waits for all of them if nothing runs beside them. Null where something of
/// it is not known.
void addSums(const nlohmann::json &report, nlohmann::json &total);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_SUMS_H
