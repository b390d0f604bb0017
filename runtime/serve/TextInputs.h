//===- TextInputs.h - What a language model takes of a row of tokens ------===//
//
// Exporters of language models agree on three inputs, all of them [batch, n]:
//
//   input_ids       the tokens
//   attention_mask  1 for each position so far: none is padding
//   position_ids    past, past + 1, ...
//
// A model that takes anything else is fed by its caller (Sequences.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_TEXTINPUTS_H
#define SHARDC_RUNTIME_SERVE_TEXTINPUTS_H

#include "runtime/tensor/Tensor.h"

#include <array>
#include <span>
#include <vector>

namespace shardc::runtime {

class TextInputs {
public:
  /// Of the inputs of a session, without `caches`, numbers of inputs. Error if
  /// there is one that is none of the three.
  static Status make(std::span<const TensorInfo> infos,
                     std::span<const size_t> caches, TextInputs &inputs);

  /// Of one row: `tokens` behind `past` positions.
  struct Row {
    std::vector<InputTensor> tensors; ///< of what is below
    std::array<int64_t, 2> tokenDims, maskDims;
    std::vector<std::vector<std::byte>> data;
  };
  void fill(std::span<const int64_t> tokens, int64_t past, Row &row) const;

private:
  enum class Role { Tokens, Mask, Positions };
  struct Port {
    std::string name;
    ElementType element;
    Role role;
  };
  std::vector<Port> ports;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_TEXTINPUTS_H
