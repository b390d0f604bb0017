//===- LoadedProgram.h - A program of the artifact, ready to run ----------===//
//
// An artifact holds one program for each profile; a request runs the first
// whose conditions hold.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_STAGE_LOADEDPROGRAM_H
#define SHARDC_RUNTIME_STAGE_LOADEDPROGRAM_H

#include "runtime/collectives/StageChannel.h"
#include "runtime/collectives/threads/SharedMemoryGroup.h"
#include "runtime/device/DeviceBuffer.h"
#include "runtime/rank/ShapePlan.h"
#include "runtime/tensor/Tensor.h"
#include "runtime/weights/DeviceWeights.h"
#include "runtime/weights/SliceUses.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

/// What one rank keeps of a program between runs.
struct RankProgram {
  RankWeights weights;
  std::vector<DeviceBuffer> persistent;  ///< while loading, in their order
  std::vector<std::byte *> fixedBuffers; ///< by buffer of the program
  std::vector<std::unique_ptr<Communicator>> communicators; ///< by group
  /// What a device's communicators and channels go over; empty on the host.
  std::vector<std::unique_ptr<Communicator>> hostCommunicators;
  std::vector<std::unique_ptr<StageChannel>> deviceChannels;
  std::vector<StageChannel *> channels; ///< by instruction of `run`, or null
  std::vector<ArenaMemo> arenas;        ///< by segment
  std::vector<DeviceBuffer> carried;    ///< by buffer of the program
  std::vector<std::byte *> carriedAt;   ///< where it is in this run
  std::unique_ptr<RankPlan> loadPlan;   ///< only while loading
};

struct LoadedProgram {
  const artifact::Program *program = nullptr;
  size_t number = 0; ///< in the artifact
  std::vector<uint8_t> dependence;
  std::vector<char> usesInput; ///< whether an instruction or output reads it
  std::vector<char> usesSlice; ///< usedSlices
  Segments run;
  Segments load;
  std::vector<std::vector<int64_t>> coordinates; ///< by rank
  std::vector<GroupPartition> partitions;        ///< by program group
  std::vector<std::unique_ptr<SharedMemoryGroup>> sharedGroups;
  std::vector<std::vector<int64_t>> loadScalars; ///< by rank
  std::vector<RankProgram> ranks;
  std::vector<std::unique_ptr<ShapePlan>> plans; ///< recently used shapes
  std::vector<int64_t> symbols;                  ///< of the request at hand

  LoadedProgram(const artifact::Program &program, size_t number,
                size_t numRanks);

  /// Whether it is for such inputs, given in the program's order.
  bool accepts(std::span<const InputTensor *const> inputs) const;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_STAGE_LOADEDPROGRAM_H
