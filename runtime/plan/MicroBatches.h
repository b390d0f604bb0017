//===- MicroBatches.h - A request in parts --------------------------------===//
//
// A batch is cut into parts that run one after the other, so that all stages of
// a pipeline have work; the outputs are put together again. The compiler has
// seen to it that each row is computed by itself.
//
//   x [5, 8] in 2 parts   x [2, 8], x [3, 8]
//                         y [2, 4], y [3, 4], put together: y [5, 4]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_MICROBATCHES_H
#define SHARDC_RUNTIME_PLAN_MICROBATCHES_H

#include "runtime/tensor/Tensor.h"

namespace shardc::runtime {

class MicroBatches {
public:
  /// Cuts the inputs that `isBatch` says along dim 0 into at most `parts`
  /// parts, none of them empty. One part, where they are not all as long or
  /// there is nothing to cut. Memory is reused from one request to the next.
  void cut(std::span<const InputTensor> inputs, std::span<const char> isBatch,
           size_t parts, size_t numOutputs);

  size_t size() const { return numParts; }
  std::span<const InputTensor> inputs(size_t part) const {
    return all[part].inputs;
  }
  std::span<Tensor> outputs(size_t part) { return all[part].outputs; }

  /// Puts the parts' outputs behind each other.
  Status join(std::span<Tensor> outputs);

private:
  struct Part {
    std::vector<InputTensor> inputs;
    std::vector<std::vector<int64_t>> dims; ///< of the inputs
    std::vector<DeviceView> views;          ///< likewise, where they are on one
    std::vector<Tensor> outputs;
  };
  std::vector<Part> all;
  size_t numParts = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_MICROBATCHES_H
