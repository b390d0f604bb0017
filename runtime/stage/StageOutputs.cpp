//===- StageOutputs.cpp - Outputs, from threads and from processes --------===//
#include "runtime/base/Message.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/kernels/CopyBlock.h"
#include "runtime/stage/Stage.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/Pieces.h"
#include "runtime/transport/StreamNumbers.h"

#include <array>
#include <cstring>

namespace shardc::runtime {

/// Of a message to rank 0; as many may be on the way.
static constexpr int64_t kMessageBytes = 1 << 20;
static constexpr StreamOptions kOutputs{.slots = 4, .isOneWay = true};

/// With scalars that know them.
void Stage::findOutputDims() {
  const auto *outputs = program().outputs();
  current->outputDims.resize(outputs->size());
  for (uint32_t o = 0; o < outputs->size(); ++o) {
    current->outputDims[o].clear();
    for (uint32_t dim : *outputs->Get(o)->dims())
      current->outputDims[o].push_back(kept().scalars.mine()[dim]);
  }
  current->outputBlocks.clear();
}

Status Stage::sizeOutputs() {
  const size_t count = step.keptOutputs.size();
  if (numCovered < count) {
    step.covered = std::make_unique<std::atomic<int64_t>[]>(count);
    numCovered = count;
  }
  for (uint32_t o = 0; o < count && !step.outputs.empty(); ++o) {
    step.covered[o].store(0, std::memory_order_relaxed);
    const artifact::Output *output = program().outputs()->Get(o);
    if (step.keptOutputs[o])
      continue;
    const Status status = step.outputs[output->index()].reshape(
        output->element(), current->outputDims[o]);
    if (!status.isOk())
      return status.saying(message("output '", output->name()->c_str(),
                                   "': ", status.message()));
  }
  return Status::ok();
}

/// The ranks' blocks are all there is.
Status Stage::checkOutputs() const {
  for (uint32_t o = 0; o < step.keptOutputs.size() && !step.outputs.empty();
       ++o) {
    const artifact::Output *output = program().outputs()->Get(o);
    const int64_t elements = step.outputs[output->index()].numElements();
    const int64_t held = step.covered[o].load(std::memory_order_relaxed);
    if (!step.keptOutputs[o] && held != elements)
      return artifactError("output '", output->name()->c_str(),
                           "': the ranks hold ", held, " of its ", elements,
                           " elements");
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Sizes that the run has found
//===----------------------------------------------------------------------===//

Status Stage::finishFound() {
  if (ranks.empty() && !place.world.getsOutputs())
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(findSizes());
  findOutputDims();
  SHARDC_RETURN_IF_ERROR(sizeOutputs());
  return onAllRanks(Job::Plans,
                    [this](Rank &rank) { return rank.copyOutputs(step); });
}

/// Where the stage's ranks are elsewhere, the first of them tells rank 0.
Status Stage::findSizes() {
  if (ranks.empty()) {
    std::vector<int64_t> symbols(program().symbols()->size());
    SHARDC_RETURN_IF_ERROR(receiveFoundSizes(symbols));
    return kept().scalars.bind(symbols);
  }
  if (place.world.transport && ranks[0]->place.rank == 0 &&
      !place.world.getsOutputs())
    SHARDC_RETURN_IF_ERROR(sendFoundSizes(*ranks[0]));
  return kept().scalars.bind(ranks[0]->foundSymbols());
}

Status Stage::sendFoundSizes(const Rank &rank) const {
  Stream &stream = place.world.transport->stream(0, kOutputStream, kOutputs);
  return stream.send(std::as_bytes(rank.foundSymbols()), std::nullopt);
}

Status Stage::receiveFoundSizes(std::vector<int64_t> &symbols) const {
  Stream &stream =
      place.world.transport->stream(worldRank(0), kOutputStream, kOutputs);
  SHARDC_RETURN_IF_ERROR(waitForOutput(stream, 0));
  const std::span<const std::byte> found = stream.front().bytes;
  if (found.size() != symbols.size() * sizeof(int64_t))
    return artifactError("the sizes of the outputs have ", found.size(),
                         " bytes, expected ", symbols.size(), " numbers");
  std::memcpy(symbols.data(), found.data(), found.size());
  stream.release();
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Rank 0 gets the blocks of all others, in the same order as they send them.
Status Stage::collectOutputs() {
  if (!place.world.getsOutputs())
    return ranks.empty() ? Status::ok() : sendOutputs(*ranks[0]);
  SHARDC_RETURN_IF_ERROR(findBlocks());
  for (uint32_t o = 0; o < step.keptOutputs.size(); ++o)
    for (int rank = 0; rank < numRanks() && !step.keptOutputs[o]; ++rank) {
      const OutputBlock &block =
          current->outputBlocks[o][static_cast<size_t>(rank)];
      if (!block.copies || rankHere(rank))
        continue;
      SHARDC_RETURN_IF_ERROR(receiveOutput(o, rank));
      step.covered[o].fetch_add(block.numElements(), std::memory_order_relaxed);
    }
  return checkOutputs();
}

Status Stage::findBlocks() {
  std::vector<std::vector<OutputBlock>> &blocks = current->outputBlocks;
  if (!blocks.empty())
    return Status::ok();
  blocks.resize(step.keptOutputs.size());
  for (uint32_t o = 0; o < blocks.size(); ++o) {
    blocks[o].resize(static_cast<size_t>(numRanks()));
    for (int rank = 0; rank < numRanks() && !step.keptOutputs[o]; ++rank)
      SHARDC_RETURN_IF_ERROR(
          findOutputBlock(*program().outputs()->Get(o), kept().scalars, rank,
                          blocks[o][static_cast<size_t>(rank)]));
  }
  return Status::ok();
}

Status Stage::sendOutputs(Rank &rank) const {
  Stream &stream = place.world.transport->stream(0, kOutputStream, kOutputs);
  for (uint32_t o = 0; o < step.keptOutputs.size(); ++o) {
    if (step.keptOutputs[o] || !rank.copiesOutput(o))
      continue;
    const TensorView &local = rank.hostOutput(o);
    const Pieces pieces(local, kMessageBytes);
    for (int64_t p = 0; p < pieces.size(); ++p) {
      const TensorView part = pieceOf(local, pieces[p]);
      const int64_t bytes = pieceBytes(local, pieces[p]);
      std::byte *memory = nullptr;
      // Rank 0 reads them all the time; if it does not, it is noticed.
      SHARDC_RETURN_IF_ERROR(stream.prepare(bytes, memory, std::nullopt));
      copyView(packedView(memory, part.element,
                          {part.dims, static_cast<size_t>(part.rank)}),
               part);
      stream.commit(bytes, 0);
    }
  }
  return Status::ok();
}

Status Stage::receiveOutput(uint32_t output, int rank) {
  const OutputBlock &block =
      current->outputBlocks[output][static_cast<size_t>(rank)];
  const Tensor &whole = step.outputs[program().outputs()->Get(output)->index()];
  const int64_t elements = block.numElements();
  int64_t dims[kMaxRank] = {};
  for (size_t d = 0; d < block.dims.size(); ++d)
    dims[d] = block.dims[d].localSize;
  const int64_t bytes = artifact::storageBytes(whole.element(), elements);
  if (collected.size() < bytes && !collected.allocate(bytes))
    return artifactError("out of memory for ", bytes, " bytes of an output");
  const TensorView local =
      packedView(collected.data(), whole.element(), {dims, block.dims.size()});
  Stream &stream =
      place.world.transport->stream(worldRank(rank), kOutputStream, kOutputs);
  const Pieces pieces(local, kMessageBytes);
  for (int64_t p = 0; p < pieces.size(); ++p) {
    SHARDC_RETURN_IF_ERROR(waitForOutput(stream, output));
    const TensorView part = pieceOf(local, pieces[p]);
    const std::span<const std::byte> found = stream.front().bytes;
    if (static_cast<int64_t>(found.size()) != pieceBytes(local, pieces[p]))
      return artifactError(
          "output '", program().outputs()->Get(output)->name()->c_str(),
          "': ", artifact.rankText(worldRank(rank)), " sent ", found.size(),
          " bytes, expected ", pieceBytes(local, pieces[p]));
    copyView(part, packedView(found.data(), part.element,
                              {part.dims, static_cast<size_t>(part.rank)}));
    stream.release();
  }
  if (elements > 0)
    copyBlock(block.dims,
              packedView(whole.data(), whole.element(), whole.dims()), local,
              BlockCopy::ToGlobal);
  return Status::ok();
}

/// As long as some rank gets on with its program, it may take its time.
Status Stage::waitForOutput(Stream &stream, uint32_t output) const {
  Transport &transport = *place.world.transport;
  const Status status =
      transport.waitPatiently(options.timeout, [&](Deadline deadline) {
        return transport.waitForMessages(std::array{&stream}, deadline);
      });
  if (!Transport::isTimeout(status))
    return status;
  return transport.end(
      artifactError(
          artifact.rankText(0), " ",
          waitText(options.timeout,
                   message(" for output '",
                           program().outputs()->Get(output)->name()->c_str(),
                           "' of ",
                           transport.rankTextWithPlace(stream.otherRank()))))
          .at({.rank = stream.otherRank()}));
}

} // namespace shardc::runtime
