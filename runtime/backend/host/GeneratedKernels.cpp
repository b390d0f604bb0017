#include "runtime/backend/host/GeneratedKernels.h"

#include "runtime/base/Message.h"

#include <dlfcn.h>

namespace shardc::runtime {
namespace {

/// The levels that this processor runs, best first.
std::vector<std::string> hostTargets() {
  std::vector<std::string> targets;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    targets.push_back("x86-64-v4");
  if (__builtin_cpu_supports("x86-64-v3"))
    targets.push_back("x86-64-v3");
#endif
  return targets;
}

constexpr char kRemedy[] = "; compile the model again";

} // namespace

Status GeneratedKernels::open(const Artifact &artifact,
                              GeneratedKernels &kernels) {
  for (size_t number = 0; number < artifact.numPrograms(); ++number) {
    const artifact::Program &program = artifact.program(number);
    for (auto *list : {program.load(), program.run()})
      for (const artifact::Instruction *instruction : *list) {
        if (!isGeneratedKernel(instruction->kernel()->string_view()))
          continue;
        if (!kernels.library)
          SHARDC_RETURN_IF_ERROR(kernels.openLibrary(artifact));
        SHARDC_RETURN_IF_ERROR(kernels.add(program, *instruction));
      }
  }
  return Status::ok();
}

Status GeneratedKernels::openLibrary(const Artifact &artifact) {
  const std::vector<std::string> targets = hostTargets();
  if (targets.empty())
    return artifactError("the artifact has kernels for x86-64-v3 and newer, "
                         "which this processor is not; compile the model with "
                         "--kernels reference");
  for (const std::string &target : targets) {
    const std::string name = artifact::kKernelsFolder + target + ".so";
    if (artifact.manifest().findArtifactFile(name) < 0)
      continue;
    path = artifact.pathOf(name);
    // A path without a slash would be searched for elsewhere.
    const std::string own = path[0] == '/' ? path : "./" + path;
    void *handle = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return artifactError("cannot open ", path, ": ", dlerror(), kRemedy);
    library.reset(handle, dlclose);
    return Status::ok();
  }
  return artifactError("manifest.json lists no ", artifact::kKernelsFolder,
                       targets.front(), ".so or older, which the programs call",
                       kRemedy);
}

Status GeneratedKernels::resolve(const std::string &name,
                                 GeneratedKernel &kernel) const {
  auto *function = dlsym(library.get(), name.c_str());
  const auto *words = static_cast<const int32_t *>(
      dlsym(library.get(), (name + artifact::kFormSuffix).c_str()));
  if (!function || !words)
    return artifactError(path, " has no kernel ", name, kRemedy);
  if (words[0] != artifact::kGeneratedVersion)
    return artifactError(path, ": kernel ", name, " has version ", words[0],
                         ", expected ", artifact::kGeneratedVersion, kRemedy);
  kernel.name = name;
  kernel.function = reinterpret_cast<artifact::GeneratedFunction>(function);
  kernel.form = {words[1], words[2], words[3], words[4], {}};
  if (kernel.form.numInputs < 0 || kernel.form.numOutputs < 0 ||
      kernel.form.numInputs + kernel.form.numOutputs >
          artifact::kMaxGeneratedOperands)
    return artifactError(path, ": kernel ", name, " is malformed", kRemedy);
  kernel.form.operands.assign(words + 5, words + 5 + kernel.form.numInputs +
                                             kernel.form.numOutputs);
  return Status::ok();
}

Status GeneratedKernels::add(const artifact::Program &program,
                             const artifact::Instruction &instruction) {
  const std::string name = instruction.kernel()->str();
  std::unique_ptr<Entry> &entry = entries[name];
  if (!entry) {
    auto made = std::make_unique<Entry>();
    SHARDC_RETURN_IF_ERROR(resolve(name, made->generated));
    made->kernel = {.run = runGenerated,
                    .scratchBytes = generatedScratchBytes,
                    .code = &made->generated};
    entry = std::move(made);
  }
  const artifact::GeneratedForm &form = entry->generated.form;
  std::vector<int32_t> views;
  for (auto *list : {instruction.inputs(), instruction.outputs()})
    views.insert(views.end(), list->begin(), list->end());
  bool fits = instruction.inputs()->size() == uint32_t(form.numInputs) &&
              instruction.outputs()->size() == uint32_t(form.numOutputs);
  for (size_t i = 0; fits && i < views.size(); ++i)
    fits = views[i] >= 0 &&
           form.operands[i] / 2 ==
               program.views()->Get(static_cast<uint32_t>(views[i]))->element();
  return fits ? Status::ok()
              : artifactError(describe(instruction), " does not fit ", path,
                              kRemedy);
}

const Kernel *GeneratedKernels::find(std::string_view name) const {
  auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second->kernel;
}

} // namespace shardc::runtime
