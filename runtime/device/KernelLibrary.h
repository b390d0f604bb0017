//===- KernelLibrary.h - The kernels that came with an artifact -----------===//
//
// An artifact may hold code for the calls between library calls, in one file
// for each processor or GPU that it may run on (artifact/Generated.h). A device
// opens the file that suits it best:
//
//   std::unique_ptr<KernelLibrary> library;
//   SHARDC_RETURN_IF_ERROR(device.loadKernels(files, library));
//   library->find("rows_Swish_Mul_1f6b0c3a5d2e")
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H
#define SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H

#include "runtime/artifact/Generated.h"
#include "runtime/kernels/Kernel.h"

#include <algorithm>

namespace shardc::runtime {

/// What a device chooses from.
struct KernelFiles {
  std::string folder;                   ///< "model.shard/kernels/"
  std::vector<std::string> names;       ///< "x86-64-v3.so", "sm_90.cubin"
  std::vector<std::string> hashes = {}; ///< hashHex of each; none: not known
  /// Of the kernels in each; lives longer than what is opened.
  const artifact::GeneratedForms *forms = nullptr;

  bool holds(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  /// Of a file that it holds; empty: not known.
  std::string hashOf(std::string_view name) const {
    const auto at = static_cast<size_t>(
        std::find(names.begin(), names.end(), name) - names.begin());
    return at < hashes.size() ? hashes[at] : "";
  }
};

class KernelLibrary {
public:
  virtual ~KernelLibrary() = default;

  /// Null for a name that is not among the forms. Lives as long as this.
  virtual const Kernel *find(std::string_view name) const = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_KERNELLIBRARY_H
