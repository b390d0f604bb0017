//===- Attention.cpp - Scaled dot-product attention on a GPU --------------===//
//
// Attention, AttentionPart and AttentionFinish: what they compute stands at the
// host's (host/kernels/Attention.cpp and AttentionPart.cpp).
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/attention/AttentionFused.h"
#include "runtime/device/cuda/kernels/attention/AttentionViews.h"
#include "runtime/kernels/Check.h"
#include "runtime/kernels/attention/AttentionChecks.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

Status readPieces(const KernelCall &call, std::string_view name, int64_t whole,
                  AttentionPieces &result) {
  const host::Pieces pieces(call, name, whole);
  if (pieces.count() > kMostPieces)
    return unsupportedError("Attention: ", name,
                            " are more than the GPU takes");
  result.count = pieces.count();
  for (int i = 0; i < pieces.count(); ++i) {
    result.places[i] = pieces.place(i);
    result.sizes[i] = pieces.size(i);
  }
  return Status::ok();
}

/// All but where the result goes. The call has been checked.
Status readProblem(const KernelCall &call, AttentionProblem &problem) {
  const TensorView &q = call.inputs[0], &k = call.inputs[1];
  const TensorView &v = call.inputs[2];
  problem.q = viewOf(q);
  problem.k = viewOf(k);
  problem.v = viewOf(v);
  problem.batches = q.dims[0];
  problem.heads = q.dims[1];
  problem.kvHeads = k.dims[1];
  problem.queries = q.dims[2];
  problem.keys = k.dims[2];
  problem.depth = q.dims[3];
  problem.columns = v.dims[3];
  setMask(call, 3, problem);
  problem.scale = call.floatOr("scale", 1.0 / std::sqrt(double(problem.depth)));
  problem.softcap = call.floatOr("softcap", 0.0);
  problem.isCausal = call.intOr("is_causal", 0) != 0;
  problem.causalOffset = call.intOr("causal_offset", 0);
  problem.window = call.intOr("window", 0);
  problem.zeroRows = host::zeroRowsOf(call, k);
  SHARDC_RETURN_IF_ERROR(
      readPieces(call, "query_pieces", problem.queries, problem.queryPieces));
  return readPieces(call, "key_pieces", problem.keys, problem.keyPieces);
}

int64_t sizeOfAccumulator(artifact::ElementType element) {
  return element == artifact::ElementType_Float64 ? 8 : 4;
}

/// Splits of the keys, so that few rows keep a large GPU busy; as many wherever
/// the shapes are the same.
int splitsFor(const AttentionProblem &problem) {
  constexpr int64_t kBlocks = 264, kKeysOfSplit = 256;
  if (problem.rowsOfHead() > kFewAttentionRows)
    return 1;
  const int64_t blocks = std::max<int64_t>(
      problem.batches * problem.kvHeads * problem.tiles(8) * problem.chunks(),
      1);
  return static_cast<int>(std::clamp<int64_t>(
      std::min(kBlocks / blocks, problem.keys / kKeysOfSplit), 1, 64));
}

/// In place, a chunk of columns would find the stats of another one changed.
bool usesScratch(const AttentionProblem &problem) {
  return problem.splits > 1 || (problem.continues && problem.chunks() > 1);
}

int64_t rowsOf(const AttentionProblem &problem) {
  return problem.batches * problem.heads * problem.queries;
}

int64_t scratchBytesFor(const AttentionProblem &problem,
                        artifact::ElementType element) {
  return usesScratch(problem)
             ? problem.splits * rowsOf(problem) * (problem.columns + 2) *
                   sizeOfAccumulator(element)
             : fusedScratchBytes(problem, element);
}

/// Stats, then values, of all splits.
AttentionState stateIn(std::byte *scratch, const AttentionProblem &problem,
                       artifact::ElementType element) {
  const int64_t rows = rowsOf(problem);
  const auto dense = [&](std::byte *data, int64_t columns) {
    const int64_t head = problem.queries * columns;
    return AttentionView{data, {problem.heads * head, head, columns, 1}};
  };
  AttentionState state;
  state.stats = dense(scratch, 2);
  state.statStep = 2 * rows;
  state.values =
      dense(scratch + problem.splits * rows * 2 * sizeOfAccumulator(element),
            problem.columns);
  state.valueStep = rows * problem.columns;
  return state;
}

Status attend(const AttentionProblem &problem, artifact::ElementType element,
              const KernelCall &call) {
  if (rowsOf(problem) == 0)
    return Status::ok();
  bool isDone = false;
  SHARDC_RETURN_IF_ERROR(attendFused(problem, element, call, isDone));
  if (isDone)
    return Status::ok();
  cudaStream_t stream = streamOf(call);
  const auto run =
      problem.rowsOfHead() <= kFewAttentionRows ? attendFew : attendTiles;
  if (!usesScratch(problem))
    return run(problem, element, stream);
  AttentionProblem parts = problem;
  parts.finishes = parts.continues = false;
  parts.state = stateIn(call.scratch, problem, element);
  SHARDC_RETURN_IF_ERROR(run(parts, element, stream));
  return mergeAttention(problem, parts.state, problem.splits, element, stream);
}

Status readWhole(const KernelCall &call, AttentionProblem &problem) {
  SHARDC_RETURN_IF_ERROR(host::checkWholeAttention(call));
  SHARDC_RETURN_IF_ERROR(readProblem(call, problem));
  problem.y = viewOf(call.outputs[0]);
  setSinks(call, host::kAttentionSinks, problem);
  problem.splits = splitsFor(problem);
  return Status::ok();
}

Status readPart(const KernelCall &call, AttentionProblem &problem) {
  SHARDC_RETURN_IF_ERROR(host::checkAttentionPart(call));
  SHARDC_RETURN_IF_ERROR(readProblem(call, problem));
  problem.state.values = viewOf(call.outputs[0]);
  problem.state.stats = viewOf(call.outputs[1]);
  problem.continues = host::hasInput(call, 4);
  problem.finishes = false;
  problem.splits = splitsFor(problem);
  return Status::ok();
}

template <Status (*read)(const KernelCall &, AttentionProblem &)>
Status run(const KernelCall &call) {
  AttentionProblem problem;
  SHARDC_RETURN_IF_ERROR(read(call, problem));
  return attend(problem, call.inputs[0].element, call);
}

template <Status (*read)(const KernelCall &, AttentionProblem &)>
int64_t scratchBytes(const KernelCall &call) {
  AttentionProblem problem;
  return read(call, problem).isOk() // run reports it
             ? scratchBytesFor(problem, call.inputs[0].element)
             : 0;
}

Status runFinish(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::checkAttentionFinish(call));
  const TensorView &y = call.outputs[0];
  AttentionProblem problem;
  problem.batches = y.dims[0];
  problem.heads = problem.kvHeads = y.dims[1];
  problem.queries = y.dims[2];
  problem.columns = y.dims[3];
  problem.y = viewOf(y);
  problem.zeroRows = host::zeroRowsOf(call);
  setSinks(call, host::kFinishSinks, problem);
  if (rowsOf(problem) == 0)
    return Status::ok();
  const AttentionState state = {viewOf(call.inputs[0]), viewOf(call.inputs[1])};
  return mergeAttention(problem, state, 1, y.element, streamOf(call));
}

const CudaKernelRegistration registrations[] = {
    {"Attention", {run<readWhole>, scratchBytes<readWhole>}},
    {"AttentionPart", {run<readPart>, scratchBytes<readPart>}},
    {"AttentionFinish", {runFinish, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
