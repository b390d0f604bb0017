//===- KernelFileChoice.cpp - Which file suits a GPU ----------------------===//

#include "runtime/device/cuda/CudaKernelLibrary.h"

#include <charconv>

namespace shardc::runtime {

/// 90 of "sm_90.cubin" and "compute_90.ptx"; -1: another file.
static int versionOf(std::string_view name, std::string_view prefix,
                     std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix))
    return -1;
  name =
      name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  int version = -1;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), version);
  return error == std::errc() && end == name.data() + name.size() ? version
                                                                  : -1;
}

std::string chooseKernelFile(std::string_view architecture,
                             const KernelFiles &files) {
  const int own = versionOf(architecture, "sm_", "");
  int bestCubin = -1, bestPtx = -1;
  std::string cubin, ptx;
  for (const std::string &name : files.names) {
    const int forCubin = versionOf(name, "sm_", ".cubin");
    if (forCubin / 10 == own / 10 && forCubin <= own && forCubin > bestCubin) {
      bestCubin = forCubin;
      cubin = name;
    }
    const int forPtx = versionOf(name, "compute_", ".ptx");
    if (forPtx <= own && forPtx > bestPtx) {
      bestPtx = forPtx;
      ptx = name;
    }
  }
  return cubin.empty() ? ptx : cubin;
}

} // namespace shardc::runtime
