//===- AlgorithmFile.h - What cuBLASLt's heuristics chose before ----------===//
//
// Asking the heuristics takes its time for each shape, and in each process
// anew. Their answers are kept, for the same version of cuBLASLt and the
// same kind of GPU: one file for both, below the user's cache folder.
//
//   ~/.cache/shardc/cublaslt/NVIDIA-H200-sm_90-132-130002
//   hash of the rest, in hex   finds damage
//   one line                   what the file is for, compared as it is
//   records                    a key and cublasLtMatmulAlgo_t's bytes each
//
// All streams of a process share one table, so that ranks choose alike. A file
// that is damaged, or for something else, counts as empty and is replaced; one
// that cannot be read or written is no error. SHARDC_CUBLASLT_CACHE=0 leaves
// files alone.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_ALGORITHMFILE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_ALGORITHMFILE_H

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cublasLt.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace shardc::runtime {

class AlgorithmFile {
public:
  /// All that determines a product, in an order that stays; 0 for what a
  /// product has not.
  using Key = std::array<int64_t, 24>;

  /// The file for this kind of GPU; null where there is to be none.
  static std::shared_ptr<AlgorithmFile> forDevice(int device);
  AlgorithmFile(std::string path, std::string purpose);
  AlgorithmFile(const AlgorithmFile &) = delete;
  /// Saves.
  ~AlgorithmFile();

  std::optional<cublasLtMatmulAlgo_t> find(const Key &key);
  void add(const Key &key, const cublasLtMatmulAlgo_t &algorithm);
  /// Writes what was added, together with what other processes wrote
  /// meanwhile. Not more often than once a second, unless it is the last time.
  void save(bool isLast = false);

private:
  using Table = std::map<Key, cublasLtMatmulAlgo_t>;
  Table read() const;
  std::string textOf(const Table &algorithms) const;

  const std::string path, purpose;
  std::mutex mutex;
  Table known;
  std::atomic<bool> hasNew = false;
  std::optional<std::chrono::steady_clock::time_point> saved;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_PRODUCTS_ALGORITHMFILE_H
