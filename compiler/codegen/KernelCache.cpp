//===- KernelCache.cpp - Libraries that were made before ------------------===//

#include "compiler/codegen/KernelCache.h"

#include "dialects/rt/Rt.h"

#include "runtime/base/Hash.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <optional>

using namespace llvm;

namespace shardc::codegen {

constexpr size_t kHashDigits = 32;

static std::string hashOf(StringRef bytes) {
  return runtime::hashHex(bytes.data(), bytes.size());
}

/// "" where there is none.
static std::string cacheFolder() {
  SmallString<128> folder;
  if (auto own = sys::Process::GetEnv("SHARDC_CACHE_DIR"))
    folder = *own;
  else if (auto shared = sys::Process::GetEnv("XDG_CACHE_HOME"))
    sys::path::append(folder, *shared, "shardc");
  else if (sys::path::home_directory(folder))
    sys::path::append(folder, ".cache", "shardc");
  if (folder.empty())
    return "";
  sys::path::append(folder, "kernels");
  return folder.str().str();
}

/// What a rebuilt compiler has otherwise.
static std::string compilerStamp() {
  sys::fs::file_status status;
  if (sys::fs::status("/proc/self/exe", status))
    return "";
  return std::to_string(status.getSize()) + " " +
         std::to_string(
             status.getLastModificationTime().time_since_epoch().count());
}

static std::string pathOf(StringRef key) {
  std::string folder = cacheFolder();
  if (folder.empty())
    return "";
  SmallString<128> path(folder);
  sys::path::append(path, key);
  return path.str().str();
}

std::string kernelText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto kernel : module.getOps<rt::KernelOp>())
    kernel.print(os, mlir::OpPrintingFlags().useLocalScope());
  return text;
}

/// Of kernels for a target, by this very build of the compiler.
static std::string cacheKey(StringRef kernels, StringRef target) {
  static const std::string stamp = compilerStamp();
  return hashOf((stamp + "\n" + target + "\n" + kernels).str());
}

static std::optional<std::string> readCache(StringRef key) {
  const std::string path = pathOf(key);
  if (path.empty())
    return std::nullopt;
  auto file = MemoryBuffer::getFile(path, false, false);
  if (!file || (*file)->getBufferSize() < kHashDigits)
    return std::nullopt;
  StringRef text = (*file)->getBuffer();
  StringRef bytes = text.drop_front(kHashDigits);
  if (hashOf(bytes) != text.take_front(kHashDigits))
    return std::nullopt;
  return bytes.str();
}

static void writeCache(StringRef key, StringRef bytes) {
  const std::string path = pathOf(key);
  if (path.empty() || sys::fs::create_directories(sys::path::parent_path(path)))
    return;
  SmallString<128> temporary;
  int descriptor = -1;
  if (sys::fs::createUniqueFile(path + ".%%%%%%", descriptor, temporary))
    return;
  raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << hashOf(bytes) << bytes;
  os.close();
  const bool isBroken = os.has_error();
  os.clear_error();
  if (isBroken || sys::fs::rename(temporary, path))
    sys::fs::remove(temporary);
}

std::string cached(StringRef kernels, StringRef target,
                   function_ref<std::string()> make) {
  const std::string key = cacheKey(kernels, target);
  if (std::optional<std::string> known = readCache(key))
    return *known;
  std::string made = make();
  if (!made.empty())
    writeCache(key, made);
  return made;
}

} // namespace shardc::codegen
