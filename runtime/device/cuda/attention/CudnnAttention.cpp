//===- CudnnAttention.cpp - cuDNN's attention, a library of its own -------===//
//
// Through cuDNN's graph API and its header-only frontend (NVIDIA, "Attention"
// in the cuDNN developer guide). The frontend throws: nothing of that leaves
// this file. Nothing of it has run on a GPU yet, so FusedAttention.h compares
// the first result of each kind of plans.
//
// Padded shapes follow what that guide says of padded layouts: with a padding
// mask and tensors of lengths "cuDNN automatically masks out padding tokens",
// and BOTTOM_RIGHT is "aligned with the actual sequence length". All of a plan's
// rows are memory, finite where they are padding, since it also says that what
// is masked still takes part in P V. It does not say what y gets in rows that
// are padding: nobody reads them.
//
// Kernels are compiled, by cuDNN on the host, which it also does for a device
// of which it has no more than the properties. So it is known of cuDNN 9.19
// that it takes all these shapes for sm_80, sm_90 and sm_100, that what it
// compiles for a padded form is the same for all lengths (sm_100: from 256 on,
// fewer take another kernel), and that a plan takes 1 to 6 s on two cores, but
// some 10 ms where graphs have dynamic shapes and a kernel cache that has their
// kernel. Not known without a GPU are results, what padding costs (whether tiles
// that hold nothing else are skipped), and loading of kernels.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/attention/FusedAttention.h"

#include "runtime/base/Message.h"

#include <cudnn_frontend.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

namespace shardc::runtime {
namespace {

namespace graph = cudnn_frontend::graph;

enum Uid : int64_t { kQ = 1, kK, kV, kBias, kY, kQueryLengths, kKeyLengths };

graph::Tensor_attributes tensor(const char *name, Uid uid, int64_t batches,
                                int64_t heads, int64_t rows, int64_t columns,
                                const int64_t (&strides)[3]) {
  return graph::Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({batches, heads, rows, columns})
      .set_stride({strides[0], strides[1], strides[2], 1});
}

graph::Tensor_attributes lengths(const char *name, Uid uid, int64_t batches) {
  return graph::Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({batches, 1, 1, 1})
      .set_stride({1, 1, 1, 1})
      .set_data_type(cudnn_frontend::DataType_t::INT32);
}

/// A handle is one thread's at a time.
struct CudnnHandle {
  cudnnHandle_t handle = nullptr;
  std::mutex mutex;
};

class CudnnAttention final : public FusedAttention {
public:
  explicit CudnnAttention(CudnnHandle &owner) : owner(owner) {}

  /// `kernels`: those of plans for other lengths, or null, for a kernel of its
  /// own.
  bool build(const FusedAttentionShape &s,
             const std::shared_ptr<cudnn_frontend::KernelCache> &kernels) {
    using cudnn_frontend::DataType_t;
    if (kernels) {
      program.set_dynamic_shape_enabled(true);
      program.set_kernel_cache(kernels);
    }
    program
        .set_io_data_type(s.element == artifact::ElementType_Float16
                              ? DataType_t::HALF
                              : DataType_t::BFLOAT16)
        .set_intermediate_data_type(DataType_t::FLOAT)
        .set_compute_data_type(DataType_t::FLOAT);
    auto q = program.tensor(
        tensor("q", kQ, s.batches, s.heads, s.queries, s.depth, s.q));
    auto k = program.tensor(
        tensor("k", kK, s.batches, s.kvHeads, s.keys, s.depth, s.k));
    auto v = program.tensor(
        tensor("v", kV, s.batches, s.kvHeads, s.keys, s.depth, s.v));
    auto options = graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(false)
                       .set_attn_scale(static_cast<float>(s.scale));
    if (s.isCausal && s.alignsEnds)
      options.set_causal_mask_bottom_right(true);
    else if (s.isCausal)
      options.set_causal_mask(true);
    if (s.window > 0)
      options.set_diagonal_band_left_bound(static_cast<int>(s.window));
    if (s.hasBias)
      options.set_bias(program.tensor(biasOf(s)));
    if (s.isPadded)
      options.set_padding_mask(true)
          .set_seq_len_q(program.tensor(
              lengths("query lengths", kQueryLengths, s.batches)))
          .set_seq_len_kv(
              program.tensor(lengths("key lengths", kKeyLengths, s.batches)));
    auto y = program.sdpa(q, k, v, options)[0];
    y->set_output(true)
        .set_uid(kY)
        .set_dim({s.batches, s.heads, s.queries, s.depth})
        .set_stride({s.y[0], s.y[1], s.y[2], 1});
    hasBias = s.hasBias;
    isPadded = s.isPadded;
    return program.build(owner.handle, {cudnn_frontend::HeurMode_t::A})
               .is_good() &&
           program.get_workspace_size(bytes).is_good();
  }

