//===- AssemblePtx.cpp - From PTX to a cubin, by ptxas --------------------===//

#include "compiler/codegen/TemporaryFile.h"
#include "compiler/codegen/cuda/CudaKernels.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;

namespace shardc::codegen {
namespace {

/// The number before `unit`, 0 if there is none: "0 bytes spill stores".
int64_t numberBefore(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  int64_t value = 0;
  StringRef before = line.take_front(at).rtrim();
  before = before.substr(before.find_last_of(' ') + 1);
  return before.getAsInteger(10, value) ? 0 : value;
}

} // namespace

std::vector<KernelResources> parseResources(StringRef log) {
  std::vector<KernelResources> kernels;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    auto [before, entry] = line.split("Compiling entry function '");
    if (!entry.empty()) {
      kernels.push_back({entry.split('\'').first.str(), 0, 0, 0});
    } else if (!kernels.empty()) {
      kernels.back().spilledBytes += numberBefore(line, "bytes spill stores") +
                                     numberBefore(line, "bytes spill loads");
      kernels.back().registers += numberBefore(line, "registers");
      kernels.back().sharedBytes += numberBefore(line, "bytes smem");
    }
  }
  return kernels;
}

std::string findPtxas() {
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    if (auto folder = sys::Process::GetEnv(variable)) {
      SmallString<128> path(*folder);
      sys::path::append(path, "bin", "ptxas");
      if (sys::fs::can_execute(path))
        return path.str().str();
    }
  if (auto found = sys::findProgramByName("ptxas"))
    return *found;
  return sys::fs::can_execute(SHARDC_PTXAS) ? SHARDC_PTXAS : "";
}

std::string assemblePtx(StringRef ptx, StringRef architecture, std::string &log,
                        std::string &why) {
  const std::string ptxas = findPtxas();
  if (ptxas.empty()) {
    why = "ptxas is not there: put it on PATH, or set CUDA_HOME";
    return "";
  }
  TemporaryFile input, output, said;
  why = input.create("ptx", ptx);
  for (TemporaryFile *file : {&output, &said})
    if (why.empty())
      why = file->create(file == &output ? "cubin" : "log");
  if (!why.empty())
    return "";
  const std::string flag = ("-arch=" + architecture).str();
  const std::optional<StringRef> redirects[] = {
      StringRef(""), StringRef(said.path()), StringRef(said.path())};
  const int status = sys::ExecuteAndWait(
      ptxas, {ptxas, flag, "-v", "-o", output.path(), input.path()},
      std::nullopt, redirects, /*SecondsToWait=*/300, /*MemoryLimit=*/0, &why);
  log = said.read();
  if (status == 0)
    return output.read();
  why = "ptxas refused the kernels: " + (why.empty() ? log : why);
  return "";
}

} // namespace shardc::codegen
