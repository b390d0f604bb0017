//===- PlanEntry.cpp - The keys of an object in a plan file ---------------===//

#include "passes/plan/PlanEntry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc::plan {

using Kind = EntryKey::Kind;

static bool isOfKind(const Json &value, Kind kind) {
  switch (kind) {
  case Kind::Text:
    return value.is_string();
  case Kind::Number:
    return value.is_number_unsigned() ||
           (value.is_number_integer() && value.get<int64_t>() >= 0);
  case Kind::Truth:
    return value.is_boolean();
  case Kind::List:
    return value.is_array();
  case Kind::Object:
    return value.is_object();
  }
  return false;
}

static const char *nameOf(Kind kind) {
  switch (kind) {
  case Kind::Text:
    return "text";
  case Kind::Number:
    return "number from 0 on";
  case Kind::Truth:
    return "truth value";
  case Kind::List:
    return "list";
  case Kind::Object:
    return "object";
  }
  return "";
}

static std::string quoted(const std::string &name) { return '"' + name + '"'; }

std::string checkEntry(const Json &entry, llvm::ArrayRef<EntryKey> keys) {
  if (!entry.is_object())
    return "expected an object with " + quoted(keys.front().name);
  for (const auto &[name, value] : entry.items()) {
    const llvm::StringRef found = name;
    auto known = llvm::find_if(
        keys, [&](const EntryKey &key) { return found == key.name; });
    if (known == keys.end()) {
      auto nearest = std::min_element(
          keys.begin(), keys.end(), [&](const EntryKey &a, const EntryKey &b) {
            return found.edit_distance(a.name) < found.edit_distance(b.name);
          });
      return "has " + quoted(name) +
             ", which no plan has; the nearest key is " + quoted(nearest->name);
    }
    if (!isOfKind(value, known->kind))
      return quoted(name) + " is no " + nameOf(known->kind);
  }
  for (const EntryKey &key : keys)
    if (key.isNeeded && !entry.contains(key.name))
      return "has no " + quoted(key.name);
  return "";
}

} // namespace shardc::plan
