//===- StepInputs.h - The inputs of rows, as those of a step --------------===//
//
// A program for a step of rows takes what the model takes of each request, of
// all rows at once (passes/import/rows):
//
//   input_ids       [1, n] of each row   [1, tokens of a step]   side by side
//   attention_mask  [1, n] of each row   [rows, keys of a row]   zeros behind
//
// What keys of cross-attention are made of, the output of an encoder, comes with
// one step of a sequence, in general the first, and is given side by side too:
//
//   encoder_hidden_states   [1, e, d], or left out   [1, sum of e, d]
//   encoder_attention_mask  [1, e] in each step      [rows, encoder keys of a row]
//
// and beside it how the rows lie, by the names rows.*.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_STEPINPUTS_H
#define SHARDC_RUNTIME_SERVE_STEPINPUTS_H

#include "runtime/tensor/Tensor.h"

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// What the compiler calls the sizes of a step (dialects/onnx/RowSymbols.h).
struct StepSymbols {
  static constexpr std::string_view kTokens = "tokens of a step";
  static constexpr std::string_view kRows = "rows of a step";
  static constexpr std::string_view kPagesOfRow = "pages of a row";
  static constexpr std::string_view kEncoderKeys = "encoder keys of a step";
  static constexpr std::string_view kEncoderPages = "pages of encoder keys";
};

/// A row of a step, and where its positions are.
struct StepRow {
  std::span<const InputTensor> inputs; ///< of a request of this row alone
  std::span<const int64_t> pages;      ///< for all of its positions
  int64_t past = 0;
  int64_t count = 0;  ///< new positions
  int64_t wanted = 0; ///< of the last ones, whose outputs are asked for
  std::span<const int64_t> encoderPages = {}; ///< for all of its encoder keys
  int64_t encoderKeys = 0;
  bool givesEncoder = false; ///< they come with this step
};

/// What the inputs of a row have.
struct RowCounts {
  int64_t positions = 0;   ///< new ones
  int64_t encoderKeys = 0; ///< 0: none come with the step
};

class StepInputs {
public:
  /// Of the inputs of a program, without `caches`, numbers of inputs; `page`
  /// positions have a page. Error if there is one that no step has.
  static Status make(std::span<const TensorInfo> infos,
                     std::span<const size_t> caches, int64_t page,
                     StepInputs &inputs);

  /// InvalidArgument where inputs of a row do not fit the model, or each other.
  Status countOf(std::span<const InputTensor> inputs, RowCounts &counts) const;
  /// Whether a step has one row, since an op makes one value of all positions.
  bool isOfOneRow() const { return hasOneRow; }
  /// Whether rows have encoder keys, and an input that they are made of.
  bool hasEncoder() const { return !encoderName.empty(); }
  const std::string &encoderInput() const { return encoderName; }
  /// Fills tensors() for these rows; each of `copies` is a page and the one that
  /// becomes the same first.
  Status fill(std::span<const StepRow> rows,
              std::span<const std::array<int64_t, 2>> copies);
  /// Valid until the next fill.
  std::span<const InputTensor> tensors() const { return made; }

private:
  enum class Kind { Tokens, Rows, Encoder };
  /// An input of the model.
  struct Port {
    TensorInfo info;
    size_t number = 0; ///< among the step's
    Kind kind = Kind::Tokens;
    // Of a row's tensor:
    int added = -1;             ///< dim of what the step adds, or -1
    int keys = -1;              ///< and of all positions
    int encoderKeys = -1;       ///< or encoder keys
    std::vector<int64_t> sizes; ///< -1: any
  };
  /// One that says how rows lie.
  struct Integers {
    std::string name;
    std::vector<int64_t> values, dims;
  };
  struct Packed {
    std::vector<std::byte> bytes;
    std::vector<int64_t> dims;
  };

  /// Of dims of keys, in the step.
  struct Room {
    int64_t keys = 0, encoderKeys = 0;
  };

  Status addPort(const TensorInfo &info);
  static int64_t addedBy(const Port &port, const StepRow &row);
  Status measure(const Port &port, const InputTensor &tensor,
                 int64_t &count) const;
  Status find(const Port &port, std::span<const InputTensor> inputs,
              const InputTensor *&found) const;
  Status pack(const Port &port, std::span<const StepRow> rows, Room room);
  Status packRow(const Port &port, const StepRow &row, int64_t offset);
  Status sizeWhole(const Port &port, std::span<const StepRow> rows, Room room);
  Status check(const Port &port, const InputTensor &tensor,
               const StepRow &row) const;
  void describe(std::span<const StepRow> rows, int64_t pagesOfRow,
                std::span<const std::array<int64_t, 2>> copies);
  void describeEncoder(std::span<const StepRow> rows, int64_t pagesOfRow);
  std::vector<int64_t> &values(std::string_view name,
                               std::initializer_list<int64_t> dims);

  int64_t page = 1;
  bool hasOneRow = false;
  std::string encoderName;
  std::vector<Port> ports;
  std::vector<Packed> packed; ///< by port
  std::vector<Integers> integers;
  std::vector<InputTensor> made;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_STEPINPUTS_H
