#include "runtime/session/Command.h"

#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Takes words one by one; all are 0 once something was wrong.
class CommandReader {
public:
  explicit CommandReader(std::span<const int64_t> words) : words(words) {}

  /// In [0, most].
  int64_t take(int64_t most = INT64_MAX) {
    if (isWrong || next == words.size() || words[next] < 0 ||
        words[next] > most) {
      isWrong = true;
      return 0;
    }
    return words[next++];
  }
  /// Of things that have at least a word each.
  size_t takeCount() {
    return static_cast<size_t>(take(static_cast<int64_t>(words.size() - next)));
  }
  bool isDone() const { return !isWrong && next == words.size(); }
  bool failed() const { return isWrong; }

private:
  const std::span<const int64_t> words;
  size_t next = 0;
  bool isWrong = false;
};

void readInput(CommandReader &from, CommandInput &input) {
  input.input = from.take();
  input.element =
      static_cast<ElementType>(from.take(artifact::ElementType_MAX));
  const int64_t rank = from.take(kMaxRank);
  for (int64_t d = 0; d < rank && !from.failed(); ++d)
    input.dims.push_back(from.take());
}

} // namespace

int64_t CommandInput::bytes() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return 0; // however large the others are
  int64_t elements = 1;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(elements, dim, &elements) ||
        elements > kMostBytes)
      return kMostBytes + 1;
  return artifact::storageBytes(element, elements);
}

int64_t Command::bytes() const {
  int64_t sum = 0;
  for (const CommandRequest &request : requests)
    for (const CommandInput &input : request)
      sum = std::min(sum + input.bytes(), kMostBytes + 1);
  return sum;
}

void append(const Command &command, std::vector<int64_t> &words) {
  words.insert(words.end(),
               {static_cast<int64_t>(command.kind), command.number,
                command.state, command.copy, command.replica, command.capacity,
                static_cast<int64_t>(command.requests.size())});
  for (const CommandRequest &request : command.requests) {
    words.push_back(static_cast<int64_t>(request.size()));
    for (const CommandInput &input : request) {
      words.insert(words.end(), {input.input, int64_t(input.element),
                                 static_cast<int64_t>(input.dims.size())});
      words.insert(words.end(), input.dims.begin(), input.dims.end());
    }
  }
  words.push_back(std::ssize(command.states));
  words.insert(words.end(), command.states.begin(), command.states.end());
}

Status decode(std::span<const int64_t> words, Command &command) {
  command = {};
  CommandReader from(words);
  command.kind = static_cast<Command::Kind>(
      from.take(static_cast<int64_t>(Command::Kind::End)));
  command.number = from.take();
  command.state = from.take();
  command.copy = from.take();
  command.replica = from.take();
  command.capacity = from.take();
  command.requests.resize(from.takeCount());
  for (CommandRequest &request : command.requests) {
    request.resize(from.takeCount());
    for (CommandInput &input : request)
      readInput(from, input);
  }
  command.states.resize(from.takeCount());
  for (int64_t &state : command.states)
    state = from.take();
  if (from.isDone() && command.bytes() <= kMostBytes &&
      (command.states.empty() ||
       command.states.size() == command.requests.size()))
    return Status::ok();
  return artifactError("rank 0 sent a command that is none; start the same "
                       "shardrun on all machines");
}

} // namespace shardc::runtime
