//===- RankPlan.h - A program bound for one rank and one shape ------------===//
//
// Everything that depends on sizes is done once: views, attributes, arena
// offsets, slices of inputs, places of outputs. A run then only sets the
// addresses that changed and calls the kernels; it allocates nothing.
//
// The arena of a rank: [ buffers by lifetime | scratch | packed input slices ].
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_RANKPLAN_H
#define SHARDC_RUNTIME_EXEC_RANKPLAN_H

#include "runtime/exec/BufferUses.h"
#include "runtime/exec/CollectiveBinding.h"
#include "runtime/exec/Mesh.h"
#include "runtime/exec/StridedCopy.h"
#include "runtime/exec/ViewResolver.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// What the plans of all ranks share.
struct PlanContext {
  const artifact::Program &program;
  Phase phase;
  std::span<const ArenaBufferUse> arenaUses;
  std::span<const GroupPartition> groups;           ///< by program group
  std::span<const std::vector<int64_t>> allScalars; ///< by world rank
};

/// What a plan needs of its rank.
struct RankResources {
  int rank = 0;
  /// By buffer: address of weights and loaded values, null for all others.
  std::span<std::byte *const> fixedBuffers;
  std::span<const std::unique_ptr<Communicator>> communicators; ///< by group
};

struct BoundInstruction {
  std::string_view name;
  std::string_view node;
  const Kernel *kernel = nullptr; ///< null for a collective
  int collective = -1;            ///< index into RankPlan::collectives
  bool replicated = false;        ///< some output must be equal on all ranks
  KernelCall call;
};

/// A rank's part of an input: a window on the caller's memory where it can be.
struct InputSlice {
  std::vector<OwnedRuns> dims;
  TensorView global; ///< of the caller's tensor; data is set for each run
  TensorView local;  ///< packed; data is null where the window serves
  bool isWindow = false;
  int64_t windowOffset = 0; ///< bytes into the caller's tensor
  int64_t arenaOffset = 0;
};

/// A rank's part of an output.
struct OutputBlock {
  std::vector<OwnedRuns> dims;
  const TensorView *local = nullptr;
  bool copies = true; ///< false: a lower rank holds the same block
};

class RankPlan {
public:
  Status prepare(const PlanContext &context, const RankResources &resources);

  /// Arena bytes that a run needs.
  int64_t arenaBytes() const { return totalBytes; }
  /// Points everything into the arena; cheap if it did not move.
  void bindArena(std::byte *arena);
  /// Points one input's views at the caller's tensor and packs its slice.
  void bindInput(size_t input, const void *data);

  std::span<const BoundInstruction> instructions() const { return bound; }
  const std::vector<BoundCollective> &collectives() const {
    return boundCollectives;
  }
  std::vector<OutputBlock> outputs;
  /// By operand of an instruction's outputs: see isReplicated.
  bool isReplicated(const TensorView &output) const {
    return replicated[static_cast<size_t>(&output - operands.data())] != 0;
  }

private:
  /// An operand's address: base of a buffer plus bytes.
  struct Patch {
    uint32_t operand;
    int64_t byteOffset;
  };
  Status bindInstruction(const PlanContext &context,
                         const RankResources &resources, uint32_t index);
  Status bindOperand(const PlanContext &context, int32_t view);
  Status bindAttributes(const artifact::Instruction &instruction,
                        BoundInstruction &into);
  Status sliceInput(const PlanContext &context, uint32_t index);
  Status placeOutput(const PlanContext &context, uint32_t index);
  Status planBuffers(const PlanContext &context);
  Status placeOperands(const PlanContext &context,
                       const RankResources &resources);
  void reserve(const PlanContext &context);

  std::span<const int64_t> scalars; ///< of this rank; outlives the plan
  std::vector<BoundInstruction> bound;
  std::vector<BoundCollective> boundCollectives;
  std::vector<TensorView> operands; ///< never reallocated: calls point into it
  std::vector<ResolvedView> unplaced; ///< parallel to operands while preparing
  std::vector<char> replicated;       ///< parallel to operands
  std::vector<KernelAttribute> attributes;
  std::vector<int64_t> attributeInts;
  std::vector<InputSlice> inputs;
  std::vector<int64_t> bufferOffsets; ///< by program buffer, in the arena
  std::vector<Patch> arenaPatches;
  std::vector<std::vector<Patch>> inputPatches; ///< by input
  std::byte *boundArena = nullptr;
  int64_t scratchOffset = 0;
  int64_t totalBytes = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_RANKPLAN_H
