#include "runtime/backend/cuda/FusedAttention.h"

#include "runtime/backend/cuda/CudaStatus.h"
#include "runtime/backend/cuda/StreamState.h"
#include "runtime/backend/host/kernels/StorageTypes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <type_traits>
#include <vector>

namespace shardc::runtime {

FusedAttentions::~FusedAttentions() { cudaFree(workspace); }

void FusedAttentions::setEngine(
    std::unique_ptr<FusedAttentionEngine> newEngine) {
  plans.clear();
  compared.clear();
  engine = std::move(newEngine);
  isOpened = isTrusted = true;
}

/// The library lies beside the plugin, and stays open.
void FusedAttentions::open() {
  isOpened = true;
  const char *wanted = std::getenv("SHARDC_CUDNN");
  Dl_info here = {};
  if ((wanted && std::string_view(wanted) == "0") ||
      dladdr(reinterpret_cast<const void *>(&kFusedAttentionEntry), &here) ==
          0 ||
      !here.dli_fname)
    return;
  std::string path = here.dli_fname;
  path.resize(path.rfind('/') + 1); // 0 where there is none
  path += kFusedAttentionLibrary;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  if (auto *entry = reinterpret_cast<FusedAttentionEntry *>(
          dlsym(library, kFusedAttentionEntry)))
    engine.reset(entry(stream, sizeof(FusedAttentionShape)));
}

bool FusedAttentions::hasEngine() {
  if (!isOpened && !isCapturing(stream))
    open();
  return engine && isTrusted;
}

Status FusedAttentions::find(const FusedAttentionShape &shape,
                             FusedAttention *&plan, Doubt &doubt) {
  doubt = {};
  plan = nullptr;
  if (!hasEngine())
    return Status::ok();
  if (auto known = plans.find(shape); known != plans.end()) {
    plan = known->second.get();
    return Status::ok();
  }
  // Making a plan compiles and allocates, which a capture may not have.
  if (plans.size() == kMostPlans || isCapturing(stream))
    return Status::ok();
  std::unique_ptr<FusedAttention> made = engine->plan(shape);
  if (made && made->workspaceBytes() > kWorkspaceBytes)
    made = nullptr;
  if (made && made->workspaceBytes() > 0)
    SHARDC_RETURN_IF_ERROR(reserve());
  doubt.isNew = made != nullptr;
  doubt.isNewKind = made && !compared.count(kindOf(shape));
  plan = made.get();
  plans[shape] = std::move(made);
  return Status::ok();
}

FusedAttentions::Kind
FusedAttentions::kindOf(const FusedAttentionShape &shape) {
  return {shape.element,    shape.depth,    shape.heads != shape.kvHeads,
          shape.hasBias,    shape.isCausal, shape.alignsEnds,
          shape.window != 0};
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
  return plan.run(operands, workspace);
}

bool FusedAttentions::giveUp(const FusedAttentionShape &shape) {
  (void)cudaGetLastError();
  plans[shape] = nullptr;
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
                                   std::byte *y,
                                   const std::function<Status()> &runOwn) {
  const auto count = static_cast<size_t>(shape.batches * shape.heads *
                                         shape.queries * shape.depth);
  std::vector<std::byte> found(2 * count), expected(2 * count);
  SHARDC_RETURN_IF_ERROR(
      copyRows(shape, y, found.data(), cudaMemcpyDeviceToHost, stream));
  SHARDC_RETURN_IF_ERROR(runOwn());
  SHARDC_RETURN_IF_ERROR(
      copyRows(shape, y, expected.data(), cudaMemcpyDeviceToHost, stream));
  const auto columns = static_cast<size_t>(shape.depth);
  if (shape.element == artifact::ElementType_Float16
          ? agree<host::Float16>(found.data(), expected.data(), count, columns)
          : agree<host::BFloat16>(found.data(), expected.data(), count,
                                  columns)) {
    compared.insert(kindOf(shape));
    return copyRows(shape, y, found.data(), cudaMemcpyHostToDevice, stream);
  }
  std::fputs(
      "shardrt: warning: cuDNN's attention disagrees with shardrt's own, "
      "which is used from now on (SHARDC_CUDNN=0 does not ask cuDNN)\n",
      stderr);
  isTrusted = false;
  return Status::ok();
}

} // namespace shardc::runtime
