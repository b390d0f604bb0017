#include "runtime/device/cuda/Requirements.h"

#include "runtime/base/Message.h"

namespace shardc::runtime {

std::string cudaVersionText(int version) {
  return message(version / 1000, ".", version % 1000 / 10);
}

Status checkDriver(const DriverFacts &facts) {
  const std::string built = cudaVersionText(facts.builtWith);
  if (facts.driverVersion == 0)
    return artifactError("no NVIDIA driver: libcuda.so.1 is not there; install "
                         "a driver for CUDA ",
                         built, ", or run on the host with --device host");
  // Within a major version any driver runs what any toolkit built.
  if (facts.driverVersion / 1000 < facts.builtWith / 1000)
    return artifactError("the NVIDIA driver is for CUDA ",
                         cudaVersionText(facts.driverVersion),
                         ", expected CUDA ", facts.builtWith / 1000,
                         " or newer; update the driver");
  if (facts.devices < 1)
    return artifactError("the NVIDIA driver shows no GPU; look at nvidia-smi "
                         "and CUDA_VISIBLE_DEVICES, or run on the host with "
                         "--device host");
  return Status::ok();
}

std::string deviceRefusal(int major, int minor) {
  if (major > kOldestMajor || (major == kOldestMajor && minor >= kOldestMinor))
    return "";
  return message("compute capability ", major, ".", minor, ", expected ",
                 kOldestMajor, ".", kOldestMinor,
                 " or newer; use another GPU, or the host with --device host");
}

Status checkNccl(int loaded, int builtWith) {
  auto text = [](int version) {
    return message(version / 10000, ".", version / 100 % 100, ".",
                   version % 100);
  };
  if (loaded / 10000 == builtWith / 10000)
    return Status::ok();
  return artifactError("libnccl.so.2 is NCCL ", text(loaded),
                       ", the plugin was built with ", text(builtWith),
                       "; install NCCL ", builtWith / 10000,
                       ", or build the plugin again");
}

} // namespace shardc::runtime
