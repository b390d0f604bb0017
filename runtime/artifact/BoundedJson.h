//===- BoundedJson.h - JSON of an artifact, which nobody believes ---------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_BOUNDEDJSON_H
#define SHARDC_RUNTIME_ARTIFACT_BOUNDEDJSON_H

#include <nlohmann/json.hpp>

#include <string_view>

namespace shardc::runtime {

/// No file of an artifact is nested deeper than a few levels. Printing a value
/// goes down by recursion, for which there is as much stack as the caller has.
inline constexpr int kMaxJsonDepth = 32;

/// Discarded (no object, no list) where the text is no JSON, or nested deeper.
inline nlohmann::json parseBoundedJson(std::string_view text) {
  bool isDeep = false;
  auto keeps = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
    isDeep |= depth > kMaxJsonDepth;
    return !isDeep;
  };
  nlohmann::json parsed = nlohmann::json::parse(text.begin(), text.end(), keeps,
                                                /*allow_exceptions=*/false);
  return isDeep ? nlohmann::json(nlohmann::json::value_t::discarded) : parsed;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_BOUNDEDJSON_H
