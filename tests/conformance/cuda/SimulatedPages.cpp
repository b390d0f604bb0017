//===- SimulatedPages.cpp - The driver's virtual memory -------------------===//
//
// What a program asks of libcuda by cudaGetDriverEntryPoint: addresses, pages
// and what is mapped where. As strict as the driver, and more so where it would
// only fail later: a piece is mapped whole, once.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulatedPages.h"
#include "tests/conformance/backend/FakeMemory.h"
#include "tests/conformance/cuda/SimulatedCapture.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedDriver.h"

#include <cstdlib>
#include <cuda.h>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

using namespace shardc::testing;
using shardc::test::FakeMemory;

namespace {

struct Piece {
  int device;
  size_t bytes;
  bool isHeld = true; ///< by its handle
  bool isMapped = false;
};

struct Mapping {
  CUmemGenericAllocationHandle piece;
  std::set<int> devices; ///< that may use it
};

std::mutex mutex;
std::map<CUmemGenericAllocationHandle, Piece> pieces;
std::map<CUdeviceptr, size_t> reservations;
std::map<CUdeviceptr, Mapping> mappings;
CUmemGenericAllocationHandle lastHandle = 0;

int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// SHARDC_SIMULATED_REFUSES: what the attributes promise and the driver does
/// not do, as in virtual machines: "pages" at all, "handles" for other
/// processes, or access of "peers".
bool refuses(std::string_view what) {
  const char *said = std::getenv("SHARDC_SIMULATED_REFUSES");
  return said && std::string_view(said).find(what) != std::string_view::npos;
}

bool hasPages() { return setting("SHARDC_SIMULATED_PAGE", 2 << 20) > 0; }
size_t pageBytes() {
  return static_cast<size_t>(setting("SHARDC_SIMULATED_PAGE", 2 << 20));
}

bool isPages(size_t bytes) { return bytes > 0 && bytes % pageBytes() == 0; }
bool isThere(int device) { return device >= 0 && device < simulatedDevices(); }
std::byte *at(CUdeviceptr address) {
  return reinterpret_cast<std::byte *>(address);
}
size_t bytesOf(const Mapping &mapping) {
  return pieces.at(mapping.piece).bytes;
}

bool fits(const CUmemAllocationProp &page) {
  return page.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         page.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         isThere(page.location.id) &&
         (page.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
          page.requestedHandleTypes ==
              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

/// Whether [begin, begin + bytes) is in one reservation.
bool isReserved(CUdeviceptr begin, size_t bytes) {
  auto behind = reservations.upper_bound(begin);
  return behind != reservations.begin() &&
         begin + bytes <= std::prev(behind)->first + std::prev(behind)->second;
}

/// The mappings that fill [begin, begin + bytes); none, where others do.
std::map<CUdeviceptr, Mapping *> mappingsIn(CUdeviceptr begin, size_t bytes) {
  std::map<CUdeviceptr, Mapping *> found;
  const CUdeviceptr end = begin + bytes;
  for (auto next = mappings.find(begin);
       next != mappings.end() && next->first == begin && begin < end; ++next) {
    found[begin] = &next->second;
    begin += bytesOf(next->second);
  }
  return begin == end ? found : std::map<CUdeviceptr, Mapping *>();
}

/// A piece goes back when neither its handle nor a mapping is left.
void giveBack(std::map<CUmemGenericAllocationHandle, Piece>::iterator piece) {
  if (piece->second.isHeld || piece->second.isMapped)
    return;
  giveBackSimulated(piece->second.device, piece->second.bytes);
  pieces.erase(piece);
}

//===--- Of libcuda -------------------------------------------------------===//

CUresult getAttribute(int *value, CUdevice_attribute attribute,
                      CUdevice device) {
  if (!isThere(device))
    return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    *value = hasPages();
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    *value = 1;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE; // add what is asked for
  }
}

CUresult getGranularity(size_t *page, const CUmemAllocationProp *properties,
                        CUmemAllocationGranularity_flags) {
  if (!hasPages() || !fits(*properties))
    return CUDA_ERROR_INVALID_VALUE;
  *page = pageBytes();
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                 CUdeviceptr wished, unsigned long long flags) {
  if (!isPages(bytes) || (alignment & (alignment - 1)) || wished || flags)
    return CUDA_ERROR_INVALID_VALUE;
  std::byte *memory = FakeMemory::instance().reserve(
      static_cast<int64_t>(bytes), static_cast<int64_t>(pageBytes()));
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(mutex);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  reservations[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult addressFree(CUdeviceptr address, size_t bytes) {
  std::lock_guard lock(mutex);
  auto found = reservations.find(address);
  auto mapped = mappings.lower_bound(address);
  if (found == reservations.end() || found->second != bytes ||
      (mapped != mappings.end() && mapped->first < address + bytes))
    return CUDA_ERROR_INVALID_VALUE;
  FakeMemory::instance().release(at(address));
  reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes,
                const CUmemAllocationProp *page, unsigned long long flags) {
  if (breaksSimulatedCapture())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!hasPages() || !isPages(bytes) || flags || !fits(*page))
    return CUDA_ERROR_INVALID_VALUE;
  if (refuses("pages"))
    return CUDA_ERROR_NOT_PERMITTED;
  if (refuses("handles") &&
      (page->requestedHandleTypes || page->allocFlags.gpuDirectRDMACapable))
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!takeSimulated(page->location.id, bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(mutex);
  *handle = ++lastHandle;
  pieces[*handle] = {page->location.id, bytes};
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(mutex);
  auto found = pieces.find(handle);
  if (found == pieces.end() || !found->second.isHeld)
    return CUDA_ERROR_INVALID_VALUE;
  found->second.isHeld = false;
  giveBack(found);
  return CUDA_SUCCESS;
}

/// Nobody may use it before setAccess.
CUresult map(CUdeviceptr address, size_t bytes, size_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  std::lock_guard lock(mutex);
  auto piece = pieces.find(handle);
  if (piece == pieces.end() || !piece->second.isHeld ||
      piece->second.isMapped || piece->second.bytes != bytes || offset ||
      flags || address % pageBytes() || !isReserved(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  auto next = mappings.lower_bound(address);
  if ((next != mappings.end() && next->first < address + bytes) ||
      (next != mappings.begin() &&
       std::prev(next)->first + bytesOf(std::prev(next)->second) > address))
    return CUDA_ERROR_ALREADY_MAPPED;
  piece->second.isMapped = true;
  mappings[address] = {handle, {}};
  return CUDA_SUCCESS;
}

CUresult setAccess(CUdeviceptr address, size_t bytes,
                   const CUmemAccessDesc *access, size_t count) {
  std::lock_guard lock(mutex);
  auto found = mappingsIn(address, bytes);
  if (found.empty() || count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i)
    if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !isThere(access[i].location.id) ||
        access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return CUDA_ERROR_INVALID_VALUE;
  if (refuses("peers") && count > 1)
    return CUDA_ERROR_NOT_SUPPORTED;
  for (auto &[begin, mapping] : found) {
    if (mapping->devices.empty() &&
        !FakeMemory::instance().map(at(begin),
                                    static_cast<int64_t>(bytesOf(*mapping))))
      return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; ++i)
      mapping->devices.insert(access[i].location.id);
  }
  return CUDA_SUCCESS;
}

/// Does not wait for work that uses it, which then fails.
CUresult unmap(CUdeviceptr address, size_t bytes) {
  std::lock_guard lock(mutex);
  auto found = mappingsIn(address, bytes);
  if (found.empty())
    return CUDA_ERROR_INVALID_VALUE;
  for (auto &[begin, mapping] : found) {
    if (!mapping->devices.empty())
      FakeMemory::instance().unmap(at(begin));
    auto piece = pieces.find(mapping->piece);
    piece->second.isMapped = false;
    mappings.erase(begin);
    giveBack(piece);
  }
  return CUDA_SUCCESS;
}

const SimulatedDriver driver = {
    driverEntry<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute",
                                                getAttribute),
    driverEntry<decltype(cuMemGetAllocationGranularity)>(
        "cuMemGetAllocationGranularity", getGranularity),
    driverEntry<decltype(cuMemAddressReserve)>("cuMemAddressReserve", reserve),
    driverEntry<decltype(cuMemAddressFree)>("cuMemAddressFree", addressFree),
    driverEntry<decltype(cuMemCreate)>("cuMemCreate", create),
    driverEntry<decltype(cuMemRelease)>("cuMemRelease", release),
    driverEntry<decltype(cuMemMap)>("cuMemMap", map),
    driverEntry<decltype(cuMemUnmap)>("cuMemUnmap", unmap),
    driverEntry<decltype(cuMemSetAccess)>("cuMemSetAccess", setAccess),
};

} // namespace

namespace shardc::testing {

bool isOpenTo(int device, const void *memory) {
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  std::lock_guard lock(mutex);
  auto behind = mappings.upper_bound(address);
  if (behind == mappings.begin())
    return true;
  const auto &[begin, mapping] = *std::prev(behind);
  return begin + bytesOf(mapping) <= address ||
         mapping.devices.count(device) > 0;
}

} // namespace shardc::testing
