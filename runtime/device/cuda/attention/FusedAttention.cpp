#include "runtime/device/cuda/attention/FusedAttention.h"

#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/StreamState.h"
#include "runtime/device/cuda/attention/FusedPlans.h"
#include "runtime/kernels/StorageTypes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardc::runtime {

FusedAttentions::~FusedAttentions() { cudaFree(workspace); }

void FusedAttentions::setEngine(
    std::unique_ptr<FusedAttentionEngine> newEngine) {
  places.clear();
  plans.clear();
  retired.clear();
  compared.clear();
  library.reset();
  if (newEngine) {
    library = std::make_shared<FusedPlans>(std::move(newEngine));
    FusedPlans::announce();
  }
  isOpened = isTrusted = true;
}

bool FusedAttentions::hasEngine() {
  if (!isOpened && !isCapturing(stream)) {
    isOpened = true;
    library = FusedPlans::of(device);
  }
  return library && isTrusted;
}

Status FusedAttentions::find(const FusedAttentionShape &shape,
                             std::shared_ptr<FusedAttention> &plan,
                             Doubt &doubt) {
  doubt = {};
  plan = nullptr;
  if (!hasEngine())
    return Status::ok();
  auto known = places.find(shape);
  if (known == places.end()) {
    // Making a plan compiles and allocates, which a capture may not have.
    if (isCapturing(stream))
      return Status::ok();
    SHARDC_RETURN_IF_ERROR(add(shape));
    known = places.find(shape);
    doubt.isNew = known->second->plan != nullptr;
  } else {
    plans.splice(plans.begin(), plans, known->second);
  }
  plan = known->second->plan;
  doubt.isNewKind = doubt.isNew && !compared.count(kindOf(shape));
  return Status::ok();
}

Status FusedAttentions::add(const FusedAttentionShape &shape) {
  std::shared_ptr<FusedAttention> plan = library->find(shape, kWorkspaceBytes);
  if (plan && plan->workspaceBytes() > 0)
    SHARDC_RETURN_IF_ERROR(reserve());
  if (plans.size() == kMostPlans)
    dropOldest();
  plans.push_front({shape, std::move(plan)});
  places[shape] = plans.begin();
  return Status::ok();
}

/// What it ran last on this stream may not have ended.
void FusedAttentions::dropOldest() {
  retired.push_back(std::move(plans.back().plan));
  places.erase(plans.back().shape);
  plans.pop_back();
}

FusedAttentions::Kind
FusedAttentions::kindOf(const FusedAttentionShape &shape) {
  constexpr int64_t kFewQueries = 128;
  return {shape.element,     shape.depth,    shape.heads != shape.kvHeads,
          shape.hasBias,     shape.isCausal, shape.alignsEnds,
          shape.window != 0, shape.isPadded, shape.queries <= kFewQueries};
}

/// Graphs know the workspace's address: it is not freed while they may run.
Status FusedAttentions::reserve() {
  if (workspace)
    return Status::ok();
  return cudaStatus(cudaMalloc(reinterpret_cast<void **>(&workspace),
                               static_cast<size_t>(kWorkspaceBytes)),
                    "cudaMalloc of the workspace of cuDNN's attention "
                    "(SHARDC_CUDNN=0 does not ask cuDNN)");
}

Status FusedAttentions::run(FusedAttention &plan,
                            const FusedAttentionOperands &operands) {
  return plan.run(operands, workspace, stream);
}

bool FusedAttentions::giveUp(const FusedAttentionShape &shape) {
  (void)cudaGetLastError();
  if (auto known = places.find(shape); known != places.end())
    retired.push_back(std::exchange(known->second->plan, nullptr));
  const cudaError_t error = polled(cudaStreamQuery(stream));
  return error == cudaSuccess || error == cudaErrorNotReady;
}

