//===- InputSlices.h - A rank's part of each input ------------------------===//
//
// A window on the caller's memory where the part is one piece of it and large;
// otherwise it is packed into memory of the rank, and cast where the program
// holds it in another float type. So is what the program reads in another order
// of dims: the past of a cache, where no state has it. Small parts (tokens,
// masks) are copied so that a rank that hangs with them has nothing of the
// caller's (CallersMemory).
//
//   x [4, 1 << 20] split by rows:     rank 1 reads the caller's rows 2 and 3
//   x [4, 1 << 20] split by columns:  rank 1 packs its half of the columns
//   x [4, 1 << 20], strides [1, 4]:   each rank packs it, turned over
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_INPUTSLICES_H
#define SHARDC_RUNTIME_PLAN_INPUTSLICES_H

#include "runtime/device/Backend.h"
#include "runtime/tensor/Ownership.h"

#include <span>
#include <vector>

namespace shardc::runtime {

class InputSlices {
public:
  /// Inputs that `isKept` says are not sliced, and never placed: a state has
  /// them.
  Status prepare(const artifact::Program &program,
                 std::span<const int64_t> scalars,
                 std::span<const char> isSkipped);

  /// By input: whether kernels of the host read it where the caller has it.
  std::span<const char> windows() const { return isWindow; }
  /// Of what has to be packed.
  int64_t packedBytes() const { return bytes; }
  /// Address of the part of input `index`, packed below `memory` if need be.
  std::byte *place(size_t index, const void *data, std::byte *memory);

  /// Whether the rank reads nothing of it.
  bool isUnread(size_t index) const {
    return slices[index].isSkipped || slices[index].local.numElements() == 0;
  }
  /// The part of an input that a caller has in memory of the rank's own device,
  /// where kernels may read it there: as the program has it, and aligned as the
  /// rank's memory is, by which kernels and so bits are chosen. Null: it has to be
  /// copied to placeOf.
  std::byte *findPart(size_t index, const TensorView &whole) const;
  TensorView placeOf(size_t index, std::byte *memory) const;
  std::span<const OwnedRuns> dimsOf(size_t index) const {
    return slices[index].dims;
  }

  /// Of all parts, on a device.
  int64_t deviceBytes() const { return allBytes; }
  /// Copies the part of input `index` to its place below `memory`, by way of
  /// `staging`, of packedBytes, if need be. Both and `data` must stay until the
  /// stream was waited for.
  Status upload(size_t index, const void *data, std::byte *staging,
                std::byte *memory, DeviceStream &stream, std::byte *&at);

private:
  struct Slice {
    std::vector<OwnedRuns> dims;
    TensorView global; ///< of the caller's tensor; data is set for each run
    TensorView local;  ///< without gaps, in the order of the program's view
    bool isSkipped = false;
    bool isPiece = false;     ///< of the caller's tensor, as the program has it
    bool isWindow = false;    ///< and large
    int64_t windowOffset = 0; ///< bytes into the caller's tensor
    int64_t packedOffset = 0; ///< bytes into the rank's memory
    int64_t deviceOffset = 0; ///< the same on a device, where all have a place
  };
  Status addSlice(const artifact::Program &program, uint32_t index,
                  std::span<const int64_t> scalars);

  std::vector<Slice> slices;
  std::vector<char> isWindow; ///< parallel
  int64_t bytes = 0, allBytes = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_INPUTSLICES_H
