#include "runtime/memory/HostNeeds.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/artifact/Instructions.h"
#include "runtime/artifact/ScalarDependence.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Message.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/program/LoadSpans.h"
#include "runtime/program/Mesh.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/tensor/Ownership.h"
#include "runtime/weights/PackedOperands.h"
#include "runtime/weights/SliceUses.h"
#include "runtime/weights/WeightLoader.h"

#include <algorithm>
#include <map>

namespace shardc::runtime {
namespace {

/// One rank's copies for one program.
class ProgramNeeds {
public:
  ProgramNeeds(const Artifact &artifact, const artifact::Program &program,
               int rank, int worldRank)
      : artifact(artifact), program(program), rank(rank), worldRank(worldRank),
        dependence(scalarDependences(program)) {}

  Status evaluate() {
    SHARDC_RETURN_IF_ERROR(evaluateLoadScalars(
        program, dependence, coordinatesOf(program, rank), scalars));
    reads.emplace(program, dependence, scalars);
    const std::vector<char> stays = usedSlices(program);
    std::vector<char> isShown(program.buffers()->size(), 0);
    for (const artifact::View *view : *program.views())
      isShown[view->buffer()] = 1;
    for (uint32_t b = 0; b < isShown.size(); ++b) {
      const artifact::Buffer *buffer = program.buffers()->Get(b);
      const int64_t size = scalars[buffer->bytes()];
      if (size < 0 || size > INT64_MAX / 2)
        continue; // an error when it is loaded
      if (buffer->kind() == artifact::BufferKind_Persistent)
        values.push_back(valueOf(b, alignBuffer(size)));
      const artifact::Weight *weight = weightOf(program, *buffer);
      if (!weight || !isShown[b] || isInFile(*buffer, *weight) ||
          isTransient(*buffer, *weight))
        continue;
      if (stays[sliceOf(program, *buffer)])
        slices[message(weight->file(), ' ', weight->offset(), ' ', size)] =
            alignBuffer(size);
      else
        passing += alignBuffer(size);
    }
    findLoading();
    arrange();
    return Status::ok();
  }

  // Bytes by what they are of.
  std::map<std::string, int64_t> slices, arranged;
  int64_t loading = 0; ///< values, and what they are made of, at most
  int64_t loaded = 0;  ///< what stays of that

private:
  /// A rank that is not there for it has zeros in memory.
  bool isAbsent(const artifact::Weight &weight) const {
    return weight.present() >= 0 &&
           scalars[static_cast<size_t>(weight.present())] == 0;
  }

  /// Of a slice that is not in its file: whether there is a copy of it only while it
  /// is packed.
  bool isTransient(const artifact::Buffer &buffer,
                   const artifact::Weight &weight) const {
    std::vector<OwnedRuns> dims;
    return buffer.kind() == artifact::BufferKind_Weight && !isAbsent(weight) &&
           reads->onlyPack(buffer.source()) &&
           resolveLayouts(*weight.layout(), scalars, dims).isOk() &&
           inWholeBytes(weight.element(), dims);
  }

  /// What is computed of weights, and what is packed in its place when the load-time
  /// program is through with it.
  struct Value {
    uint32_t buffer;
    int64_t bytes, packed;
  };
  Value valueOf(uint32_t buffer, int64_t bytes) const {
    std::map<PackedOperands::Key, int64_t> matrices; // each once
    for (const PackedRead &read : reads->packedReadsOf(buffer))
      matrices[PackedOperands::keyOf(read)] =
          alignBuffer(packedBytes(*read.packing, read.matrix.view));
    int64_t packed = 0;
    for (const auto &[key, size] : matrices)
      packed += size;
    return {buffer, bytes, packed};
  }

  /// A value is there from its first instruction on. Behind its last one it stays, or
  /// is packed, with both in memory, or goes.
  void findLoading() {
    const std::vector<LoadSpan> spans = loadSpans(program);
    const std::vector<char> isRead = usedBuffers(program);
    const uint32_t count = program.load()->size();
    std::vector<int64_t> comes(count), goes(count), shrinks(count),
        beside(count);
    for (const Value &value : values) {
      const LoadSpan &span = spans[value.buffer];
      const int64_t after = value.packed > 0       ? value.packed
                            : isRead[value.buffer] ? value.bytes
                                                   : 0;
      loaded += after;
      if (span.first == UINT32_MAX)
        continue;
      comes[span.first] += value.bytes;
      (after > 0 ? shrinks : goes)[span.last] += value.bytes - after;
      beside[span.last] = std::max(beside[span.last], value.packed);
    }
    int64_t there = 0;
    for (uint32_t i = 0; i < count; ++i) {
      there += comes[i];
      loading = std::max({loading, there, there - goes[i] + beside[i]});
      there -= goes[i] + shrinks[i];
    }
    loading += passing;
  }

  /// Whether the rank reads a slice where it lies.
  bool isInFile(const artifact::Buffer &buffer,
                const artifact::Weight &weight) {
    if (buffer.kind() == artifact::BufferKind_Joined)
      return false;
    if (isAbsent(weight))
      return false;
    // A rank's own file has its slices one after the other.
    if (artifact.manifest().copiesWeights &&
        !artifact.weightIsInArtifact(weight))
      return true;
    std::vector<OwnedRuns> dims;
    if (!resolveLayouts(*weight.layout(), scalars, dims).isOk())
      return true; // an error when it is loaded
    int64_t offset = 0;
    if (isContiguousBlock(dims, offset) && isAddressable(weight, offset))
      return true;
    const std::optional<BlockLayout> block = BlockLayout::of(dims);
    return block && isAddressable(weight, block->first()) &&
           reads->takeRows(buffer.source(), *block);
  }

