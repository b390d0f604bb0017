//===- Command.h - What rank 0 tells the other processes to do ------------===//
//
// Rank 0 alone is called by users; the others do what it says, in its order: run
// requests, make, copy, empty and drop states. As words:
//
//   run   number 3  state  copy  replica  capacity  1 request   1 input
//   0     3         0      0     0        0         1           1
//   input 2   element int64   rank 2   dims [1, 5]   1 state   its number
//   2         7               2        1 5           1         7
//
// The inputs' data follow (CommandStream.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_COMMAND_H
#define SHARDC_RUNTIME_SESSION_COMMAND_H

#include "runtime/base/Status.h"
#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// Of one command: more than a machine can have.
inline constexpr int64_t kMostBytes = int64_t(1) << 44;

struct CommandInput {
  int64_t input = 0; ///< of the model, by number
  ElementType element = artifact::ElementType_Float32;
  std::vector<int64_t> dims;

  /// That follow; more than kMostBytes where they cannot be counted.
  int64_t bytes() const;
};

using CommandRequest = std::vector<CommandInput>;

struct Command {
  enum class Kind {
    Run,         ///< `requests`; those with a state on its replica
    CreateState, ///< `state`, on `replica`, for `capacity` positions
    CopyState,   ///< `copy` becomes as `state` is
    ResetState,
    DropState,
    Confirm, ///< that all is done which came before
    End,     ///< the session is closed
  };
  Kind kind = Kind::Run;
  int64_t number = 0;          ///< of a run: see transport/Settlement.h
  int64_t state = 0, copy = 0; ///< by number; 0: without
  int64_t replica = 0, capacity = 0;
  std::vector<CommandRequest> requests = {};
  std::vector<int64_t> states = {}; ///< of each request; empty: without

  int64_t bytes() const; ///< of all inputs
};

/// Its words, behind those that there are.
void append(const Command &command, std::vector<int64_t> &words);
/// Error if they are none, or name more than kMostBytes.
Status decode(std::span<const int64_t> words, Command &command);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_COMMAND_H
