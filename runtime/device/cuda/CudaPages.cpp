#include "runtime/device/cuda/CudaPages.h"

#include "runtime/base/Message.h"
#include "runtime/device/cuda/DriverFunction.h"

#include <cstdio>
#include <string>

namespace shardc::runtime {
namespace {

struct Driver {
  decltype(&cuDeviceGetAttribute) getAttribute = nullptr;
  decltype(&cuMemGetAllocationGranularity) getGranularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) setAccess = nullptr;
  bool isWhole = true; ///< all of them were found

  Driver() {
    find(getAttribute, "cuDeviceGetAttribute");
    find(getGranularity, "cuMemGetAllocationGranularity");
    find(reserve, "cuMemAddressReserve");
    find(free, "cuMemAddressFree");
    find(create, "cuMemCreate");
    find(release, "cuMemRelease");
    find(map, "cuMemMap");
    find(unmap, "cuMemUnmap");
    find(setAccess, "cuMemSetAccess");
  }
  static const Driver &get() {
    static const Driver driver;
    return driver;
  }

private:
  template <typename Function> void find(Function &function, const char *name) {
    isWhole &= findDriverFunction(name, function);
  }
};

bool has(int device, CUdevice_attribute attribute) {
  int value = 0;
  return Driver::get().getAttribute(&value, attribute, device) ==
             CUDA_SUCCESS &&
         value != 0;
}

class CudaPages final : public GrowingMemory {
public:
  CudaPages(const CudaPaging &paging, std::byte *memory, int64_t bytes,
            int64_t reserved)
      : GrowingMemory(memory, bytes), paging(paging), reserved(reserved) {}

  ~CudaPages() override {
    const Driver &driver = Driver::get();
    CUdeviceptr at = address();
    for (int64_t bytes : pieces) {
      driver.unmap(at, static_cast<size_t>(bytes));
      at += static_cast<CUdeviceptr>(bytes);
    }
    driver.free(address(), static_cast<size_t>(reserved));
  }

private:
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(memory); }

  /// All pages that are missing as one piece.
  bool grow(int64_t bytes) override {
    const int64_t page = paging.pageBytes;
    const int64_t piece = (bytes - taken + page - 1) / page * page;
    const Driver &driver = Driver::get();
    const auto size = static_cast<size_t>(piece);
    const CUdeviceptr at = address() + static_cast<CUdeviceptr>(taken);
    CUmemGenericAllocationHandle handle = 0;
    if (driver.create(&handle, size, &paging.page, 0) != CUDA_SUCCESS)
      return false;
    const bool isMapped = driver.map(at, size, 0, handle, 0) == CUDA_SUCCESS;
    driver.release(handle); // it lives as long as it is mapped
    if (!isMapped)
      return false;
    if (driver.setAccess(at, size, paging.access.data(),
                         paging.access.size()) != CUDA_SUCCESS) {
      driver.unmap(at, size);
      return false;
    }
    pieces.push_back(piece);
    taken += piece;
    return true;
  }

  const CudaPaging &paging; ///< the device's
  const int64_t reserved;
  std::vector<int64_t> pieces; ///< are unmapped as they were mapped
};

/// As ncclMemAlloc makes them: other processes and the network can be given
/// them, where that is possible at all.
CUmemAllocationProp pageOf(int device) {
  CUmemAllocationProp page = {};
  page.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  page.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  if (has(device,
          CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
    page.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  page.allocFlags.gpuDirectRDMACapable =
      has(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
  return page;
}

std::vector<CUmemAccessDesc> accessTo(int device) {
  std::vector<CUmemAccessDesc> access;
  int devices = 0;
  (void)cudaGetDeviceCount(&devices);
  for (int other = 0; other < devices; ++other) {
    int can = 0;
    if (other == device ||
        (cudaDeviceCanAccessPeer(&can, other, device) == cudaSuccess && can))
      access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, other},
                        CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  }
  return access;
}

/// Makes a page, maps it and opens it, as growing memory does; what failed.
std::string tryPage(const CudaPaging &paging) {
  const Driver &driver = Driver::get();
  const auto bytes = static_cast<size_t>(paging.pageBytes);
  CUdeviceptr at = 0;
  if (const CUresult result = driver.reserve(&at, bytes, 0, 0, 0);
      result != CUDA_SUCCESS)
    return message("cuMemAddressReserve: error ", result);
  std::string problem;
  auto fails = [&](const char *what, CUresult result) {
    if (result != CUDA_SUCCESS)
      problem = message(what, ": error ", result);
    return result != CUDA_SUCCESS;
  };
  CUmemGenericAllocationHandle handle = 0;
  if (!fails("cuMemCreate", driver.create(&handle, bytes, &paging.page, 0))) {
    const bool isMapped =
        !fails("cuMemMap", driver.map(at, bytes, 0, handle, 0));
    driver.release(handle);
    if (isMapped) {
      (void)fails("cuMemSetAccess",
                  driver.setAccess(at, bytes, paging.access.data(),
                                   paging.access.size()));
      driver.unmap(at, bytes);
    }
  }
  driver.free(at, bytes);
  return problem;
}

/// What the attributes of a virtual machine or a container promise and its
/// driver does not keep is given up, one thing after the other.
bool weaken(CudaPaging &paging, int device) {
  if (paging.page.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      paging.page.allocFlags.gpuDirectRDMACapable) {
    paging.page.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    paging.page.allocFlags.gpuDirectRDMACapable = 0;
    return true;
  }
  if (paging.access.size() == 1)
    return false;
  paging.access = {{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  return true;
}

} // namespace

CudaPaging findCudaPaging(int device) {
  CudaPaging paging;
  const Driver &driver = Driver::get();
  if (!driver.isWhole ||
      !has(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
    return paging;
  paging.page = pageOf(device);
  size_t page = 0;
  if (driver.getGranularity(&page, &paging.page,
                            CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
    return paging;
  paging.pageBytes = static_cast<int64_t>(page);
  paging.access = accessTo(device);
  for (;;) {
    const std::string problem = tryPage(paging);
    if (problem.empty())
      return paging;
    if (weaken(paging, device))
      continue;
    std::fprintf(stderr,
                 "shardrt: warning: cuda:%d maps no pages (%s): caches take "
                 "all of their memory at once\n",
                 device, problem.c_str());
    paging.pageBytes = 0;
    return paging;
  }
}

std::unique_ptr<GrowingMemory> reserveCudaPages(const CudaPaging &paging,
                                                int64_t bytes) {
  const int64_t page = paging.pageBytes;
  const int64_t reserved = (bytes + page - 1) / page * page;
  CUdeviceptr at = 0;
  if (Driver::get().reserve(&at, static_cast<size_t>(reserved), 0, 0, 0) !=
      CUDA_SUCCESS)
    return nullptr;
  return std::make_unique<CudaPages>(paging, reinterpret_cast<std::byte *>(at),
                                     bytes, reserved);
}

} // namespace shardc::runtime
