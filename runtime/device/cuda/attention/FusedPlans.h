//===- FusedPlans.h - A library's plans for attention, of a device --------===//
//
// One handle of the library for all streams of a device, and one plan for all
// who have the same shape. A plan lives as long as somebody has it: a stream
// that used it lately, or a graph that runs it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_ATTENTION_FUSEDPLANS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_ATTENTION_FUSEDPLANS_H

#include "runtime/device/cuda/attention/FusedAttention.h"

#include <mutex>

namespace shardc::runtime {

/// Thread-safe.
class FusedPlans : public std::enable_shared_from_this<FusedPlans> {
public:
  /// Of the library that lies beside the plugin, for the device, which is
  /// current; null where it is not there or cannot be used.
  static std::shared_ptr<FusedPlans> of(int device);
  explicit FusedPlans(std::unique_ptr<FusedAttentionEngine> engine)
      : engine(std::move(engine)) {}

  /// Whether there may be a library in this process, for any device: nobody
  /// needs memory for it otherwise. Once it was said that there is, there is.
  static bool mayBeThere();
  /// There is one that is no library.
  static void announce();

  /// Somebody's, or a new one; null where the library has none, or none that
  /// does with so much workspace.
  std::shared_ptr<FusedAttention> find(const FusedAttentionShape &shape,
                                       int64_t mostWorkspace);

private:
  const std::unique_ptr<FusedAttentionEngine> engine; ///< outlives its plans
  std::mutex mutex;
  std::map<FusedAttentionShape, std::weak_ptr<FusedAttention>> plans;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_ATTENTION_FUSEDPLANS_H
