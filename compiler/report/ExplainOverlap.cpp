//===- ExplainOverlap.cpp - What runs beside collectives, and why ---------===//

#include "compiler/report/Explain.h"

#include "dialects/dist/NodeName.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/rt/Rt.h"

#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <set>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::report {

static Json entryOf(DictionaryAttr decision) {
  auto number = [&](StringRef name) {
    return decision.getAs<IntegerAttr>(name).getInt();
  };
  auto seconds = [&](StringRef name) {
    return decision.getAs<FloatAttr>(name).getValueAsDouble();
  };
  return {{"node", decision.getAs<StringAttr>("node").str()},
          {"kind", decision.getAs<StringAttr>("kind").str()},
          {"rows", number("rows")},
          {"parts", number("parts")},
          {"seconds_before", seconds("before")},
          {"seconds_after", seconds("after")}};
}

/// By node and kind.
using Collectives = std::set<std::pair<std::string, std::string>>;

/// Collectives that stand beside no product, but run beside other work.
static void addOthers(rt::ProgramOp program, const Collectives &decided,
                      Json &overlap) {
  for (auto collective : program.getOps<rt::CollectiveOp>()) {
    const std::string node = nodeName(collective).str();
    if (collective.getFlight() &&
        !decided.count({node, collective.getKernel().str()}))
      overlap["others"].push_back(
          {{"node", node}, {"kind", collective.getKernel().str()}});
  }
}

void explainOverlap(ModuleOp module, StringRef mode, StringRef target,
                    Json &report) {
  Json &overlap = report["overlap"];
  overlap = {{"mode", mode.str()},
             {"started", 0},
             {"collectives", Json::array()},
             {"others", Json::array()},
             {"why", ""}};
  int64_t started = 0;
  Collectives decided;
  for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
    for (auto collective : program.getOps<rt::CollectiveOp>())
      started += collective.getFlight().has_value();
    if (auto list = program->getAttrOfType<ArrayAttr>(rt::kOverlapAttr))
      for (auto decision : list.getAsRange<DictionaryAttr>()) {
        const Json &entry =
            overlap["collectives"].emplace_back(entryOf(decision));
        decided.emplace(entry["node"], entry["kind"]);
        if (std::string profile = onnx::profileText(program); !profile.empty())
          overlap["collectives"].back()["profile"] = profile;
      }
    addOthers(program, decided, overlap);
  }
  overlap["started"] = started;
  if (mode == "off")
    overlap["why"] = "--overlap off";
  else if (mode == "auto" && target == "host")
    overlap["why"] = "on the host a rank's own cores do both; --overlap 2 or "
                     "more does it anyway";
}

/// "all_reduce at up: 4 parts, 1304.2 us to 1020.0 us, at 4096 rows"
static void printDecision(const Json &entry, llvm::raw_ostream &os) {
  const double before = entry["seconds_before"].get<double>() * 1e6;
  const double after = entry["seconds_after"].get<double>() * 1e6;
  os << "  " << entry["kind"].get<std::string>() << " at "
     << entry["node"].get<std::string>();
  if (entry.contains("profile"))
    os << " with " << entry["profile"].get<std::string>();
  if (int64_t parts = entry["parts"].get<int64_t>(); parts > 1)
    os << ": " << parts << " parts, "
       << llvm::format("%.1f us to %.1f us", before, after);
  else if (after < before)
    os << ": as a whole, "
       << llvm::format("%.1f us; parts would save too little, %.1f us", before,
                       after);
  else
    os << ": as a whole, "
       << llvm::format("%.1f us; parts would be slower", before);
  os << ", at " << entry["rows"].get<int64_t>() << " rows\n";
}

void printOverlap(const Json &report, llvm::raw_ostream &os) {
  if (!report.contains("overlap") || report["collectives"].empty())
    return;
  const Json &overlap = report["overlap"];
  if (const auto why = overlap["why"].get<std::string>(); !why.empty()) {
    os << "no collective runs beside products: " << why << "\n";
    return;
  }
  os << overlap["started"].get<int64_t>()
     << " collectives, or parts of them, run beside other work; predicted for "
        "product and collective\n";
  for (const Json &entry : overlap["collectives"])
    printDecision(entry, os);
  for (const Json &entry : overlap["others"])
    os << "  " << entry["kind"].get<std::string>() << " at "
       << entry["node"].get<std::string>()
       << ": as a whole, beside what does not need it\n";
}

} // namespace shardc::report
