//===- LoadedProgram.h - What a program says, found once ------------------===//
//
// An artifact holds one program for each profile; a request runs the first
// whose conditions hold. All ranks of a stage share these.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_LOADEDPROGRAM_H
#define SHARDC_RUNTIME_RANK_LOADEDPROGRAM_H

#include "runtime/program/Mesh.h"
#include "runtime/program/Segments.h"
#include "runtime/tensor/Tensor.h"

#include <span>
#include <vector>

namespace shardc::runtime {

struct LoadedProgram {
  const artifact::Program *program = nullptr;
  size_t number = 0;  ///< in the artifact
  size_t profile = 0; ///< among those of the stage
  std::vector<uint8_t> dependence;
  std::vector<char> usesInput; ///< whether an instruction or output reads it
  std::vector<char> usesSlice; ///< usedSlices
  Segments run;
  Segments load;
  std::vector<std::vector<int64_t>> coordinates; ///< by rank
  std::vector<GroupPartition> partitions;        ///< by program group

  LoadedProgram(const artifact::Program &program, size_t number, size_t profile,
                int numRanks);

  /// Whether it is for such inputs, given in the program's order.
  bool accepts(std::span<const InputTensor *const> inputs) const;
  /// Before accepts: what it reads of them is in the host's memory.
  Status checkReadable(std::span<const InputTensor *const> inputs) const;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_LOADEDPROGRAM_H
