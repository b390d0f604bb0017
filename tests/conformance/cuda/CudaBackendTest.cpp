#include "runtime/device/Plugin.h"
#include "tests/conformance/cuda/SimulatedDevice.h"

#include <gtest/gtest.h>

extern "C" const shardc::runtime::PluginDescription *shardrtPlugin();

namespace shardc::testing {
namespace {

using namespace runtime;

/// The last GPUs, which no other test has touched in this process.
TEST(CudaBackend, opensNoGpuButTheOneThatIsAskedFor) {
  Backend &backend = *shardrtPlugin()->backend;
  std::vector<DeviceInfo> devices;
  ASSERT_TRUE(backend.findDevices(devices).isOk());
  ASSERT_EQ(devices.size(), 8u);
  EXPECT_FALSE(hasSimulatedContext(6));
  EXPECT_EQ(devices[6].freeBytes, 0);
  std::unique_ptr<Device> device;
  ASSERT_TRUE(backend.open(6, device).isOk());
  EXPECT_GT(device->info().freeBytes, 0);
  EXPECT_TRUE(hasSimulatedContext(6));
  EXPECT_FALSE(hasSimulatedContext(7));
}

} // namespace
} // namespace shardc::testing