  int64_t workspaceBytes() const override { return bytes; }

  Status run(const FusedAttentionOperands &operands, std::byte *workspace,
             cudaStream_t stream) override {
    // The frontend knows no const.
    const auto pointer = [](const void *data) {
      return const_cast<void *>(data);
    };
    std::unordered_map<int64_t, void *> memory = {{kQ, pointer(operands.q)},
                                                  {kK, pointer(operands.k)},
                                                  {kV, pointer(operands.v)},
                                                  {kY, operands.y}};
    if (hasBias)
      memory[kBias] = pointer(operands.bias);
    if (isPadded) {
      memory[kQueryLengths] = pointer(operands.queryLengths);
      memory[kKeyLengths] = pointer(operands.keyLengths);
    }
    std::lock_guard lock(owner.mutex);
    if (cudnnSetStream(owner.handle, stream) != CUDNN_STATUS_SUCCESS)
      return artifactError("cuDNN does not take the stream; SHARDC_CUDNN=0 "
                           "runs without it");
    try {
      auto status = program.execute(owner.handle, memory, workspace);
      return status.is_good()
                 ? Status::ok()
                 : artifactError(
                       "cuDNN's attention failed: ", status.get_message(),
                       "; SHARDC_CUDNN=0 runs without it");
    } catch (const std::exception &error) {
      return artifactError("cuDNN's attention failed: ", error.what(),
                           "; SHARDC_CUDNN=0 runs without it");
    }
  }

private:
  static graph::Tensor_attributes biasOf(const FusedAttentionShape &s) {
    // A dim that is the same for all has size 1, and any stride.
    const int64_t whole = s.queries * s.bias[2];
    const int64_t strides[] = {s.bias[0] ? s.bias[0] : whole,
                               s.bias[1] ? s.bias[1] : whole, s.bias[2]};
    return tensor("bias", kBias, s.bias[0] ? s.batches : 1,
                  s.bias[1] ? s.heads : 1, s.queries, s.keys, strides);
  }

  CudnnHandle &owner;
  graph::Graph program;
  int64_t bytes = 0;
  bool hasBias = false, isPadded = false;
};

class CudnnEngine final : public FusedAttentionEngine {
public:
  explicit CudnnEngine(cudnnHandle_t handle) { owner.handle = handle; }
  ~CudnnEngine() override { cudnnDestroy(owner.handle); }

  /// Where the device's kernels take sizes at run time, one is compiled for all
  /// lengths: a plan more is milliseconds then, instead of a second.
  std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) override {
    std::lock_guard lock(owner.mutex);
    Kernels &shared = kernels[formOf(shape)];
    if (!shared.areRefused) {
      if (!shared.cache)
        shared.cache = std::make_shared<cudnn_frontend::KernelCache>();
      if (auto made = tryToPlan(shape, shared.cache))
        return made;
    }
    auto made = tryToPlan(shape, nullptr);
    shared.areRefused |= made != nullptr; // it is not the shape that is
    return made;
  }

private:
  /// Graphs of one form differ in sizes alone.
  using Form = std::array<int64_t, 9>;
  static Form formOf(const FusedAttentionShape &s) {
    return {s.element,
            s.depth,
            s.heads / s.kvHeads,
            s.hasBias,
            s.isCausal,
            s.alignsEnds,
            s.window,
            s.isPadded,
            s.bias[0] != 0 ? 2 + (s.bias[1] != 0) : s.bias[1] != 0};
  }
  struct Kernels {
    std::shared_ptr<cudnn_frontend::KernelCache> cache;
    bool areRefused = false;
  };

  std::unique_ptr<FusedAttention>
  tryToPlan(const FusedAttentionShape &shape,
            const std::shared_ptr<cudnn_frontend::KernelCache> &cache) {
    try {
      auto made = std::make_unique<CudnnAttention>(owner);
      if (made->build(shape, cache))
        return made;
    } catch (const std::exception &) {
      // A refusal like any other.
    }
    return nullptr;
  }

  CudnnHandle owner;
  std::map<Form, Kernels> kernels;
};

} // namespace
} // namespace shardc::runtime

using namespace shardc::runtime;

extern "C" FusedAttentionEngine *shardrtFusedAttention(uint64_t layout) {
  cudnnHandle_t handle = nullptr;
  if (layout != kFusedAttentionLayout ||
      cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS)
    return nullptr;
  return new CudnnEngine(handle);
}
