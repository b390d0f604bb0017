//===- Plugin.h - Backends in libraries of their own ----------------------===//
//
// A backend NAME that is not built in is the library libshardrt_NAME.so, which
// is opened when somebody asks for it, so that the runtime needs none of its
// libraries (CUDA, NCCL). It exports one function, kPluginEntry. Both sides
// share C++ types, so they come from one build: version and layout are compared
// before anything else is used.
//
// Looked for in the folders of SHARDC_BACKENDS (colons between them), then
// in those of base/LibraryFolders.h.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_PLUGIN_H
#define SHARDC_RUNTIME_DEVICE_PLUGIN_H

#include "runtime/device/Backend.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// Counted up with every change of Backend.h, GrowingMemory.h, Communicator.h
/// or Kernel.h that a plugin can see.
inline constexpr uint32_t kPluginVersion = 11;

/// Sizes of what both sides share: a change that nobody counted shows here.
constexpr uint32_t pluginLayout() {
  uint32_t layout = 0;
  for (size_t size :
       {sizeof(TensorView), sizeof(KernelAttribute), sizeof(KernelCall),
        sizeof(Kernel), sizeof(DeviceInfo), sizeof(DeviceStream),
        sizeof(GrowingMemory), sizeof(CopyShape), sizeof(GroupPlace),
        sizeof(OwnedRuns), sizeof(ExpertRouting), sizeof(Status)})
    layout = layout * 31 + static_cast<uint32_t>(size);
  return layout;
}

/// The first two members stay where they are in every version.
struct PluginDescription {
  uint32_t version;
  uint32_t layout;
  Backend *backend; ///< lives as long as the library
};

/// extern "C" const PluginDescription *shardrtPlugin()
inline constexpr const char *kPluginEntry = "shardrtPlugin";
using PluginEntry = const PluginDescription *();

/// The backend of that name, opened on first use and never closed.
/// InvalidArgument: the name is none; Artifact: it cannot be opened, and why.
Status findBackend(std::string_view name, Backend *&backend);

/// The same for a library at that path.
Status openPlugin(const std::string &path, Backend *&backend);

/// Names of the plugins that lie in the folders where they are looked for.
std::vector<std::string> listPlugins();

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_PLUGIN_H
