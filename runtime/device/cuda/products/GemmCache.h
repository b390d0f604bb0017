//===- GemmCache.h - Matrix products of cuBLASLt --------------------------===//
//
// Descriptors and the algorithm that cuBLASLt's heuristics choose are kept for
// each shape, so that a product costs no more than its launch from the second
// time on. One cache a stream: it needs no lock, and has the stream's
// workspace. Algorithms are also in a file, for the processes that come later
// (AlgorithmFile.h). A thread that captures may not ask the heuristics: another
// one does.
//
// f32 is computed as f32, unless SHARDC_TF32=1 asks for TF32; f16, bf16 and
// eight bits of float accumulate in f32. Integers of 8 bits give ones of 32.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_GEMMCACHE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_GEMMCACHE_H

#include "runtime/device/cuda/products/AlgorithmFile.h"
#include "runtime/device/cuda/products/ProductPlan.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <map>
#include <string>

namespace shardc::runtime {

/// What happens to a product before it is stored.
struct GemmEpilogue {
  enum Activation : uint8_t { None, Relu, Gelu };
  const void *bias = nullptr;   ///< one element a column, of C's type
  Activation activation = None; ///< Gelu: the tanh form, as cuBLASLt has it
  /// What beta scales, where that is not what the output has; it lies as that
  /// does.
  const std::byte *addend = nullptr;
  /// Factors of A and B, of eight bits of float: on the device, both or none.
  const float *scaleA = nullptr, *scaleB = nullptr;
};

struct GemmTypes {
  artifact::ElementType a, b, c;
};

class GemmCache {
public:
  /// What NVIDIA recommends for Hopper.
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  GemmCache() = default;
  GemmCache(const GemmCache &) = delete;
  ~GemmCache();
  /// Of the current device, which is `ofDevice`.
  Status open(int ofDevice);
  /// Keeps what was chosen since the last time, if that was a while ago.
  void save() {
    if (file)
      file->save();
  }

  /// C = epilogue(alpha A B + beta C) for operands that need no packing and
  /// have elements. A, B and C are of one type of floats, or A and B of int8
  /// and C of int32; cuBLASLt wants B to be dense along columns then, A and C
  /// along rows, and the columns of A and B and all leading dimensions to be
  /// multiples of 4. Or A and B are of eight bits of float and C of others:
  /// dense like that, and multiples of 16. Error: cuBLASLt has no such product.
  Status multiply(const ProductPlan &plan, const GemmTypes &types,
                  const std::byte *a, const std::byte *b, std::byte *c,
                  double alpha, double beta, const GemmEpilogue &epilogue,
                  cudaStream_t stream);

  /// Whether this GPU multiplies eight bits of float: those since sm_89 do.
  bool multipliesFloat8s() const { return hasFloat8s; }

private:
  /// All that a descriptor depends on.
  struct Key {
    int64_t m, n, k, batches;
    int64_t leading[3], strides[3];
    int elements[3];
    bool transposes[2];
    bool hasBias, hasScales;
    GemmEpilogue::Activation activation;
    unsigned alignment; ///< of all pointers
    auto operator<=>(const Key &) const = default;
  };
  struct Product {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t layouts[3] = {};
    cublasLtMatmulAlgo_t algorithm = {};
    std::string refusal; ///< why there is none; it is not asked for again
  };
  Status find(const Key &key, bool swaps, const GemmEpilogue &epilogue,
              cudaStream_t stream, Product *&product);
  Status make(const Key &key, bool swaps, const GemmEpilogue &epilogue,
              Product &product);
  Status makeBeside(const Key &key, bool swaps, const GemmEpilogue &epilogue,
                    Product &product);
  Status describe(const Key &key, Product &product);
  Status choose(const Key &key, Product &product);
  AlgorithmFile::Key fileKeyOf(const Key &key) const;
  Status askHeuristics(const Key &key, Product &product);
  Status setPointers(const Product &product, bool swaps,
                     const GemmEpilogue &epilogue);
  bool canRun(const Product &product, const cublasLtMatmulAlgo_t &algorithm);
  static void destroy(Product &product);

  cublasLtHandle_t handle = nullptr;
  void *workspace = nullptr;
  int device = 0;
  bool isCaptured = false; ///< the product that is made
  bool usesTf32 = false, hasFloat8s = false;
  std::map<Key, Product> products;
  std::shared_ptr<AlgorithmFile> file; ///< null: there is none
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_GEMMCACHE_H
