#include "runtime/device/cuda/kernels/attention/AttentionFused.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/attention/FusedPlans.h"
#include "runtime/device/cuda/kernels/attention/AttentionPadding.h"

#include <algorithm>

namespace shardc::runtime::cuda {
namespace {

/// Fewer queries than that are bound by memory, where tensor cores help little
/// and each length would need a plan.
constexpr int64_t kFewestQueries = 64;
constexpr int64_t kDeepest = 256;
/// Elements of 16 bits in what is loaded at once.
constexpr int64_t kVector = 8;
/// A larger mask is not worth its copy.
constexpr int64_t kMostBiasBytes = int64_t{256} << 20;

bool isHalf(artifact::ElementType element) {
  return element == artifact::ElementType_Float16 ||
         element == artifact::ElementType_BFloat16;
}

bool isWhole(const AttentionPieces &pieces) {
  return pieces.count == 1 && pieces.places[0] == 0;
}

bool hasVectors(const AttentionView &view) {
  return view.strides[3] == 1 &&
         std::all_of(view.strides, view.strides + 3,
                     [](int64_t stride) { return stride % kVector == 0; });
}

bool isAligned(const std::byte *data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

/// Causality as the library knows it: the first query sees the first key, or
/// the last one the last.
bool setCausality(const AttentionProblem &problem, FusedAttentionShape &shape) {
  shape.isCausal = problem.isCausal;
  shape.window = problem.window;
  if (!problem.isCausal)
    return problem.window == 0;
  shape.alignsEnds = problem.causalOffset != 0;
  return problem.causalOffset == 0 ||
         problem.causalOffset == problem.keys - problem.queries;
}

/// The bias in scratch: its rows begin where vectors may.
AttentionView packedBias(const AttentionProblem &problem,
                         const FusedAttentionShape &shape, std::byte *scratch) {
  const int64_t pitch = (shape.keys + kVector - 1) / kVector * kVector;
  const int64_t head = shape.queries * pitch;
  AttentionView bias{scratch, {0, 0, pitch, 1}};
  bias.strides[1] = problem.mask.strides[1] ? head : 0;
  bias.strides[0] = !problem.mask.strides[0] ? 0
                    : bias.strides[1]        ? problem.heads * head
                                             : head;
  return bias;
}

/// The mask is copied, so that vectors may begin where rows do, and to make
/// numbers of its infinities: a row whose first tiles are all of them needs more
/// care than a library is known to take.
int64_t biasBytes(const AttentionProblem &problem,
                  const FusedAttentionShape &shape) {
  if (!shape.hasBias)
    return 0;
  const AttentionView bias = packedBias(problem, shape, nullptr);
  return alignBuffer(2 * shape.queries * bias.strides[2] *
                     (bias.strides[0] ? problem.batches : 1) *
                     (bias.strides[1] ? problem.heads : 1));
}

/// What a plan is made of for a problem; none if it is not for a library.
std::optional<FusedAttentionShape> plannedShape(const AttentionProblem &problem,
                                                artifact::ElementType element) {
  const std::optional<FusedAttentionShape> whole =
      fusedShapeOf(problem, element);
  if (!whole)
    return std::nullopt;
  const FusedAttentionShape padded = paddedShape(*whole);
  if (biasBytes(problem, padded) <= kMostBiasBytes)
    return padded;
  return biasBytes(problem, *whole) <= kMostBiasBytes ? whole : std::nullopt;
}

/// Runs a plan: the bias first in scratch, behind it what is padded.
Status runPlan(const AttentionProblem &problem,
               const FusedAttentionShape &shape, const AttentionView &bias,
               const KernelCall &call, FusedAttention &plan) {
  CudaStream &stream = CudaStream::of(call);
  if (shape.hasBias)
    SHARDC_RETURN_IF_ERROR(biasOfMask(problem, bias, shape.queries,
                                      shape.element, stream.stream()));
  FusedAttentionOperands operands = {problem.q.data, problem.k.data,
                                     problem.v.data, bias.data, problem.y.data};
  if (shape.isPadded) {
    operands = paddedOperands(shape, call.scratch + biasBytes(problem, shape));
    operands.bias = bias.data;
    SHARDC_RETURN_IF_ERROR(
        padOperands(problem, shape, operands, stream.stream()));
  }
  SHARDC_RETURN_IF_ERROR(stream.fusedAttentions().run(plan, operands));
  return shape.isPadded ? unpadResult(problem, shape, operands, stream.stream())
                        : Status::ok();
}

} // namespace

std::optional<FusedAttentionShape> fusedShapeOf(const AttentionProblem &problem,
                                                artifact::ElementType element) {
  FusedAttentionShape shape;
  const bool hasMask = problem.maskKind != AttentionMask::None;
  if (!isHalf(element) || problem.queries < kFewestQueries ||
      problem.keys == 0 || problem.columns != problem.depth ||
      problem.depth % kVector != 0 || problem.depth > kDeepest ||
      problem.depth == 0 || problem.softcap != 0 || problem.sinks ||
      !problem.finishes || problem.continues || !isWhole(problem.queryPieces) ||
      !isWhole(problem.keyPieces) || (hasMask && problem.isCausal) ||
      !setCausality(problem, shape) || !hasVectors(problem.q) ||
      !hasVectors(problem.k) || !hasVectors(problem.v) ||
      !hasVectors(problem.y))
    return std::nullopt;
  shape.element = element;
  shape.batches = problem.batches;
  shape.heads = problem.heads;
  shape.kvHeads = problem.kvHeads;
  shape.queries = problem.queries;
  shape.keys = problem.keys;
  shape.depth = problem.depth;
  std::copy(problem.q.strides, problem.q.strides + 3, shape.q);
  std::copy(problem.k.strides, problem.k.strides + 3, shape.k);
  std::copy(problem.v.strides, problem.v.strides + 3, shape.v);
  std::copy(problem.y.strides, problem.y.strides + 3, shape.y);
  shape.hasBias = hasMask;
  shape.scale = problem.scale;
  return shape;
}

int64_t fusedScratchBytes(const AttentionProblem &problem,
                          artifact::ElementType element) {
  const std::optional<FusedAttentionShape> shape =
      plannedShape(problem, element);
  return shape && FusedPlans::mayBeThere()
             ? biasBytes(problem, *shape) + paddingBytes(*shape)
             : 0;
}

Status attendFused(const AttentionProblem &problem,
                   artifact::ElementType element, const KernelCall &call,
                   bool &isDone) {
  isDone = false;
  std::optional<FusedAttentionShape> shape = plannedShape(problem, element);
  if (!shape || !FusedPlans::mayBeThere() || !isAligned(problem.q.data) ||
      !isAligned(problem.k.data) || !isAligned(problem.v.data) ||
      !isAligned(problem.y.data))
    return Status::ok();
  CudaStream &stream = CudaStream::of(call);
  FusedAttentions &library = stream.fusedAttentions();
  AttentionView bias;
  if (shape->hasBias) {
    bias = packedBias(problem, *shape, call.scratch);
    std::copy(bias.strides, bias.strides + 3, shape->bias);
  }
  FusedAttentions::Doubt doubt;
  std::shared_ptr<FusedAttention> plan;
  SHARDC_RETURN_IF_ERROR(library.find(*shape, plan, doubt));
  if (!plan)
    return Status::ok();
  stream.keepCaptured(plan);
  if (Status ran = runPlan(problem, *shape, bias, call, *plan); !ran.isOk())
    return doubt.isNew && library.giveUp(*shape) ? Status::ok() : ran;
  if (shape->hasBias)
    SHARDC_RETURN_IF_ERROR(fillHiddenRows(problem, element, stream.stream()));
  isDone = true;
  if (!doubt.isNewKind)
    return Status::ok();
  return library.checkFirst(
      *shape, *fusedShapeOf(problem, element), problem.y.data,
      [&] { return attendTiles(problem, element, stream.stream()); });
}

} // namespace shardc::runtime::cuda
