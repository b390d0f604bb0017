//===- FusedAttention.h - Attention by a library, where it has a kernel ---===//
//
// Prompts are attended to by cuDNN's kernels for tensor cores, which sit in a
// library of their own (libshardrt-cudnn.so, CudnnAttention.cpp) beside the
// plugin: where that or cuDNN is not there, or it refuses a shape, the plugin's
// own kernels (kernels/Attention*.cu) do the work.
//
// A plan is made for each shape at its first run, which is never captured. Of
// each kind of shapes, which take one kernel of the library, the first result
// is compared with that of the plugin's own kernel; should they disagree, the
// own result counts, and the library is not asked again. A kind is what its
// kernels are written for: the type, the depth, and what is hidden. Lengths are
// not, so that a prompt of another one costs no comparison.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_CUDA_FUSEDATTENTION_H
#define SHARDC_RUNTIME_BACKEND_CUDA_FUSEDATTENTION_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <array>
#include <compare>
#include <cuda_runtime_api.h>
#include <functional>
#include <map>
#include <memory>
#include <set>

namespace shardc::runtime {

/// y = softmax(scale q k^T + bias) v, of dims [batches, heads, rows, depth];
/// strides count elements, the last one is 1 everywhere. Query heads share KV
/// heads in order. All of one 16-bit float type.
struct FusedAttentionShape {
  artifact::ElementType element = artifact::ElementType_Float16;
  int64_t batches = 0, heads = 0, kvHeads = 0, queries = 0, keys = 0, depth = 0;
  /// Of batches, heads and rows.
  int64_t q[3] = {}, k[3] = {}, v[3] = {}, y[3] = {};
  bool hasBias = false;
  int64_t bias[3] = {}; ///< [.., .., queries, keys]; 0: the same for all
  bool isCausal = false;
  /// The last query sees the last key; else the first one the first.
  bool alignsEnds = false;
  int64_t window = 0; ///< keys that a query sees at most; 0: all
  double scale = 1;
  auto operator<=>(const FusedAttentionShape &) const = default;
};

struct FusedAttentionOperands {
  const std::byte *q, *k, *v, *bias; ///< on the device, aligned to 16 bytes
  std::byte *y;
};

/// A kernel for one shape.
class FusedAttention {
public:
  virtual ~FusedAttention() = default;
  virtual int64_t workspaceBytes() const = 0;
  /// Enqueues it on the engine's stream.
  virtual Status run(const FusedAttentionOperands &operands,
                     std::byte *workspace) = 0;
};

/// What a library offers for one stream.
class FusedAttentionEngine {
public:
  virtual ~FusedAttentionEngine() = default;
  /// Null where it has no kernel for that.
  virtual std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) = 0;
};

/// The library's entry, C linkage: null where it cannot be used. `layout` is
/// sizeof(FusedAttentionShape), so that another build's is refused.
using FusedAttentionEntry = FusedAttentionEngine *(cudaStream_t stream,
                                                   uint64_t layout);
inline constexpr char kFusedAttentionEntry[] = "shardrtFusedAttention";
inline constexpr char kFusedAttentionLibrary[] = "libshardrt-cudnn.so";

/// The plans of one stream, which has to live longer.
class FusedAttentions {
public:
  FusedAttentions() = default;
  FusedAttentions(const FusedAttentions &) = delete;
  ~FusedAttentions();
  /// Of a stream whose device is current.
  void setStream(cudaStream_t newStream) { stream = newStream; }
  /// Instead of the library's.
  void setEngine(std::unique_ptr<FusedAttentionEngine> newEngine);

  /// What may be wrong with a plan that has not run yet.
  struct Doubt {
    bool isNew = false;     ///< the shape: it may fail to run (giveUp)
    bool isNewKind = false; ///< its result is to be compared (checkFirst)
  };
  /// Null: the plugin's own kernels have to do it. Whether they do depends on the
  /// shape alone, as all ranks have to take the same kernels: a rank without
  /// memory for the workspace is an error.
  Status find(const FusedAttentionShape &shape, FusedAttention *&plan,
              Doubt &doubt);
  Status run(FusedAttention &plan, const FusedAttentionOperands &operands);

  /// After `run` gave y: lets `runOwn` write the same attention there, and puts
  /// back what was there unless the two disagree.
  Status checkFirst(const FusedAttentionShape &shape, std::byte *y,
                    const std::function<Status()> &runOwn);
  /// The plugin's own kernels do that shape from now on; false: the device
  /// itself has failed.
  bool giveUp(const FusedAttentionShape &shape);

private:
  static constexpr size_t kMostPlans = 4096;
  static constexpr int64_t kWorkspaceBytes = int64_t{64} << 20;
  /// Whether there is a library, which is opened when it is first asked for.
  bool hasEngine();
  void open();
  Status reserve();

  cudaStream_t stream = nullptr;
  std::unique_ptr<FusedAttentionEngine> engine; ///< outlives its plans
  bool isOpened = false;
  /// Null: refused. Plans stay, since graphs may have them.
  std::map<FusedAttentionShape, std::unique_ptr<FusedAttention>> plans;
  /// Element, depth, whether heads share keys, has a bias, is causal, aligns
  /// ends, has a window.
  using Kind = std::array<int64_t, 7>;
  static Kind kindOf(const FusedAttentionShape &shape);
  std::set<Kind> compared;
  bool isTrusted = true;
  std::byte *workspace = nullptr;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BACKEND_CUDA_FUSEDATTENTION_H
