#if __has_include(<cupti.h>)

#include "runtime/device/cuda/trace/CuptiLibrary.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace shardc::runtime {

/// Versions are 13 00 01: records only grow within the first two digits.
static constexpr uint32_t kMajor = CUPTI_API_VERSION / 10000;

static void *openLibrary() {
  if (const char *path = std::getenv("SHARDC_CUPTI"))
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const std::string name = "libcupti.so." + std::to_string(kMajor);
  if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return library;
  const char *home = std::getenv("CUDA_HOME");
  if (!home)
    return nullptr;
  const std::string path = std::string(home) + "/extras/CUPTI/lib64/" + name;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

bool CuptiLibrary::open() {
  void *library = openLibrary();
  if (!library)
    return false;
  bool hasAll = true;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, name));
    hasAll &= function != nullptr;
  };
  find(getVersion, "cuptiGetVersion");
  find(getTimestamp, "cuptiGetTimestamp");
  find(registerCallbacks, "cuptiActivityRegisterCallbacks");
  find(enable, "cuptiActivityEnable");
  find(flushAll, "cuptiActivityFlushAll");
  find(getNextRecord, "cuptiActivityGetNextRecord");
  find(pushId, "cuptiActivityPushExternalCorrelationId");
  find(popId, "cuptiActivityPopExternalCorrelationId");
  uint32_t version = 0;
  return hasAll && getVersion(&version) == CUPTI_SUCCESS &&
         version >= CUPTI_API_VERSION && version / 10000 == kMajor;
}

} // namespace shardc::runtime

#endif
