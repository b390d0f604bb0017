//===- HostNeeds.h - What ranks take of a host's memory -------------------===//
//
// Weights that are used where they lie are pages of their file, which the system
// reads and drops as it needs: they count for nothing. What counts has no file
// behind it:
//
//   slices that are no one piece of their file      of each rank
//   what is computed of weights when they are there of each rank
//   matrices as products read them                  of all ranks of a process
//                                                   that read the same slice
//
// All of it is at least what a first request takes, never more: what is refused
// for it could not have run.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_MEMORY_HOSTNEEDS_H
#define SHARDC_RUNTIME_MEMORY_HOSTNEEDS_H

#include "runtime/artifact/Artifact.h"

#include <set>
#include <string>

namespace shardc::runtime {

class HostNeeds {
public:
  explicit HostNeeds(const Artifact &artifact) : artifact(artifact) {}

  /// Copies of weights that a rank of a stage adds to those of the ranks before
  /// it; `worldRank` tells replicas apart.
  Status add(int stage, int rank, int worldRank, int64_t &bytes);

private:
  const Artifact &artifact;
  std::set<std::string> shared; ///< matrices that some rank has arranged
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_MEMORY_HOSTNEEDS_H
