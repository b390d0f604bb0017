//===- Diff.h - What differs between two plans ----------------------------===//
//
//   mesh                 tp 4                 tp 8
//   collectives          65                   65
//   bytes on the wire    3.5 MiB              7.0 MiB
//   weights of a rank    3.7 GiB              1.9 GiB
//   only in the second: all_gather over tp at /model/layers.0/...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_DIFF_H
#define SHARDC_COMPILER_REPORT_DIFF_H

#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc::report {

/// Prints it; whether anything differs.
bool printDiff(const nlohmann::json &first, const nlohmann::json &second,
               llvm::raw_ostream &os);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_DIFF_H
