//===- TransientBytes.h - What is there while it is packed ----------------===//
//
// What a rank reads only to pack it has addresses, by which it is known, and no
// memory at them: whoever read it there all the same would not go on with zeros.
//
//   TransientSlice    a slice that is no one piece of its file: copied when it is
//                     packed
//   TransientValue    what was computed of weights: there until it is packed
//
//   TransientSlice slice;
//   slice.reserve(columns)                  addresses
//   slice.see(0, 4096, hold, bytes)         what lies at slice.data(), elsewhere
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_TRANSIENTBYTES_H
#define SHARDC_RUNTIME_WEIGHTS_TRANSIENTBYTES_H

#include "runtime/base/Status.h"
#include "runtime/device/DeviceBuffer.h"
#include "runtime/device/GrowingMemory.h"
#include "runtime/weights/WeightSlice.h"

#include <memory>

namespace shardc::runtime {

class TransientBytes {
public:
  virtual ~TransientBytes() = default;
  std::byte *data() const { return addresses->data(); }
  /// Where bytes [begin, end) of it are, as long as `hold` is there.
  virtual Status see(int64_t begin, int64_t end,
                     std::unique_ptr<GrowingMemory> &hold,
                     const std::byte *&bytes) const = 0;

protected:
  Status reserveAddresses(int64_t bytes);

private:
  std::unique_ptr<GrowingMemory> addresses; ///< with nothing at them
};

class TransientSlice final : public TransientBytes {
public:
  /// Of a slice with a `whole`, which lives longer.
  Status reserve(const WeightSlice &slice);
  /// In memory that goes back to the system. The pages of the file that it is made
  /// of leave the process.
  Status see(int64_t begin, int64_t end, std::unique_ptr<GrowingMemory> &hold,
             const std::byte *&bytes) const override;

private:
  const WeightSlice *slice = nullptr;
};

class TransientValue final : public TransientBytes {
public:
  Status reserve(int64_t bytes) { return reserveAddresses(bytes); }
  /// The value, until it is let go.
  void hold(DeviceBuffer value) { memory = std::move(value); }
  void release() { memory.release(); }
  Status see(int64_t begin, int64_t end, std::unique_ptr<GrowingMemory> &hold,
             const std::byte *&bytes) const override;

private:
  DeviceBuffer memory;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_TRANSIENTBYTES_H
