//===- RefusedPlugin.cpp - Plugins that the runtime must not use ----------===//
//
// One of these is defined: WRONG_VERSION, WRONG_LAYOUT, NO_ENTRY, NO_BACKEND,
// OTHER_NAME (the library's name says otherwise), ORPHAN (a library that it
// needs is not there).
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Plugin.h"

using namespace shardc::runtime;

namespace {

class NamedBackend final : public Backend {
public:
  std::string_view name() const override { return "somebody_else"; }
  Status findDevices(std::vector<DeviceInfo> &devices) override {
    devices.clear();
    return Status::ok();
  }
  Status open(int, std::unique_ptr<Device> &) override {
    return Status::error(StatusCode::InvalidArgument, "it has no device");
  }
};

[[maybe_unused]] NamedBackend named;

} // namespace

#ifdef NO_ENTRY
extern "C" void somethingElse();
extern "C" void somethingElse() {}
#else
extern "C" const PluginDescription *shardrtPlugin() {
#if defined(WRONG_VERSION)
  static const PluginDescription description = {kPluginVersion + 1, 0, nullptr};
#elif defined(WRONG_LAYOUT)
  static const PluginDescription description = {kPluginVersion,
                                                pluginLayout() + 1, &named};
#elif defined(NO_BACKEND)
  static const PluginDescription description = {kPluginVersion, pluginLayout(),
                                                nullptr};
#else
  static const PluginDescription description = {kPluginVersion, pluginLayout(),
                                                &named};
#endif
  return &description;
}
#endif
