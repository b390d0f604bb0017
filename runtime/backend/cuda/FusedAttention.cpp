#include "runtime/backend/cuda/FusedAttention.h"

#include "runtime/backend/cuda/CudaStatus.h"
#include "runtime/backend/cuda/kernels/StridedKernels.h"
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

bool FusedAttentions::isCapturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

bool FusedAttentions::hasEngine() {
  if (!isOpened && !isCapturing())
    open();
  return engine && isTrusted;
}

FusedAttention *FusedAttentions::find(const FusedAttentionShape &shape,
                                      bool &isNew) {
  isNew = false;
  if (!hasEngine())
    return nullptr;
  if (auto known = plans.find(shape); known != plans.end())
    return known->second.get();
  // Making a plan compiles and allocates, which a capture may not have.
  if (plans.size() == kMostPlans || isCapturing())
    return nullptr;
  std::unique_ptr<FusedAttention> &plan = plans[shape];
  plan = engine->plan(shape);
  if (plan && !reserve(plan->workspaceBytes()).isOk())
    plan = nullptr;
  isNew = plan != nullptr;
  return plan.get();
}

/// Graphs know the workspace's address: it is not freed while they may run.
Status FusedAttentions::reserve(int64_t bytes) {
  constexpr int64_t kWorkspaceBytes = int64_t{64} << 20;
  if (bytes > kWorkspaceBytes)
    return Status::error(StatusCode::Artifact, "too large a workspace");
  if (workspace || bytes == 0)
    return Status::ok();
  return cudaStatus(cudaMalloc(reinterpret_cast<void **>(&workspace),
                               static_cast<size_t>(kWorkspaceBytes)),
                    "cudaMalloc");
}

Status FusedAttentions::run(FusedAttention &plan,
                            const FusedAttentionOperands &operands) {
  return plan.run(operands, workspace);
}

bool FusedAttentions::giveUp(const FusedAttentionShape &shape) {
  (void)cudaGetLastError();
  plans[shape] = nullptr;
  const cudaError_t error = cudaStreamQuery(stream);
  return error == cudaSuccess || error == cudaErrorNotReady;
}

namespace {

/// Device memory of one result.
class Packed {
public:
  ~Packed() { cudaFree(data); }
  Status allocate(int64_t bytes) {
    return cudaStatus(cudaMalloc(reinterpret_cast<void **>(&data),
                                 static_cast<size_t>(bytes)),
                      "cudaMalloc");
  }
  std::byte *data = nullptr;
};

TensorView viewOf(const FusedAttentionShape &shape, std::byte *data,
                  const int64_t (&strides)[3]) {
  TensorView view;
  view.data = data;
  view.element = shape.element;
  view.rank = 4;
  const int64_t dims[] = {shape.batches, shape.heads, shape.queries,
                          shape.depth};
  std::copy(dims, dims + 4, view.dims);
  std::copy(strides, strides + 3, view.strides);
  view.strides[3] = 1;
  return view;
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

Status FusedAttentions::checkFirst(
    const FusedAttentionShape &shape, std::byte *y,
    const std::function<Status(std::byte *packed)> &runOwn, bool &isChecked) {
  isChecked = false;
  const int64_t rows = shape.heads * shape.queries;
  const auto count = static_cast<size_t>(shape.batches * rows * shape.depth);
  const size_t bytes = 2 * count;
  const int64_t dense[] = {rows * shape.depth, shape.queries * shape.depth,
                           shape.depth};
  Packed own, fused;
  if (!own.allocate(static_cast<int64_t>(bytes)).isOk() ||
      !fused.allocate(static_cast<int64_t>(bytes)).isOk()) {
    (void)giveUp(shape); // a full GPU has room for the plugin's own
    return Status::ok();
  }
  isChecked = true;
  SHARDC_RETURN_IF_ERROR(runOwn(own.data));
  SHARDC_RETURN_IF_ERROR(cuda::copyStrided(viewOf(shape, fused.data, dense),
                                           viewOf(shape, y, shape.y), stream));
  std::vector<std::byte> found(bytes), expected(bytes);
  for (auto [to, from] :
       {std::pair{&found, fused.data}, std::pair{&expected, own.data}})
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaMemcpyAsync(to->data(), from, bytes,
                                   cudaMemcpyDeviceToHost, stream),
                   "cudaMemcpyAsync"));
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  const auto columns = static_cast<size_t>(shape.depth);
  if (shape.element == artifact::ElementType_Float16
          ? agree<host::Float16>(found.data(), expected.data(), count, columns)
          : agree<host::BFloat16>(found.data(), expected.data(), count,
                                  columns))
    return Status::ok();
  std::fputs(
      "shardrt: warning: cuDNN's attention disagrees with shardrt's own, "
      "which is used from now on (SHARDC_CUDNN=0 does not ask cuDNN)\n",
      stderr);
  isTrusted = false;
  SHARDC_RETURN_IF_ERROR(cuda::copyStrided(
      viewOf(shape, y, shape.y), viewOf(shape, own.data, dense), stream));
  return cudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

} // namespace shardc::runtime
