//===- StageOutputs.cpp - Outputs, from threads and from processes --------===//
#include "runtime/base/Message.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/kernels/CopyBlock.h"
#include "runtime/program/ScalarEvaluator.h"
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

Status Stage::sizeOutputs() {
  if (!place.world.getsOutputs())
    return Status::ok();
  for (uint32_t o = 0; o < keptOutputs.size(); ++o) {
    const artifact::Output *output = program().outputs()->Get(o);
    if (keptOutputs[o])
      continue;
    Status status = requestOutputs[output->index()].reshape(
        output->element(), current->outputDims[o]);
    if (!status.isOk())
      return Status::error(status.code(),
                           message("output '", output->name()->c_str(),
                                   "': ", status.message()));
  }
  return Status::ok();
}

/// Where the host reads a rank's part of each output. All of them are waited
/// for together.
Status Stage::fetchOutputs(int rank) {
  const auto r = static_cast<size_t>(rank);
  RankState &mine = ranks[r];
  const RankPlan &plan = current->ranks[r].last();
  mine.hostOutputs.resize(keptOutputs.size());
  while (mine.staging && mine.outputStaging.size() < keptOutputs.size())
    mine.outputStaging.emplace_back(*mine.device, *mine.stream);
  bool isUnderWay = false;
  for (uint32_t o = 0; o < keptOutputs.size(); ++o) {
    TensorView &onHost = mine.hostOutputs[o] = *plan.outputs[o];
    if (!mine.staging || keptOutputs[o] || !current->outputBlocks[o][r].copies)
      continue;
    SHARDC_RETURN_IF_ERROR(
        mine.outputStaging[o].startFetch(*plan.outputs[o], onHost));
    isUnderWay = true;
  }
  return isUnderWay ? mine.stream->synchronize() : Status::ok();
}

/// The blocks of a rank that is here.
Status Stage::copyOutputs(int rank) {
  const auto r = static_cast<size_t>(rank);
  SHARDC_RETURN_IF_ERROR(fetchOutputs(rank));
  const CallersMemory callers(ranks[r].progress, failure);
  SHARDC_RETURN_IF_ERROR(callers.granted());
  for (uint32_t o = 0; o < keptOutputs.size(); ++o) {
    const OutputBlock &block = current->outputBlocks[o][r];
    const Tensor &whole = requestOutputs[program().outputs()->Get(o)->index()];
    if (place.world.getsOutputs() && !keptOutputs[o] && block.copies &&
        whole.numElements() > 0)
      copyBlock(block.dims,
                packedView(whole.data(), whole.element(), whole.dims()),
                ranks[r].hostOutputs[o], BlockCopy::ToGlobal);
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Sizes that the run has found
//===----------------------------------------------------------------------===//

/// Where the stage's ranks are elsewhere, the first of them tells rank 0.
Status Stage::assignFoundOutputs() {
  if (isFoundHere()) {
    const auto rank = static_cast<size_t>(localRanks[0]);
    if (place.world.transport && rank == 0)
      SHARDC_RETURN_IF_ERROR(sendFoundSizes());
    return current->assignOutputs(program(),
                                  current->ranks[rank].segments.back().scalars);
  }
  if (!place.world.getsOutputs())
    return Status::ok();
  std::vector<std::vector<int64_t>> scalars;
  SHARDC_RETURN_IF_ERROR(receiveFoundSizes(scalars));
  return current->assignOutputs(program(), scalars);
}

Status Stage::sendFoundSizes() const {
  if (place.world.getsOutputs())
    return Status::ok();
  Stream &stream = place.world.transport->stream(0, kOutputStream, kOutputs);
  const std::vector<int64_t> &symbols = ranks[0].symbols;
  const auto bytes = static_cast<int64_t>(symbols.size() * sizeof(int64_t));
  std::byte *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(stream.prepare(bytes, memory, std::nullopt));
  std::memcpy(memory, symbols.data(), static_cast<size_t>(bytes));
  stream.commit(bytes, 0);
  return Status::ok();
}

Status
Stage::receiveFoundSizes(std::vector<std::vector<int64_t>> &scalars) const {
  Stream &stream =
      place.world.transport->stream(worldRank(0), kOutputStream, kOutputs);
  SHARDC_RETURN_IF_ERROR(waitForOutput(stream, 0));
  const std::span<const std::byte> found = stream.front().bytes;
  std::vector<int64_t> symbols(program().symbols()->size());
  if (found.size() != symbols.size() * sizeof(int64_t))
    return artifactError("the sizes of the outputs have ", found.size(),
                         " bytes, expected ", symbols.size(), " numbers");
  std::memcpy(symbols.data(), found.data(), found.size());
  stream.release();
  scalars.resize(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    SHARDC_RETURN_IF_ERROR(evaluateScalars(
        program(), symbols, active->coordinates[rank], scalars[rank]));
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Rank 0 gets the blocks of all others, in the same order as they send them.
Status Stage::collectOutputs() {
  const bool gets = place.world.getsOutputs();
  if (!gets && !isFoundHere())
    return Status::ok();
  for (uint32_t o = 0; o < keptOutputs.size(); ++o)
    for (int rank = 0; rank < numRanks(); ++rank) {
      const OutputBlock &block =
          current->outputBlocks[o][static_cast<size_t>(rank)];
      const bool isHere = place.world.holds(worldRank(rank));
      if (keptOutputs[o] || !block.copies || isHere == gets)
        continue;
      SHARDC_RETURN_IF_ERROR(gets ? receiveOutput(o, rank)
                                  : sendOutput(o, rank));
    }
  return Status::ok();
}

Status Stage::sendOutput(uint32_t output, int rank) const {
  Stream &stream = place.world.transport->stream(0, kOutputStream, kOutputs);
  const TensorView &local =
      ranks[static_cast<size_t>(rank)].hostOutputs[output];
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
  return Status::ok();
}

Status Stage::receiveOutput(uint32_t output, int rank) {
  const OutputBlock &block =
      current->outputBlocks[output][static_cast<size_t>(rank)];
  const Tensor &whole =
      requestOutputs[program().outputs()->Get(output)->index()];
  int64_t dims[kMaxRank] = {}, elements = 1;
  for (size_t d = 0; d < block.dims.size(); ++d)
    elements *= dims[d] = block.dims[d].localSize;
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
  return transport.abort(artifactError(
      artifact.rankText(0), " ",
      waitText(options.timeout,
               message(" for output '",
                       program().outputs()->Get(output)->name()->c_str(),
                       "' of ",
                       transport.rankTextWithPlace(stream.otherRank())))));
}

} // namespace shardc::runtime
