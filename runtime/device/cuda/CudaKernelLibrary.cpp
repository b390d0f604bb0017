#include "runtime/device/cuda/CudaKernelLibrary.h"

#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/RowLaunch.h"

namespace shardc::runtime {
namespace {

struct CudaRowKernel {
  std::string name;
  cudaKernel_t handle = nullptr;
  artifact::GeneratedForm form;
};

Status bindSpace(const KernelCall &call, RowSpace &space) {
  const auto &kernel = *static_cast<const CudaRowKernel *>(call.code);
  SHARDC_RETURN_IF_ERROR(bindRows(kernel.name, kernel.form, call, space));
  space.fold(kernel.form);
  return Status::ok();
}

Status runRows(const KernelCall &call) {
  const auto &kernel = *static_cast<const CudaRowKernel *>(call.code);
  RowSpace space;
  SHARDC_RETURN_IF_ERROR(bindSpace(call, space));
  if (space.rows() == 0 || (space.columns == 0 && !kernel.form.mixesColumns))
    return Status::ok();
  const RowGrid grid = gridFor(kernel.form, space);
  RowArguments arguments(space, grid, call.scratch);
  for (int64_t i = 0; i < arguments.numLaunches(); ++i)
    SHARDC_RETURN_IF_ERROR(cudaStatus(
        cudaLaunchKernel(kernel.handle, dim3(grid.blocksX, grid.blocksY),
                         dim3(grid.threads), arguments.of(i), grid.sharedBytes,
                         CudaStream::of(call).stream()),
        "kernel launch"));
  return Status::ok();
}

int64_t rowScratchBytes(const KernelCall &call) {
  const auto &kernel = *static_cast<const CudaRowKernel *>(call.code);
  RowSpace space;
  return bindSpace(call, space).isOk() // else run says what is wrong
             ? gridFor(kernel.form, space).scratchBytes
             : 0;
}

class CudaKernelLibrary final : public KernelLibrary {
public:
  ~CudaKernelLibrary() override {
    if (library)
      cudaLibraryUnload(library);
  }
  Status open(const std::string &path, const artifact::GeneratedForms &forms) {
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaLibraryLoadFromFile(&library, path.c_str(), nullptr,
                                           nullptr, 0, nullptr, nullptr, 0),
                   ("cannot load " + path).c_str()));
    for (const auto &[name, form] : forms) {
      Entry &entry = entries[name];
      entry.rows = {name, nullptr, form};
      SHARDC_RETURN_IF_ERROR(cudaStatus(
          cudaLibraryGetKernel(&entry.rows.handle, library, name.c_str()),
          (path + " has no kernel " + name + "; compile the model again")
              .c_str()));
      entry.kernel = {
          .run = runRows, .scratchBytes = rowScratchBytes, .code = &entry.rows};
    }
    return Status::ok();
  }
  const Kernel *find(std::string_view name) const override {
    auto it = entries.find(name);
    return it == entries.end() ? nullptr : &it->second.kernel;
  }

private:
  struct Entry {
    CudaRowKernel rows;
    Kernel kernel;
  };
  cudaLibrary_t library = nullptr;
  std::map<std::string, Entry, std::less<>> entries;
};

} // namespace

Status openCudaKernels(int device, std::string_view architecture,
                       const KernelFiles &files,
                       std::unique_ptr<KernelLibrary> &library) {
  const std::string file = chooseKernelFile(architecture, files);
  if (file.empty())
    return artifactError("the artifact has no kernels for ", architecture,
                         "; compile the model with --target cuda, or run it "
                         "with --device host");
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  auto opened = std::make_unique<CudaKernelLibrary>();
  SHARDC_RETURN_IF_ERROR(opened->open(files.folder + file, *files.forms));
  library = std::move(opened);
  return Status::ok();
}

} // namespace shardc::runtime
