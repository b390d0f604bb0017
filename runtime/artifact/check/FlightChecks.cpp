//===- FlightChecks.cpp - Collectives beside other instructions -----------===//
//
// A collective that is only started reads its inputs and writes its output at
// any time until it is awaited:
//
//   all_reduce  a, x   flight 0      x is in flight, a is being read
//   MatMul      a, w, b              reads a: may
//   Relu        x, y                 reads x: may not yet
//   wait        a, x   flight 0
//   Relu        x, y                 may
//
// Buffers are looked at as a whole: parts of one count as one. Collectives are
// done in their order, so they may touch what an earlier one writes.
//
//===----------------------------------------------------------------------===//
#include "runtime/artifact/check/ProgramChecks.h"

#include <algorithm>

namespace shardc::runtime {

namespace {

class FlightChecker {
public:
  FlightChecker(const artifact::Program &program, bool load)
      : program(program), list(*(load ? program.load() : program.run())),
        isLoading(load) {}

  Status run() {
    for (const artifact::Instruction *instruction : list)
      SHARDC_RETURN_IF_ERROR(check(*instruction));
    return open.empty() ? Status::ok() : isNotAwaited("the program ends");
  }

private:
  Status check(const artifact::Instruction &instruction) {
    const std::string_view name = instruction.kernel()->string_view();
    const bool isCollective = collectiveForm(name);
    if (name == artifact::kWait)
      return land(instruction);
    if (!open.empty() &&
        (hostInstruction(name) != HostInstruction::None || name == "Guard"))
      return isNotAwaited(describe(instruction));
    if (!isCollective)
      return checkTouches(instruction);
    if (findAttribute(instruction, artifact::kFlight))
      return start(instruction);
    return Status::ok();
  }

  Status start(const artifact::Instruction &instruction) {
    SHARDC_RETURN_IF_ERROR(checkNumber(instruction));
    if (isLoading)
      return artifactError(describe(instruction),
                           " is only started, which it may not while loading");
    if (find(flightOf(instruction)) != open.end())
      return artifactError(describe(instruction), " has flight ",
                           flightOf(instruction),
                           ", whose last collective was not awaited");
    open.push_back(&instruction);
    return Status::ok();
  }

  /// The collective that is awaited has the same operands.
  Status land(const artifact::Instruction &wait) {
    SHARDC_RETURN_IF_ERROR(checkNumber(wait));
    const auto found = find(flightOf(wait));
    if (found == open.end())
      return artifactError(describe(wait), " waits for flight ", flightOf(wait),
                           ", which was not started");
    auto areSame = [](const auto *a, const auto *b) {
      return std::equal(a->begin(), a->end(), b->begin(), b->end());
    };
    if (!areSame((*found)->inputs(), wait.inputs()) ||
        !areSame((*found)->outputs(), wait.outputs()))
      return artifactError(describe(wait), " waits for ", describe(**found),
                           ", but has other operands");
    open.erase(found);
    return Status::ok();
  }

  static Status checkNumber(const artifact::Instruction &instruction) {
    const artifact::Attribute *flight =
        findAttribute(instruction, artifact::kFlight);
    const bool isValid = flight && flight->ints() &&
                         flight->ints()->size() == 1 &&
                         flight->ints()->Get(0) >= 0 &&
                         flight->ints()->Get(0) < artifact::kMaxFlights;
    return isValid ? Status::ok()
                   : artifactError(describe(instruction),
                                   " has no valid flight, expected a number "
                                   "from 0 to ",
                                   artifact::kMaxFlights - 1);
  }

  std::vector<const artifact::Instruction *>::iterator find(int flight) {
    return std::find_if(open.begin(), open.end(), [&](const auto *started) {
      return flightOf(*started) == flight;
    });
  }

  /// A kernel or transfer beside what is in flight.
  Status checkTouches(const artifact::Instruction &instruction) const {
    for (const artifact::Instruction *started : open) {
      const bool isFine = !touches(instruction.inputs(), started->outputs()) &&
                          !touches(instruction.outputs(), started->outputs()) &&
                          !touches(instruction.outputs(), started->inputs());
      if (!isFine)
        return artifactError(describe(instruction), " touches a buffer of ",
                             describe(*started), " before that is awaited");
    }
    return Status::ok();
  }

  using Views = const flatbuffers::Vector<int32_t> *;
  bool touches(Views some, Views others) const {
    return std::any_of(some->begin(), some->end(), [&](int32_t view) {
      return view >= 0 &&
             std::any_of(others->begin(), others->end(), [&](int32_t other) {
               return other >= 0 && bufferOf(view) == bufferOf(other);
             });
    });
  }
  uint32_t bufferOf(int32_t view) const {
    return program.views()->Get(static_cast<uint32_t>(view))->buffer();
  }

  Status isNotAwaited(std::string_view before) const {
    return artifactError(describe(*open.front()), " is not awaited before ",
                         before);
  }

  const artifact::Program &program;
  const flatbuffers::Vector<flatbuffers::Offset<artifact::Instruction>> &list;
  const bool isLoading;
  std::vector<const artifact::Instruction *> open; ///< started, not awaited
};

} // namespace

Status ProgramChecker::checkFlights(bool load) {
  return FlightChecker(program, load).run();
}

} // namespace shardc::runtime
