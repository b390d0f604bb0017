//===- Sums.cpp - What a profile sends in all -----------------------------===//

#include "compiler/report/Sums.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc::report {

/// Null stays null: a sum with an unknown part.
static void addTo(Json &sum, const Json &entry, const char *key) {
  auto found = entry.find(key);
  if (sum.is_null() || found == entry.end() || !found->is_number())
    sum = nullptr;
  else if (found->is_number_float() || sum.is_number_float())
    sum = sum.get<double>() + found->get<double>();
  else
    sum = sum.get<int64_t>() + found->get<int64_t>();
}

void addSums(const Json &report, Json &total) {
  Json bytes = 0, wireBytes = 0, transferBytes = 0, seconds = 0.0;
  int64_t collectives = 0, transfers = 0;
  bool knowsLinks = false;
  auto isHere = [&](const Json &entry) {
    return entry.value("profile", "") == total["profile"].get<std::string>();
  };
  auto addSeconds = [&](const Json &entry) {
    knowsLinks |= entry.contains("nodes");
    addTo(seconds, entry, "seconds");
  };
  for (const Json &entry : report["collectives"])
    if (isHere(entry)) {
      ++collectives;
      addTo(bytes, entry, "bytes");
      addTo(wireBytes, entry, "wire_bytes");
      addSeconds(entry);
    }
  for (const Json &entry : report["transfers"])
    if (isHere(entry)) {
      ++transfers;
      addTo(transferBytes, entry, "bytes");
      addSeconds(entry);
    }
  total.update({{"collectives", collectives},
                {"bytes", bytes},
                {"wire_bytes", wireBytes},
                {"transfers", transfers},
                {"transfer_bytes", transferBytes}});
  if (knowsLinks)
    total["seconds"] = seconds;
}

} // namespace shardc::report
