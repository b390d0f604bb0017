//===- WeightCopy.h - Each rank's weights in one safetensors file ---------===//
#ifndef SHARDC_COMPILER_PACKAGE_WEIGHTCOPY_H
#define SHARDC_COMPILER_PACKAGE_WEIGHTCOPY_H

#include "dialects/rt/Rt.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace shardc::package {

/// Writes weights/rank-00000.safetensors, ... below `artifactFolder` and adds
/// them with their hashes to `files`. "" or what went wrong.
std::string copyWeights(mlir::ModuleOp module, const dist::Mesh &mesh,
                        const std::string &modelFolder,
                        const std::string &artifactFolder,
                        nlohmann::json &files);

/// Byte ranges of a row-major tensor that a rank owns, in order, merged where
/// they touch. Example: [4, 6] f32 split by columns over 2 ranks, rank 1:
/// {12, 12}, {36, 12}, {60, 12}, {84, 12}.
struct ByteRange {
  uint64_t offset, length;
};
std::vector<ByteRange> ownedRanges(const dist::Sharding &sharding,
                                   const dist::Mesh &mesh, int64_t rank,
                                   int64_t elementBytes);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_WEIGHTCOPY_H
