//===- PlanEntry.h - The keys of an object in a plan file -----------------===//
//
// What a plan does not say runs whole, so a key that is misspelt, or has a value
// of another type, must not count as left out:
//
//   {"node": "/up", "split": [...]}      has "split"; the nearest key is "splits"
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_PLANENTRY_H
#define SHARDC_PASSES_PLAN_PLANENTRY_H

#include "llvm/ADT/ArrayRef.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace shardc::plan {

struct EntryKey {
  enum class Kind { Text, Number, Truth, List, Object };
  const char *name;
  Kind kind;
  bool isNeeded = false;
};

/// "" or what is wrong with an entry: it is no object, lacks a key, has another
/// one, or a value of another type. Numbers are integers from 0 on.
std::string checkEntry(const nlohmann::json &entry,
                       llvm::ArrayRef<EntryKey> keys);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_PLANENTRY_H
