//===- FitKeyParts.h - As many parts of the keys as a plan can use --------===//
//
// Parts that no plan gives to ranks of their own are work for nothing: whether
// they are is known when the plan is, and that needs the program. So a copy of it
// is planned with the parts that there may be, and has those that it used:
//
//   --tp 4, one key head     4 parts, each on a rank          4 parts
//   with attention pinned    4 parts, all of them on each     none
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_FITKEYPARTS_H
#define SHARDC_COMPILER_FITKEYPARTS_H

#include "compiler/Pipeline.h"
#include "passes/import/rows/KeyParts.h"

namespace shardc {

/// Of the plan that the options give, or make.
import::FitKeyParts fitKeyParts(const PipelineOptions &options);

/// What the pass takes, by the mesh: how many ranks share out heads and positions.
import::SplitKeysOptions keyRanks(const dist::Mesh &mesh,
                                  llvm::StringRef expertMode);

} // namespace shardc

#endif // SHARDC_COMPILER_FITKEYPARTS_H
