// A profiler as NVTX knows one: appends the names of ranges that are opened,
// and a line for each that is closed, to the file SHARDC_NVTX_LOG.
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <nvtx3/nvToolsExt.h>

static void append(const char *what, const char *name) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (std::FILE *log = std::fopen(std::getenv("SHARDC_NVTX_LOG"), "a")) {
    std::fprintf(log, "%s %s\n", what, name);
    std::fclose(log);
  }
}

static int push(const char *name) {
  append("open", name);
  return 0;
}

static int pop() {
  append("close", "");
  return 0;
}

extern "C" [[gnu::visibility("default")]] int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getExportTable) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(
      getExportTable(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] =
      reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
