//===- TextInputs.h - What a language model takes of a row of tokens ------===//
//
// Exporters of language models agree on three inputs, all of them [batch, n]:
//
//   input_ids       the tokens
//   attention_mask  1 for each position so far: none is padding
//   position_ids    past, past + 1, ...
//
// What else there is is of the encoder, and given with a text: its output, or the
// keys that a decoder takes of it, which go with the first step, and a mask, which
// goes with each.
//
// A model that takes one position of each row at a time has tokens [batch, 1].
//
// A model that takes anything else is fed by its caller (Sequences.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_TEXTINPUTS_H
#define SHARDC_RUNTIME_SERVE_TEXTINPUTS_H

#include "runtime/tensor/Tensor.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Of a text, by the name of the model's input.
struct TextInput {
  std::string name;
  ElementType element;
  std::vector<int64_t> dims; ///< of a batch of one
  std::vector<std::byte> data;
};

class TextInputs {
public:
  /// Of the inputs of a session, without `caches`, numbers of inputs. Error if
  /// there is one that is none of these.
  static Status make(std::span<const TensorInfo> infos,
                     std::span<const size_t> caches, TextInputs &inputs);

  /// Of one row: `tokens` behind `past` positions.
  struct Row {
    std::vector<InputTensor> tensors; ///< of what is below
    std::array<int64_t, 2> tokenDims, maskDims;
    std::vector<std::vector<std::byte>> data;
  };
  /// `given` are the text's; with what its encoder's keys are made of or not.
  void fill(std::span<const int64_t> tokens, int64_t past,
            std::span<const TextInput> given, bool givesEncoder,
            Row &row) const;

  /// InvalidArgument where what comes with a text is not what the model takes.
  /// `encoderKeys`: how many the encoder gave, 0 where there is none.
  Status check(std::span<const TextInput> given, int64_t &encoderKeys) const;
  /// Tokens that a row may have.
  int64_t mostOfRow() const { return takesOne ? 1 : INT64_MAX; }

private:
  /// Encoder and EncoderMask are given.
  enum class Role { Tokens, Mask, Positions, Encoder, EncoderMask };
  struct Port {
    std::string name;
    ElementType element;
    Role role;
    size_t rank;
    size_t keys = 0; ///< the dim of encoder keys of what is given
  };
  static std::optional<Role> roleOf(const TensorInfo &info, size_t &keys);
  static bool isGiven(Role role) {
    return role == Role::Encoder || role == Role::EncoderMask;
  }

  std::vector<Port> ports;
  bool takesOne = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_TEXTINPUTS_H
