#include "runtime/device/cuda/products/AlgorithmFile.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace shardc::runtime {
namespace {

constexpr size_t kHashDigits = 32;
constexpr size_t kRecordBytes =
    sizeof(AlgorithmFile::Key) + sizeof(cublasLtMatmulAlgo_t::data);
/// Sizes that only requests know could make ever more.
constexpr size_t kMostAlgorithms = 8192;

const char *setting(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? value : nullptr;
}

/// "" where there is none.
std::string cacheFolder() {
  if (const char *own = setting("SHARDC_CACHE_DIR"))
    return own;
  if (const char *shared = setting("XDG_CACHE_HOME"))
    return std::string(shared) + "/shardc";
  if (const char *home = setting("HOME"))
    return std::string(home) + "/.cache/shardc";
  return "";
}

/// The name of a GPU may have blanks and slashes.
std::string fileName(std::string text) {
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      c = '-';
  return text;
}

} // namespace

std::shared_ptr<AlgorithmFile> AlgorithmFile::forDevice(int device) {
  const char *wanted = std::getenv("SHARDC_CUBLASLT_CACHE");
  const std::string folder = cacheFolder();
  const size_t version = cublasLtGetVersion();
  cudaDeviceProp properties = {};
  if ((wanted && std::string_view(wanted) == "0") || folder.empty() ||
      version == 0 ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return nullptr;
  // A part of a GPU has its name, but other algorithms are best on it.
  const std::string purpose =
      message(properties.name, " sm_", properties.major, properties.minor, " ",
              properties.multiProcessorCount, " ", version);
  const std::string path = folder + "/cublaslt/" + fileName(purpose);
  static std::mutex mutex;
  static auto &opened =
      *new std::map<std::string, std::weak_ptr<AlgorithmFile>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<AlgorithmFile> file = opened[path].lock();
  if (!file)
    opened[path] = file = std::make_shared<AlgorithmFile>(path, purpose);
  return file;
}

AlgorithmFile::AlgorithmFile(std::string path, std::string purpose)
    : path(std::move(path)), purpose("shardc 2 " + std::move(purpose) + "\n") {
  known = read();
}

AlgorithmFile::~AlgorithmFile() { save(/*isLast=*/true); }

std::optional<cublasLtMatmulAlgo_t> AlgorithmFile::find(const Key &key) {
  const std::lock_guard lock(mutex);
  auto found = known.find(key);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

void AlgorithmFile::add(const Key &key, const cublasLtMatmulAlgo_t &algorithm) {
  const std::lock_guard lock(mutex);
  if (known.size() >= kMostAlgorithms && !known.count(key))
    return;
  known[key] = algorithm;
  hasNew = true;
}

void AlgorithmFile::save(bool isLast) {
  if (!hasNew)
    return;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  if (!hasNew || (!isLast && saved && now - *saved < std::chrono::seconds(1)))
    return;
  hasNew = false;
  saved = now;
  Table all = known;
  for (const auto &[key, algorithm] : read())
    if (all.size() < kMostAlgorithms)
      all.try_emplace(key, algorithm);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      ignored);
  (void)writeFileAtomically(path, textOf(all));
}

/// What the file has; nothing if it is not whole, or not for this.
AlgorithmFile::Table AlgorithmFile::read() const {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string_view rest =
      std::string_view(text).substr(std::min(kHashDigits, text.size()));
  if (!rest.starts_with(purpose) ||
      (rest.size() - purpose.size()) % kRecordBytes != 0 ||
      text.compare(0, kHashDigits, hashHex(rest.data(), rest.size())) != 0)
    return {};
  Table algorithms;
  for (size_t at = purpose.size(); at < rest.size(); at += kRecordBytes) {
    Key key;
    cublasLtMatmulAlgo_t algorithm = {};
    std::memcpy(key.data(), &rest[at], sizeof key);
    std::memcpy(algorithm.data, &rest[at + sizeof key], sizeof algorithm.data);
    algorithms[key] = algorithm;
  }
  return algorithms;
}

std::string AlgorithmFile::textOf(const Table &algorithms) const {
  std::string rest = purpose;
  for (const auto &[key, algorithm] : algorithms) {
    rest.append(reinterpret_cast<const char *>(key.data()), sizeof key);
    rest.append(reinterpret_cast<const char *>(algorithm.data),
                sizeof algorithm.data);
  }
  return hashHex(rest.data(), rest.size()) + rest;
}

} // namespace shardc::runtime