  /// Whether an element of the file is where one may be read.
  static bool isAddressable(const artifact::Weight &weight, int64_t element) {
    const auto bytes =
        static_cast<uint64_t>(artifact::elementBytes(weight.element()));
    return bytes > 0
               ? weight.offset() % bytes == 0
               : element * artifact::elementBits(weight.element()) % 8 == 0;
  }

  /// Matrices of products that every run computes.
  void arrange() {
    int depth = 0;
    for (const artifact::Instruction *instruction : *program.run()) {
      const HostInstruction host =
          hostInstruction(instruction->kernel()->string_view());
      depth += host == HostInstruction::If || host == HostInstruction::Loop;
      depth -= host == HostInstruction::End;
      if (depth == 0)
        arrange(*instruction);
    }
  }

  void arrange(const artifact::Instruction &instruction) {
    const Kernel *kernel = findHostKernel(instruction.kernel()->string_view());
    for (const OperandPacking &packing :
         kernel ? kernel->packings : std::span<const OperandPacking>())
      arrange(instruction, packing);
  }

  void arrange(const artifact::Instruction &instruction,
               const OperandPacking &packing) {
    if (static_cast<uint32_t>(packing.input) >= instruction.inputs()->size())
      return;
    const int32_t index =
        instruction.inputs()->Get(static_cast<uint32_t>(packing.input));
    if (index < 0)
      return;
    const artifact::View *view =
        program.views()->Get(static_cast<uint32_t>(index));
    const artifact::Buffer *buffer = program.buffers()->Get(view->buffer());
    const artifact::Weight *weight = weightOf(program, *buffer);
    if (!weight && (buffer->kind() != artifact::BufferKind_Persistent ||
                    !reads->packedReadsOf(view->buffer()).empty()))
      return; // a value that is let go is counted as what is packed of it
    const std::optional<ConstantMatrix> matrix =
        findConstantMatrix(program, dependence, scalars,
                           static_cast<uint32_t>(index), packing.rank);
    if (!matrix)
      return;
    const int64_t bytes = packedBytes(packing, matrix->view);
    if (bytes > 0)
      arranged[placeOf(*view, *buffer, weight)] = alignBuffer(bytes);
  }

  /// What it is made of: ranks that read the same piece of a file share it.
  std::string placeOf(const artifact::View &view,
                      const artifact::Buffer &buffer,
                      const artifact::Weight *weight) {
    std::string place = message(scalars[view.offset()]);
    for (const auto *list : {view.dims(), view.strides()})
      for (uint32_t scalar : *list)
        place +=
            message(' ', isFixed(dependence, scalar) ? scalars[scalar] : -1);
    if (!weight)
      return message("rank ", worldRank, " buffer ", view.buffer(), ": ",
                     place);
    place += message(" of ", weight->file(), ' ', weight->offset());
    if (!isInFile(buffer, *weight) || artifact.manifest().copiesWeights)
      return message("rank ", worldRank, ": ", place);
    for (const artifact::DimLayout *layout : *weight->layout()) {
      OwnedRuns owned;
      (void)resolveLayout(*layout, scalars, owned);
      for (const OwnedRun &run : owned.runs)
        place += message(' ', run.start, '+', run.length);
    }
    return place;
  }

  const Artifact &artifact;
  const artifact::Program &program;
  const int rank, worldRank;
  const std::vector<uint8_t> dependence;
  std::vector<int64_t> scalars;
  std::optional<ConstantReads> reads; ///< once scalars are known
  std::vector<Value> values;
  int64_t passing = 0; ///< slices that the load-time program alone reads
};

int64_t sum(const std::map<std::string, int64_t> &bytes) {
  int64_t total = 0;
  for (const auto &[key, size] : bytes)
    total += size;
  return total;
}

} // namespace

Status HostNeeds::add(int stage, int rank, int worldRank, int64_t &bytes) {
  std::map<std::string, int64_t> slices;
  // A request runs one of the programs: matrices of that which has the least.
  std::map<std::string, int64_t> arranged;
  int64_t loading = 0, loaded = 0;
  bool isFirst = true;
  for (size_t number : artifact.programsOf(stage)) {
    ProgramNeeds needs(artifact, artifact.program(number), rank, worldRank);
    SHARDC_RETURN_IF_ERROR(needs.evaluate());
    slices.merge(needs.slices);
    loading = std::max(loading, needs.loading);
    loaded = std::max(loaded, needs.loaded);
    if (isFirst || sum(needs.arranged) < sum(arranged))
      arranged = std::move(needs.arranged);
    isFirst = false;
  }
  const int64_t own = sum(slices);
  bytes = own + loaded;
  for (const auto &[place, size] : arranged)
    if (shared.insert(message("stage ", stage, ' ', place)).second)
      bytes += size;
  bytes = std::max(bytes, own + loading);
  return Status::ok();
}

} // namespace shardc::runtime
