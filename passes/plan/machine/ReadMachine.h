//===- ReadMachine.h - Machine files, and those that come with shardc -----===//
//
// A machine is a preset with its size, "h100:16x8", or a file:
//
//   {"nodes": 2, "devices_per_node": 4,
//    "inside_node":   {"gigabytes_per_second": 300, "microseconds": 4},
//    "between_nodes": {"gigabytes_per_second": 25,  "microseconds": 12}}
//
//   {"nodes": 16, "preset": "h100",
//    "between_nodes": {"send": [[1024, 15], [1048576, 37], [67108864, 1443]],
//                      "all_reduce": {"4": [[1024, 95], [1048576, 378]]}}}
//
// Curves are [bytes, microseconds] (Curve.h), of collectives by the ranks that
// were measured (Links.h). "device" describes one (presets/h100.json shows how),
// "devices" one for each node; what a file says takes the place of its preset's, a
// link's as a whole.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_READMACHINE_H
#define SHARDC_PASSES_PLAN_MACHINE_READMACHINE_H

#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/StringRef.h"

namespace shardc::plan {

/// "a100, b200, ..."
std::string presetNames();

/// Of PRESET:NODESxDEVICES, or of a file's text: "" or what is wrong with it, and
/// the remedy.
std::string parseMachine(llvm::StringRef text, Machine &machine);

/// Whether the text names a preset, with or without a size, and no file.
bool isPreset(llvm::StringRef text);
/// The same of what a user names, a preset or a file, whose text is then that of
/// the preset or of the file.
std::string loadMachine(const std::string &named, std::string &text,
                        Machine &machine);

/// For choices where users may have said nothing: without a text a node of so many
/// H100s, which are the devices of a text that has links alone, too. "" or what is
/// wrong.
std::string parseMachineOrTypical(llvm::StringRef text, int64_t ranks,
                                  Machine &machine);

/// The device of a preset that is there.
Device presetDevice(llvm::StringRef name);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_READMACHINE_H
