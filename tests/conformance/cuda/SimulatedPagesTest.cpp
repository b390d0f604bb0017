//===- SimulatedPagesTest.cpp - What the driver's memory refuses ----------===//
#include "tests/conformance/cuda/SimulationFixture.h"

#include <cuda.h>

namespace shardc::testing {
namespace {

constexpr size_t kPage = 2 << 20;

template <typename Function> void find(Function &function, const char *name) {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &found, 12000,
                                             cudaEnableDefault, &result),
            cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSuccess) << name;
  function = reinterpret_cast<Function>(found);
}

class SimulatedPages : public Simulation {
protected:
  void SetUp() override {
    ASSERT_DONE(cudaSetDevice(0)); // others may have failed in other tests
    Simulation::SetUp();
    find(reserve, "cuMemAddressReserve");
    find(free, "cuMemAddressFree");
    find(create, "cuMemCreate");
    find(release, "cuMemRelease");
    find(map, "cuMemMap");
    find(unmap, "cuMemUnmap");
    find(setAccess, "cuMemSetAccess");
    page.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    page.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    own = {page.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ASSERT_EQ(reserve(&base, 4 * kPage, 0, 0, 0), CUDA_SUCCESS);
  }

  CUmemGenericAllocationHandle piece(size_t pages = 1) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(create(&handle, pages * kPage, &page, 0), CUDA_SUCCESS);
    return handle;
  }
  CUdeviceptr at(size_t number) const { return base + number * kPage; }
  void mapPage(size_t number) {
    auto handle = piece();
    EXPECT_EQ(map(at(number), kPage, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(release(handle), CUDA_SUCCESS);
  }
  void openPage(size_t number) {
    mapPage(number);
    EXPECT_EQ(setAccess(at(number), kPage, &own, 1), CUDA_SUCCESS);
  }
  cudaError_t fill(CUdeviceptr address, size_t bytes) {
    return cudaMemsetAsync(reinterpret_cast<void *>(address), 1, bytes, stream);
  }
  static size_t freeBytes() {
    size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  }

  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) setAccess = nullptr;
  CUmemAllocationProp page = {};
  CUmemAccessDesc own = {};
  CUdeviceptr base = 0;
};

TEST_F(SimulatedPages, areUsedWhereTheyAreMappedAndOpen) {
  EXPECT_EQ(fill(at(0), 16), cudaErrorInvalidValue) << "nothing is there";
  mapPage(0);
  EXPECT_EQ(fill(at(0), 16), cudaErrorInvalidValue) << "nobody may use it";
  ASSERT_EQ(setAccess(at(0), kPage, &own, 1), CUDA_SUCCESS);
  EXPECT_EQ(fill(at(0), kPage), cudaSuccess);
  EXPECT_EQ(fill(at(0), kPage + 1), cudaErrorInvalidValue);
  openPage(1);
  EXPECT_EQ(fill(at(0) + 8, 2 * kPage - 8), cudaSuccess) << "both as one";
  ASSERT_DONE(cudaStreamSynchronize(stream));
  EXPECT_EQ(read(reinterpret_cast<char *>(at(1)) - 1, stream), 1);
}

TEST_F(SimulatedPages, haveWholeSizes) {
  CUdeviceptr other = 0;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(reserve(&other, kPage + 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reserve(&other, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&handle, kPage / 2, &page, 0), CUDA_ERROR_INVALID_VALUE);
  handle = piece();
  EXPECT_EQ(map(at(0) + 4096, kPage, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(at(0), 2 * kPage, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(at(4), kPage, 0, handle, 0), CUDA_ERROR_INVALID_VALUE)
      << "behind what was reserved";
}

TEST_F(SimulatedPages, areMappedOverNoOthers) {
  openPage(1);
  auto handle = piece(2);
  EXPECT_EQ(map(at(0), 2 * kPage, 0, handle, 0), CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_EQ(map(at(1), 2 * kPage, 0, handle, 0), CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_EQ(map(at(2), 2 * kPage, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(setAccess(at(0), 2 * kPage, &own, 1), CUDA_ERROR_INVALID_VALUE)
      << "the first page is not there";
  EXPECT_EQ(setAccess(at(1), 3 * kPage, &own, 1), CUDA_SUCCESS);
}

TEST_F(SimulatedPages, areOpenToTheDevicesThatAreNamed) {
  ASSERT_DONE(cudaSetDevice(3)); // no other test's
  cudaStream_t other = newStream();
  openPage(0);
  ASSERT_DONE(cudaMemsetAsync(reinterpret_cast<void *>(at(0)), 0, 16, other));
  EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorIllegalAddress);
}

TEST_F(SimulatedPages, goBackWhenTheyAreUnmappedAndReleased) {
  const size_t before = freeBytes();
  auto handle = piece(2);
  EXPECT_EQ(before - freeBytes(), 2 * kPage);
  ASSERT_EQ(map(at(0), 2 * kPage, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(release(handle), CUDA_SUCCESS);
  EXPECT_EQ(release(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(before - freeBytes(), 2 * kPage) << "it is mapped";
  EXPECT_EQ(unmap(at(0), kPage), CUDA_ERROR_INVALID_VALUE) << "a part";
  EXPECT_EQ(free(base, 4 * kPage), CUDA_ERROR_INVALID_VALUE) << "it is mapped";
  EXPECT_EQ(unmap(at(0), 2 * kPage), CUDA_SUCCESS);
  EXPECT_EQ(unmap(at(0), 2 * kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(before, freeBytes());
  EXPECT_EQ(free(base, kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free(base, 4 * kPage), CUDA_SUCCESS);
}

TEST_F(SimulatedPages, whatUsesThemFailsWhenTheyGo) {
  ASSERT_DONE(cudaSetDevice(4)); // no other test's
  cudaStream_t late = newStream();
  own.location.id = 4;
  openPage(0);
  ASSERT_DONE(cudaMemsetAsync(reinterpret_cast<void *>(at(0)), 0, 16, late));
  ASSERT_EQ(unmap(at(0), kPage), CUDA_SUCCESS); // without a wait
  EXPECT_EQ(cudaStreamSynchronize(late), cudaErrorIllegalAddress);
}

TEST_F(SimulatedPages, areNoMoreThanTheDeviceHas) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(create(&handle, (freeBytes() / kPage + 1) * kPage, &page, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
}

} // namespace
} // namespace shardc::testing
