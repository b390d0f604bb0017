//===- RankPlan.h - A segment bound for one rank and its sizes ------------===//
//
// Everything that depends on sizes is done once: views, attributes, arena
// offsets, places of outputs. A run then only sets the addresses that changed
// and calls the kernels; it allocates nothing. For other sizes a plan is bound
// again, which resolves only what changed: of a decoding step, whose past is
// one longer than the last one's, attention's views and few others.
//
// The arena of a rank: [ buffers by lifetime | scratch ].
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_RANKPLAN_H
#define SHARDC_RUNTIME_PLAN_RANKPLAN_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/collectives/StageChannel.h"
#include "runtime/device/Backend.h"
#include "runtime/plan/ArenaPlanner.h"
#include "runtime/plan/CollectiveBinding.h"
#include "runtime/program/Mesh.h"
#include "runtime/program/Segments.h"
#include "runtime/program/StageScalars.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/weights/PackedOperands.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// What a segment is bound to.
struct PlanContext {
  const artifact::Program &program;
  const InstructionList &instructions;
  const Segment &segment;
  std::span<const char> carried;          ///< by buffer
  std::span<const uint32_t> arenaPlace;   ///< by buffer
  std::span<const GroupPartition> groups; ///< by program group
  StageScalars &scalars;                  ///< of the rank
  std::span<const uint8_t> dependence;    ///< by scalar
  /// By input: whether kernels read the rank's part of it where the caller has
  /// it; empty: no input is.
  std::span<const char> borrowed = {};
};

/// What a plan needs of its rank.
struct RankResources {
  int rank = 0;
  /// By buffer: address of weights and loaded values, null for all others.
  std::span<std::byte *const> fixedBuffers;
  /// By buffer: how weights lie there; null: dense.
  std::span<const BlockLayout *const> blocks;
  /// By buffer: what there is of weights that are only packed; null: they are there.
  std::span<const TransientBytes *const> transients;
  std::span<const std::unique_ptr<Communicator>> communicators; ///< by group
  std::span<StageChannel *const> channels; ///< by instruction of `run`, or null
  const Device *device = nullptr;          ///< whose kernels are called
  const KernelLibrary *library = nullptr;  ///< those of the artifact, or null
  PackedOperands *packed = nullptr;        ///< null: nothing is packed
};

struct BoundInstruction {
  std::string_view name;
  std::string_view node;
  uint32_t index = 0; ///< in the program's list
  const artifact::Instruction *source = nullptr;
  const Kernel *kernel = nullptr;  ///< null for what is no kernel's
  int collective = -1;             ///< index into RankPlan::collectives
  Communicator *awaits = nullptr;  ///< of a wait: who has started it
  int flight = -1;                 ///< of a collective in flight, or its wait
  StageChannel *channel = nullptr; ///< of a send or receive
  bool runsOnHost = false;         ///< the device has no kernel for it
  bool replicated = false;         ///< some output must be equal on all ranks
  bool borrows = false;            ///< it reads memory of the caller
  KernelCall call;
};

class RankPlan {
public:
  /// `arena`: of this rank and segment. Forgets what it was bound to.
  Status prepare(const PlanContext &context, const RankResources &resources,
                 ArenaMemo &arena);
  /// The same segment and rank with other scalars. An error leaves a plan that
  /// can only be destroyed.
  Status rebind(const PlanContext &context, const RankResources &resources,
                ArenaMemo &arena);
  bool isBound() const { return !boundScalars.empty(); }

  /// Arena bytes that a run needs.
  int64_t arenaBytes() const { return totalBytes; }
  /// Of these, values'; the rest is scratch.
  int64_t valueBytes() const { return scratchOffset; }
  /// Points everything into the arena; cheap if it did not move.
  void bindArena(std::byte *arena);
  /// Points one input's views at this rank's part of it.
  void bindInput(size_t input, std::byte *data);
  /// A carried buffer that this segment touches, and the bytes that it needs.
  struct CarriedNeed {
    uint32_t buffer;
    int64_t bytes;
  };
  std::span<const CarriedNeed> carriedNeeds() const { return carriedUses; }
  /// `memory`: by program buffer.
  void bindCarried(std::span<std::byte *const> memory);

