//===- WeightCopy.h - Each rank's weights in one safetensors file ---------===//
#ifndef SHARDC_COMPILER_PACKAGE_WEIGHTCOPY_H
#define SHARDC_COMPILER_PACKAGE_WEIGHTCOPY_H

#include "dialects/rt/Rt.h"

#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace shardc::package {

/// Writes weights/rank-00000.safetensors, ... below `artifactFolder` and adds
/// them with their hashes to `files`; `quantizedFile` is where the weights are
/// that were quantised; `progress`, if there is one, gets
/// which part is done. "" or what went wrong.
std::string copyWeights(mlir::ModuleOp module, const dist::Mesh &mesh,
                        const std::string &modelFolder,
                        const std::string &quantizedFile,
                        const std::string &artifactFolder,
                        nlohmann::json &files,
                        const std::function<void(double)> &progress = {});

/// Ranges of a row-major tensor's elements that a rank owns, in order, merged
/// where they touch. Example: [4, 6] split by columns over 2 ranks, rank 1:
/// {3, 3}, {9, 3}, {15, 3}, {21, 3}.
struct ElementRange {
  uint64_t start, count;
};
std::vector<ElementRange> ownedRanges(const dist::Sharding &sharding,
                                      const dist::Mesh &mesh, int64_t rank);

/// Writes those elements of `bytes`, one after the other. Elements of less
/// than a byte share bytes anew.
void writeElements(llvm::StringRef bytes, llvm::ArrayRef<ElementRange> ranges,
                   mlir::Type element, llvm::raw_ostream &out);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_WEIGHTCOPY_H