namespace {

/// Rows of y between the device and dense memory of the host: on the device
/// there may be no room for another one.
Status copyRows(const FusedAttentionShape &shape, std::byte *y,
                std::byte *dense, cudaMemcpyKind kind, cudaStream_t stream) {
  const auto width = static_cast<size_t>(2 * shape.depth);
  const auto rows = static_cast<size_t>(shape.queries);
  const auto pitch = static_cast<size_t>(2 * shape.y[2]);
  for (int64_t b = 0; b < shape.batches; ++b)
    for (int64_t h = 0; h < shape.heads; ++h, dense += width * rows) {
      std::byte *at = y + 2 * (b * shape.y[0] + h * shape.y[1]);
      const bool isUp = kind == cudaMemcpyHostToDevice;
      SHARDC_RETURN_IF_ERROR(
          cudaStatus(cudaMemcpy2DAsync(isUp ? at : dense, isUp ? pitch : width,
                                       isUp ? dense : at, isUp ? width : pitch,
                                       width, rows, kind, stream),
                     "cudaMemcpy2DAsync"));
    }
  return cudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

template <typename T> double largestOf(const T *values, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; ++i)
    if (std::isfinite(float(values[i])))
      largest = std::max(largest, std::fabs(double(float(values[i]))));
  return largest;
}

template <typename T>
bool isRowAlike(const T *found, const T *expected, size_t columns,
                double tolerance) {
  for (size_t i = 0; i < columns; ++i) {
    const float x = float(found[i]), y = float(expected[i]);
    const bool same = std::isnan(y)
                          ? std::isnan(x)
                          : x == y || std::fabs(double(x) - y) <= tolerance;
    if (!same)
      return false;
  }
  return true;
}

/// Equal but for rounding, each row by its own size: where many keys are
/// averaged a row is far smaller than the first ones of a causal prompt, and a
/// little of the largest is for what cancels. What is no number has to be none
/// in both. One key too many among hundreds that weigh alike is not seen.
template <typename T>
bool agree(const std::byte *found, const std::byte *expected, size_t count,
           size_t columns) {
  constexpr bool isHalf = std::is_same_v<T, host::Float16>;
  constexpr double kOfRow = isHalf ? 0.02 : 0.04;
  constexpr double kOfAll = isHalf ? 1. / 2048 : 1. / 256;
  const auto *a = reinterpret_cast<const T *>(found);
  const auto *b = reinterpret_cast<const T *>(expected);
  const double ofAll = kOfAll * largestOf(b, count);
  for (size_t at = 0; at < count; at += columns)
    if (!isRowAlike(a + at, b + at, columns,
                    ofAll + kOfRow * largestOf(b + at, columns)))
      return false;
  return true;
}

} // namespace

/// In place, so that no rank can lack the memory for it while others do not:
/// all of them have to take the same kernels.
Status FusedAttentions::checkFirst(const FusedAttentionShape &shape,
                                   const FusedAttentionShape &whole,
                                   std::byte *y,
                                   const std::function<Status()> &runOwn) {
  const auto count = static_cast<size_t>(whole.batches * whole.heads *
                                         whole.queries * whole.depth);
  std::vector<std::byte> found(2 * count), expected(2 * count);
  SHARDC_RETURN_IF_ERROR(
      copyRows(whole, y, found.data(), cudaMemcpyDeviceToHost, stream));
  SHARDC_RETURN_IF_ERROR(runOwn());
  SHARDC_RETURN_IF_ERROR(
      copyRows(whole, y, expected.data(), cudaMemcpyDeviceToHost, stream));
  const auto columns = static_cast<size_t>(shape.depth);
  if (shape.element == artifact::ElementType_Float16
          ? agree<host::Float16>(found.data(), expected.data(), count, columns)
          : agree<host::BFloat16>(found.data(), expected.data(), count,
                                  columns)) {
    compared.insert(kindOf(shape));
    return copyRows(whole, y, found.data(), cudaMemcpyHostToDevice, stream);
  }
  std::fputs(
      "shardrt: warning: cuDNN's attention disagrees with shardrt's own, "
      "which is used from now on (SHARDC_CUDNN=0 does not ask cuDNN)\n",
      stderr);
  isTrusted = false;
  return Status::ok();
}

} // namespace shardc::runtime
