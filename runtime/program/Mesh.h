//===- Mesh.h - Ranks, coordinates, replica groups ------------------------===//
//
// Ranks count through the mesh with the last axis fastest. A group's parts name
// digits of the coordinates; ranks that differ only in these digits
// communicate.
//
// Example, mesh <"dp"=2, "tp"=4>, group {tp: (2)2} (the minor half of tp):
//   rank 5 = coordinates {1, 1}; its digit is 1; it talks to rank 4 (digit 0).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_MESH_H
#define SHARDC_RUNTIME_PROGRAM_MESH_H

#include "runtime/artifact/Format.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Coordinates of `rank` along each axis.
std::vector<int64_t> coordinatesOf(const artifact::Program &program, int rank);

/// All concrete groups of one Group, and where each rank is in them.
struct GroupPartition {
  std::vector<std::vector<int>> groups; ///< members in group order
  std::vector<int> groupOf;             ///< by rank: index into groups
  std::vector<int> indexOf;             ///< by rank: position in its group
};

GroupPartition partitionRanks(const artifact::Program &program,
                              const artifact::Group &group);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_MESH_H
