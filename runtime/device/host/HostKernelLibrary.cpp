#include "runtime/device/host/HostKernelLibrary.h"

#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"
#include "runtime/base/ProcessorLevel.h"
#include "runtime/device/host/ContentLibrary.h"

#include <dlfcn.h>

namespace shardc::runtime {

std::vector<std::string> hostTargets() {
  std::vector<std::string> targets;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (mayUseLevel(ProcessorLevel::Avx512) &&
      __builtin_cpu_supports("x86-64-v4"))
    targets.push_back("x86-64-v4");
  if (mayUseLevel(ProcessorLevel::Avx2) && __builtin_cpu_supports("x86-64-v3"))
    targets.push_back("x86-64-v3");
#endif
  return targets;
}

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr char kRemedy[] = "; compile the model again";

class HostKernelLibrary final : public KernelLibrary {
public:
  Status open(const KernelFiles &files);

  const Kernel *find(std::string_view name) const override {
    auto it = entries.find(name);
    return it == entries.end() ? nullptr : &it->second.kernel;
  }

private:
  Status openFile(const std::string &path, const std::string &hash);

  struct Entry {
    GeneratedKernel generated;
    Kernel kernel;
  };
  std::shared_ptr<void> handle;
  std::map<std::string, Entry, std::less<>> entries;
};

Status HostKernelLibrary::open(const KernelFiles &files) {
  const std::vector<std::string> targets = hostTargets();
  if (targets.empty())
    return artifactError("the artifact has kernels for x86-64-v3 and newer, "
                         "which this processor is not, or SHARDC_PROCESSOR "
                         "says that it is not; compile the model with "
                         "--kernels reference");
  auto target = targets.begin();
  while (target != targets.end() && !files.holds(*target + ".so"))
    ++target;
  if (target == targets.end())
    return artifactError("manifest.json lists no ", artifact::kKernelsFolder,
                         targets.front(),
                         ".so or older, which the programs call", kRemedy);
  const std::string path = files.folder + *target + ".so";
  SHARDC_RETURN_IF_ERROR(openFile(path, files.hashOf(*target + ".so")));
  for (const auto &[name, form] : *files.forms) {
    auto *function = dlsym(handle.get(), name.c_str());
    if (!function)
      return artifactError(path, " has no kernel ", name, kRemedy);
    Entry &entry = entries[name];
    entry.generated = {
        name, reinterpret_cast<artifact::GeneratedFunction>(function), form};
    entry.kernel = {.run = runGenerated,
                    .scratchBytes = generatedScratchBytes,
                    .code = &entry.generated};
  }
  return Status::ok();
}

/// What was checked is what is opened.
Status HostKernelLibrary::openFile(const std::string &path,
                                   const std::string &hash) {
  std::string contents;
  SHARDC_RETURN_IF_ERROR(readSmallFile(path, kMaxBytes, contents));
  if (!hash.empty() && hashHex(contents.data(), contents.size()) != hash)
    return artifactError(path, " is damaged: its hash does not match; copy the "
                               "artifact again or compile it again");
  if (Status status = openContentLibrary(path, contents, handle);
      !status.isOk())
    return artifactError(status.message(), kRemedy);
  return Status::ok();
}

} // namespace

Status openHostKernels(const KernelFiles &files,
                       std::unique_ptr<KernelLibrary> &library) {
  auto opened = std::make_unique<HostKernelLibrary>();
  SHARDC_RETURN_IF_ERROR(opened->open(files));
  library = std::move(opened);
  return Status::ok();
}

} // namespace shardc::runtime
