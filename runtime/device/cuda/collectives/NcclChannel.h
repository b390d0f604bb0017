//===- NcclChannel.h - One transfer between stages, over a link -----------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLCHANNEL_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLCHANNEL_H

#include "runtime/device/cuda/collectives/NcclLink.h"

namespace shardc::runtime {

class NcclChannel final : public StageChannel {
public:
  /// Both live longer. `host` has as many slots.
  NcclChannel(NcclLink &link, StageChannel &host, size_t slots)
      : link(link), host(host), slots(slots) {}
  NcclChannel(const NcclChannel &) = delete;
  ~NcclChannel() override;

  Status send(const TensorView &from, RunFailure &failure,
              const CollectiveSite &site) override;
  Status receive(const TensorView &to, RunFailure &failure,
                 const CollectiveSite &site) override;

private:
  struct Slot {
    std::byte *memory = nullptr;
    int64_t bytes = 0;
    cudaEvent_t filled = nullptr; ///< its value is there
    cudaEvent_t free = nullptr;   ///< and has gone on
  };
  /// What goes over the host's channel.
  struct Word {
    int64_t bytes = 0;
    uint64_t number = 0; ///< of the link's values
  };

  /// The next one, with room for so many bytes.
  Status take(int64_t bytes, Slot *&slot);
  Status checkWord(const Word &word, int64_t bytes, const CollectiveSite &site);
  static TensorView viewOf(Word &word);

  NcclLink &link;
  StageChannel &host;
  std::vector<Slot> slots;
  uint64_t count = 0;
  std::vector<std::byte *> outgrown; ///< freed in the end: what is enqueued may
                                     ///< still use it
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCLCHANNEL_H