  std::span<const BoundInstruction> instructions() const { return bound; }
  /// The kernel of one of them becomes the host's; false if that has none.
  bool moveToHost(const BoundInstruction &instruction);
  /// Whether some constant operand is not in its packed form yet.
  bool hasUnpacked() const { return nextUnpacked < unpacked.size(); }
  /// Packs those that instructions up to this one of instructions() read.
  Status packUntil(size_t instruction);
  const std::vector<BoundCollective> &collectives() const {
    return boundCollectives;
  }
  /// This rank's part of each output.
  std::vector<const TensorView *> outputs;
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
  /// Where an operand comes from.
  struct OperandSource {
    int32_t view = -1; ///< of the program; -1: absent
    uint32_t buffer = 0;
    int64_t byteOffset = 0; ///< in the buffer
  };
  Status bindInstruction(const PlanContext &context,
                         const RankResources &resources, uint32_t index);
  Status bindCommunication(const PlanContext &context,
                           const RankResources &resources,
                           BoundInstruction &into);
  Status bindOperand(const PlanContext &context, const RankResources &resources,
                     int32_t view);
  Status resolveOperand(const PlanContext &context,
                        const RankResources &resources, size_t operand);
  Status bindCollectiveOf(const PlanContext &context,
                          const RankResources &resources,
                          const BoundInstruction &instruction);
  Status rebindInstruction(const PlanContext &context,
                           const RankResources &resources,
                           const BoundInstruction &instruction,
                           std::span<const char> changed);
  Status bindAttributes(const artifact::Instruction &instruction,
                        BoundInstruction &into);
  Status packOperands(const PlanContext &context,
                      const RankResources &resources);
  /// That of packing `index` of the instruction's kernel.
  Status packOperand(const PlanContext &context, const RankResources &resources,
                     BoundInstruction &instruction, size_t index);
  static Status findKernel(const RankResources &resources,
                           BoundInstruction &into);
  Status checkOutput(const PlanContext &context, uint32_t index) const;
  Status placeAll(const PlanContext &context, const RankResources &resources,
                  ArenaMemo &arena);
  using Offsets = std::span<const int64_t>; ///< parallel to arenaUses
  Status planBuffers(const PlanContext &context, ArenaMemo &arena,
                     Offsets &offsets);
  Status placeOperands(const PlanContext &context,
                       const RankResources &resources, Offsets offsets);
  void findBorrowers(const PlanContext &context);
  void reserve(const PlanContext &context);

  std::span<const int64_t> scalars;  ///< of this rank, while it is bound
  std::vector<int64_t> boundScalars; ///< that it is bound to
  std::vector<BoundInstruction> bound;
  std::vector<BoundCollective> boundCollectives;
  std::vector<Communicator *> inFlight; ///< by flight, while preparing
  std::vector<TensorView> operands; ///< never reallocated: calls point into it
  std::vector<OperandSource> sources; ///< parallel to operands
  std::vector<char> replicated;       ///< parallel to operands
  std::vector<KernelAttribute> attributes;
  std::vector<int64_t> attributeInts;     ///< never reallocated either
  std::vector<uint32_t> attributeScalars; ///< parallel: where they come from
  std::vector<PackedOperands::Unpacked> unpacked; ///< in the order of `bound`
  std::vector<size_t> unpackedOf; ///< parallel: index into `bound`
  size_t nextUnpacked = 0;
  std::vector<CarriedNeed> carriedUses;
  std::vector<Patch> arenaPatches;
  std::vector<std::pair<Patch, uint32_t>> carriedPatches; ///< and the buffer
  std::vector<std::vector<Patch>> inputPatches;           ///< by input
  std::byte *boundArena = nullptr;
  int64_t scratchOffset = 0;
  int64_t totalBytes = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_RANKPLAN_H
