//===- CudaKernels.cpp - A module's kernels for NVIDIA GPUs ---------------===//

#include "compiler/codegen/cuda/CudaKernels.h"

#include "compiler/codegen/KernelCache.h"
#include "compiler/codegen/rows/GpuRows.h"
#include "compiler/codegen/rows/LowerRows.h"
#include "dialects/rt/Rt.h"

using namespace mlir;

namespace shardc::codegen {

/// A100, H100 and H200, B200; of the oldest one PTX, too, which newer GPUs than
/// these compile for themselves.
static constexpr StringLiteral kArchitectures[] = {"sm_80", "sm_90", "sm_100"};
static constexpr StringLiteral kPtxFile = "compute_80.ptx";

FailureOr<OwningOpRef<ModuleOp>> lowerGpuKernels(ModuleOp module) {
  return lowerRows(module, emitGpuRows);
}

namespace {

/// Makes images of one module, or takes them from the cache.
class ImageMaker {
public:
  explicit ImageMaker(ModuleOp module)
      : module(module), text(kernelText(module)) {}

  bool hasKernels() const { return !text.empty(); }

  /// "" where that fails, and then `why`.
  std::string ptx(StringRef architecture) {
    return cached(text, architecture.str() + " ptx", [&]() -> std::string {
      if (!lowered) {
        auto made = lowerGpuKernels(module);
        if (failed(made)) {
          why = "they cannot be lowered";
          return "";
        }
        lowered = std::move(*made);
      }
      return compilePtx(*lowered, architecture, why);
    });
  }

  /// With what ptxas said; one entry of the cache, so that none is without.
  std::string cubin(StringRef architecture, std::string &log) {
    const std::string both =
        cached(text, architecture.str() + " cubin", [&]() -> std::string {
          std::string said, source = ptx(architecture);
          std::string bytes =
              source.empty() ? source
                             : assemblePtx(source, architecture, said, why);
          return bytes.empty() ? bytes : said + '\0' + bytes;
        });
    const size_t end = both.find('\0');
    log = both.substr(0, end);
    return both.empty() ? both : both.substr(end + 1);
  }

  std::string why;

private:
  ModuleOp module;
  const std::string text;
  OwningOpRef<ModuleOp> lowered;
};

} // namespace

FailureOr<std::vector<CudaImage>> generateCudaKernels(ModuleOp module) {
  std::vector<CudaImage> images;
  ImageMaker maker(module);
  if (!maker.hasKernels())
    return images;
  auto failed = [&](StringRef target) {
    return module.emitError("its kernels cannot be generated for ")
           << target << ": " << maker.why << "; use --kernels reference";
  };
  std::string ptx = maker.ptx(kArchitectures[0]);
  if (ptx.empty())
    return failed(kArchitectures[0]);
  images.push_back({kPtxFile.str(), std::move(ptx), {}});
  if (findPtxas().empty()) {
    module.emitWarning("ptxas is not there: the artifact has PTX alone, which "
                       "the driver compiles whenever it is opened; put ptxas "
                       "on PATH, or set CUDA_HOME");
    return images;
  }
  for (StringRef architecture : kArchitectures) {
    std::string log, bytes = maker.cubin(architecture, log);
    if (bytes.empty())
      return failed(architecture);
    images.push_back({(architecture + ".cubin").str(), std::move(bytes),
                      parseResources(log)});
  }
  return images;
}

} // namespace shardc::codegen
