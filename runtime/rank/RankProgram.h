//===- RankProgram.h - What a rank keeps of a program between runs --------===//
#ifndef SHARDC_RUNTIME_RANK_RANKPROGRAM_H
#define SHARDC_RUNTIME_RANK_RANKPROGRAM_H

#include "runtime/collectives/StageChannel.h"
#include "runtime/device/DeviceBuffer.h"
#include "runtime/program/StageScalars.h"
#include "runtime/rank/LoadedProgram.h"
#include "runtime/rank/RankShapePlan.h"
#include "runtime/weights/WeightLoader.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardc::runtime {

struct RankProgram {
  const LoadedProgram &loaded;
  StageScalars scalars; ///< as what was bound last has them
  RankWeights weights;
  std::vector<DeviceBuffer> persistent;  ///< while loading, by buffer
  std::vector<std::byte *> fixedBuffers; ///< by buffer of the program
  // Likewise, of weights and loaded values: null where they lie dense, and where
  // they are there.
  std::vector<const BlockLayout *> blocks;
  std::vector<const TransientBytes *> transients;
  std::vector<std::unique_ptr<Communicator>> communicators; ///< by group
  /// What a device's communicators and channels go over; empty on the host.
  std::vector<std::unique_ptr<Communicator>> hostCommunicators;
  std::vector<std::unique_ptr<StageChannel>> deviceChannels;
  std::vector<StageChannel *> channels; ///< by instruction of `run`, or null
  std::vector<ArenaMemo> arenas;        ///< by segment
  std::vector<DeviceBuffer> carried;    ///< by buffer of the program
  std::vector<std::byte *> carriedAt;   ///< where it is in this run
  std::optional<ConstantReads> reads;   ///< only while loading, on a host
  std::unique_ptr<RankPlan> loadPlan;   ///< only while loading
  std::vector<std::unique_ptr<RankShapePlan>> plans; ///< by slot

  /// `loaded` lives longer.
  RankProgram(const LoadedProgram &loaded, int rank)
      : loaded(loaded), scalars(*loaded.program, loaded.coordinates, rank),
        arenas(loaded.run.list.size()),
        carried(loaded.program->buffers()->size()),
        carriedAt(loaded.program->buffers()->size()) {}

  const artifact::Program &program() const { return *loaded.program; }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_RANKPROGRAM_H
