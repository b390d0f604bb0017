//===- CudnnAttention.cpp - cuDNN's attention, a library of its own -------===//
//
// Through cuDNN's graph API and its header-only frontend (NVIDIA, "Attention"
// in the cuDNN developer guide). The frontend throws: nothing of that leaves
// this file. Nothing of it has run on a GPU yet, so FusedAttention.h compares
// each plan's first result.
//
//===----------------------------------------------------------------------===//
#include "runtime/backend/cuda/FusedAttention.h"

#include "runtime/base/Message.h"

#include <cudnn_frontend.h>

#include <vector>

namespace shardc::runtime {
namespace {

namespace graph = cudnn_frontend::graph;

enum Uid : int64_t { kQ = 1, kK, kV, kBias, kY };

graph::Tensor_attributes tensor(const char *name, Uid uid, int64_t batches,
                                int64_t heads, int64_t rows, int64_t columns,
                                const int64_t (&strides)[3]) {
  return graph::Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({batches, heads, rows, columns})
      .set_stride({strides[0], strides[1], strides[2], 1});
}

class CudnnAttention final : public FusedAttention {
public:
  explicit CudnnAttention(cudnnHandle_t handle) : handle(handle) {}

  bool build(const FusedAttentionShape &s) {
    using cudnn_frontend::DataType_t;
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
    auto y = program.sdpa(q, k, v, options)[0];
    y->set_output(true)
        .set_uid(kY)
        .set_dim({s.batches, s.heads, s.queries, s.depth})
        .set_stride({s.y[0], s.y[1], s.y[2], 1});
    hasBias = s.hasBias;
    return program.build(handle, {cudnn_frontend::HeurMode_t::A}).is_good() &&
           program.get_workspace_size(bytes).is_good();
  }

  int64_t workspaceBytes() const override { return bytes; }

  Status run(const FusedAttentionOperands &operands,
             std::byte *workspace) override {
    // The frontend knows no const.
    const auto pointer = [](const std::byte *data) {
      return static_cast<void *>(const_cast<std::byte *>(data));
    };
    std::unordered_map<int64_t, void *> memory = {{kQ, pointer(operands.q)},
                                                  {kK, pointer(operands.k)},
                                                  {kV, pointer(operands.v)},
                                                  {kY, operands.y}};
    if (hasBias)
      memory[kBias] = pointer(operands.bias);
    try {
      auto status = program.execute(handle, memory, workspace);
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

  cudnnHandle_t handle;
  graph::Graph program;
  int64_t bytes = 0;
  bool hasBias = false;
};

class CudnnEngine final : public FusedAttentionEngine {
public:
  explicit CudnnEngine(cudnnHandle_t handle) : handle(handle) {}
  ~CudnnEngine() override { cudnnDestroy(handle); }

  std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) override {
    try {
      auto made = std::make_unique<CudnnAttention>(handle);
      return made->build(shape) ? std::move(made) : nullptr;
    } catch (const std::exception &) {
      return nullptr; // a refusal like any other
    }
  }

private:
  cudnnHandle_t handle;
};

} // namespace
} // namespace shardc::runtime

using namespace shardc::runtime;

extern "C" FusedAttentionEngine *shardrtFusedAttention(cudaStream_t stream,
                                                       uint64_t layout) {
  cudnnHandle_t handle = nullptr;
  if (layout != sizeof(FusedAttentionShape) ||
      cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS)
    return nullptr;
  if (cudnnSetStream(handle, stream) != CUDNN_STATUS_SUCCESS) {
    cudnnDestroy(handle);
    return nullptr;
  }
  return new CudnnEngine(handle);
}
