//===- FusedAttention.h - Attention by a library, where it has a kernel ---===//
//
// Prompts are attended to by cuDNN's kernels for tensor cores, which sit in a
// library of their own (libshardrt-cudnn.so, CudnnAttention.cpp) beside the
// plugin: where that or cuDNN is not there, or it refuses a shape, the plugin's
// own kernels (kernels/Attention*.cu) do the work.
//
// A plan is made for each shape at its first run, which is never captured, and
// costs as much as some prompts do. So a prompt of any length is copied into
// memory of the next one of a few lengths, with the real one in memory beside
// it (kernels/AttentionPadding.h). The plans that a stream used last stay; a
// graph keeps those that it has.
//
// Of each kind of shapes, which take one kernel of the library, the first
// result is compared with that of the plugin's own kernel; should they
// disagree, the own result counts, and the library is not asked again. A kind
// is what its kernels are written for: the type, the depth, what is hidden, and
// whether it is padded. Lengths are not, so that a prompt of another one costs
// no comparison, but for few queries, for which cuDNN may have other kernels.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_ATTENTION_FUSEDATTENTION_H
#define SHARDC_RUNTIME_DEVICE_CUDA_ATTENTION_FUSEDATTENTION_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <array>
#include <compare>
#include <cuda_runtime_api.h>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

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
  /// Rows behind those that `queryLengths` and `keyLengths` of the operands say
  /// are not looked at; those of y may get anything. All of them are memory,
  /// and q, k, v and the bias are finite there.
  bool isPadded = false;
  auto operator<=>(const FusedAttentionShape &) const = default;
};

struct FusedAttentionOperands {
  const std::byte *q, *k, *v, *bias; ///< on the device, aligned to 16 bytes
  std::byte *y;
  /// Of a padded shape: those of each batch, on the device.
  const int32_t *queryLengths = nullptr, *keyLengths = nullptr;
};

/// A kernel for one shape.
class FusedAttention {
public:
  virtual ~FusedAttention() = default;
  virtual int64_t workspaceBytes() const = 0;
  /// Enqueues it; any thread may.
  virtual Status run(const FusedAttentionOperands &operands,
                     std::byte *workspace, cudaStream_t stream) = 0;
};

/// What a library offers for one device, to all threads.
class FusedAttentionEngine {
public:
  virtual ~FusedAttentionEngine() = default;
  /// Null where it has no kernel for that.
  virtual std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) = 0;
};

/// The library's entry, C linkage, for the device that is current: null where
/// it cannot be used. `layout` is kFusedAttentionLayout, so that another
/// build's is refused.
using FusedAttentionEntry = FusedAttentionEngine *(uint64_t layout);
inline constexpr uint64_t kFusedAttentionLayout =
    sizeof(FusedAttentionShape) << 16 | sizeof(FusedAttentionOperands);
inline constexpr char kFusedAttentionEntry[] = "shardrtFusedAttention";
inline constexpr char kFusedAttentionLibrary[] = "libshardrt-cudnn.so";

class FusedPlans;

/// The plans of one stream, which has to live longer.
class FusedAttentions {
public:
  FusedAttentions() = default;
  FusedAttentions(const FusedAttentions &) = delete;
  ~FusedAttentions();
  /// Of a stream of that device, which is current.
  void setStream(int newDevice, cudaStream_t newStream) {
    device = newDevice;
    stream = newStream;
  }
  /// Instead of the library's.
  void setEngine(std::unique_ptr<FusedAttentionEngine> newEngine);

  /// What may be wrong with a plan that has not run yet.
  struct Doubt {
    bool isNew = false;     ///< the shape: it may fail to run (giveUp)
    bool isNewKind = false; ///< its result is to be compared (checkFirst)
  };
  /// Null: the plugin's own kernels have to do it. Whether they do depends on the
  /// shapes so far alone, as all ranks have to take the same kernels: a rank
  /// without memory for the workspace is an error. Whoever captures what the
  /// plan runs has to keep it.
  Status find(const FusedAttentionShape &shape,
              std::shared_ptr<FusedAttention> &plan, Doubt &doubt);
  Status run(FusedAttention &plan, const FusedAttentionOperands &operands);

  /// After `run` gave y, which is that of `whole`, a shape that is not padded,
  /// by a plan for `shape`: lets `runOwn` write the same attention there, and
  /// puts back what was there unless the two disagree.
  Status checkFirst(const FusedAttentionShape &shape,
                    const FusedAttentionShape &whole, std::byte *y,
                    const std::function<Status()> &runOwn);
  /// The plugin's own kernels do that shape from now on; false: the device
  /// itself has failed.
  bool giveUp(const FusedAttentionShape &shape);
  /// All work of the stream has ended.
  void onIdle() { retired.clear(); }

  /// Of the shapes that were used last; a plan has a module of code on the
  /// device. Of lengths up to 4,096 no kind needs more than 32.
  static constexpr size_t kMostPlans = 128;

private:
  static constexpr int64_t kWorkspaceBytes = int64_t{64} << 20;
  /// Whether there is a library, which is opened when it is first asked for.
  bool hasEngine();
  Status add(const FusedAttentionShape &shape);
  void dropOldest();
  Status reserve();

  int device = 0;
  cudaStream_t stream = nullptr;
  std::shared_ptr<FusedPlans> library;
  bool isOpened = false;
  struct Known {
    FusedAttentionShape shape;
    std::shared_ptr<FusedAttention> plan; ///< null: refused
  };
  std::list<Known> plans; ///< the last one was used first
  std::map<FusedAttentionShape, std::list<Known>::iterator> places;
  std::vector<std::shared_ptr<FusedAttention>> retired; ///< may still run
  /// Element, depth, whether heads share keys, has a bias, is causal, aligns
  /// ends, has a window, is padded, has few queries.
  using Kind = std::array<int64_t, 9>;
  static Kind kindOf(const FusedAttentionShape &shape);
  std::set<Kind> compared;
  bool isTrusted = true;
  std::byte *workspace = nullptr;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_ATTENTION_FUSEDATTENTION_H
