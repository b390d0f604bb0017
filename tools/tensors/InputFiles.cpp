#include "tools/tensors/InputFiles.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"
#include "runtime/io/Npz.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace fs = std::filesystem;
using namespace shardc::runtime;

namespace shardc::tensors {
namespace {

std::string tensorPath(const std::string &folder, const char *kind, size_t i) {
  return (fs::path(folder) / message(kind, "_", i, ".pb")).string();
}

Status readTensor(const std::string &path, const TensorInfo &info,
                  const char *kind, NamedTensor &tensor) {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return argumentError(path, " is missing: expected ", kind, " '", info.name,
                         "', ", typeText(info));
  MappedFile file;
  if (Status status = MappedFile::open(path, file); !status.isOk())
    return argumentError(status.message());
  return parseTensorProto(path,
                          {reinterpret_cast<const char *>(file.data()),
                           static_cast<size_t>(file.size())},
                          tensor);
}

/// Position counts in a folder; a name in the file must not contradict it.
Status readInput(const std::string &path, const TensorInfo &info,
                 NamedTensor &tensor) {
  SHARDC_RETURN_IF_ERROR(readTensor(path, info, "input", tensor));
  if (!tensor.name.empty() && tensor.name != info.name)
    return argumentError(path, ": its tensor is named '", tensor.name,
                         "', expected '", info.name,
                         "' (the model's inputs count in order)");
  tensor.name = info.name;
  return Status::ok();
}

/// A folder may have such a name, too.
bool isNpz(const std::string &path) {
  std::error_code ignored;
  return path.ends_with(".npz") && !fs::is_directory(path, ignored);
}

} // namespace

std::string requestPath(const std::string &path, size_t request) {
  if (!isNpz(path))
    return path + "/" + std::to_string(request);
  return path.substr(0, path.size() - 3) + std::to_string(request) + ".npz";
}

Status readInputs(const std::string &path, std::span<const TensorInfo> infos,
                  std::span<const char> kept,
                  std::vector<NamedTensor> &tensors) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (isNpz(path)) {
      SHARDC_RETURN_IF_ERROR(readNpz(path, tensors));
      for (size_t i = 0; i < infos.size(); ++i)
        if (kept[i])
          std::erase_if(tensors, [&](const NamedTensor &tensor) {
            return tensor.name == infos[i].name;
          });
      return Status::ok();
    }
    return argumentError(path, ": expected a folder with input_0.pb, ... or a "
                               ".npz file");
  }
  for (size_t i = 0; i < infos.size(); ++i)
    if (!kept[i])
      SHARDC_RETURN_IF_ERROR(readInput(tensorPath(path, "input", i), infos[i],
                                       tensors.emplace_back()));
  std::string extra = tensorPath(path, "input", infos.size());
  if (fs::exists(extra, ignored))
    return argumentError(extra, ": the model has only ", infos.size(),
                         " inputs");
  return Status::ok();
}

/// By the outputs' names.
static Status readExpectedNpz(const std::string &path,
                              std::span<const TensorInfo> infos,
                              std::span<const char> kept,
                              std::vector<NamedTensor> &tensors) {
  std::vector<NamedTensor> all;
  SHARDC_RETURN_IF_ERROR(readNpz(path, all));
  for (size_t i = 0; i < infos.size(); ++i) {
    if (kept[i])
      continue;
    auto found = std::find_if(all.begin(), all.end(), [&](const auto &tensor) {
      return tensor.name == infos[i].name;
    });
    if (found == all.end())
      return argumentError(path, " has no array '", infos[i].name,
                           "': expected output ", i, ", ", typeText(infos[i]));
    tensors[i] = std::move(*found);
  }
  return Status::ok();
}

Status readExpected(const std::string &path, std::span<const TensorInfo> infos,
                    std::span<const char> kept,
                    std::vector<NamedTensor> &tensors) {
  tensors.resize(infos.size());
  if (isNpz(path))
    return readExpectedNpz(path, infos, kept, tensors);
  for (size_t i = 0; i < infos.size(); ++i)
    if (!kept[i])
      SHARDC_RETURN_IF_ERROR(readTensor(tensorPath(path, "output", i), infos[i],
                                        "output", tensors[i]));
  return Status::ok();
}

/// output_I.pb of earlier runs that this one did not write.
static void removeStale(const std::string &folder,
                        std::span<const std::string> written) {
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    const size_t digits = name.find_first_not_of("0123456789", 7);
    if (name.starts_with("output_") && digits > 7 && digits != name.npos &&
        name.substr(digits) == ".pb" &&
        std::find(written.begin(), written.end(), name) == written.end())
      stale.push_back(it->path());
  }
  for (const fs::path &path : stale)
    fs::remove(path, error);
}

void removeOtherRequests(const std::string &path, size_t numRequests) {
  if (numRequests > 1)
    removeStale(path, {});
  std::error_code error;
  std::vector<std::string> stale;
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    size_t number = 0;
    const char *last = name.data() + name.size();
    const auto [rest, problem] = std::from_chars(name.data(), last, number);
    // A data set's outputs are not a run's.
    if (problem == std::errc() && rest == last && it->is_directory(error) &&
        (numRequests == 1 || number >= numRequests) &&
        !fs::exists(tensorPath(it->path().string(), "input", 0), error))
      stale.push_back(it->path().string());
  }
  for (const std::string &folder : stale) {
    removeStale(folder, {});
    fs::remove(folder, error); // only if it is empty
  }
}

Status writeOutputs(const std::string &folder,
                    std::span<const TensorInfo> infos,
                    std::span<const char> kept,
                    std::span<const Tensor> tensors) {
  if (isNpz(folder)) {
    std::vector<NamedTensorView> views;
    for (size_t i = 0; i < infos.size(); ++i)
      if (!kept[i])
        views.emplace_back(infos[i].name, &tensors[i]);
    return writeNpz(folder, views);
  }
  std::error_code error;
  bool created = fs::create_directories(folder, error);
  if (error)
    return argumentError("cannot create ", folder, ": ", error.message());
  // Complete files under other names first, so that a full disk is noticed
  // before any output is in place.
  Status status;
  std::vector<std::pair<std::string, std::string>> files; // part, whole
  for (size_t i = 0; i < infos.size() && status.isOk(); ++i) {
    if (kept[i])
      continue;
    std::string path = tensorPath(folder, "output", i);
    // Another run may write there, too.
    files.emplace_back(path + ".part" + std::to_string(getpid()), path);
    status = writeFileAtomically(
        files.back().first, serializeTensorProto(infos[i].name, tensors[i]));
  }
  for (size_t i = 0; i < files.size() && status.isOk(); ++i) {
    fs::rename(files[i].first, files[i].second, error);
    if (error)
      status = argumentError("cannot write ", files[i].second, ": ",
                             error.message());
  }
  if (status.isOk()) {
    std::vector<std::string> written;
    for (const auto &[part, whole] : files)
      written.push_back(fs::path(whole).filename().string());
    removeStale(folder, written);
    return status;
  }
  for (const auto &[part, whole] : files)
    fs::remove(part, error);
  if (created)
    fs::remove(folder, error); // only if it is empty
  return status;
}

} // namespace shardc::tensors
