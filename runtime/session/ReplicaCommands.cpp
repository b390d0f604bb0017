//===- ReplicaCommands.cpp - What rank 0 tells, and the others do ---------===//
#include "runtime/base/Message.h"
#include "runtime/session/Processes.h"
#include "runtime/session/Replicas.h"

#include <algorithm>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Rank 0
//===----------------------------------------------------------------------===//

Status Replicas::checkLeads() const {
  SHARDC_RETURN_IF_ERROR(checkProcess());
  if (!processes || processes->rank() == 0)
    return Status::ok();
  return argumentError("this process is rank ", processes->rank(), " of ",
                       processes->size(),
                       ": rank 0 says what is run; call follow()");
}

/// A session of one process has nobody to tell. With oneAtATime held.
Status Replicas::tell(const Command &command,
                      std::span<const void *const> data) {
  if (!processes)
    return Status::ok();
  if (world.transport->failed())
    return world.transport->failure();
  return world.ended(commands->send(command, data));
}

/// What is wrong with requests by themselves is found before anybody is told:
/// it is no error of the others.
Status Replicas::describe(std::span<const PipelineRequest> requests,
                          Command &command) {
  std::vector<InputTensor> all;
  std::vector<const InputTensor *> ordered;
  commandData.clear();
  for (const PipelineRequest &request : requests) {
    SHARDC_RETURN_IF_ERROR(pipelines[0]->checkRequest(request, all, ordered));
    CommandRequest &into = command.requests.emplace_back();
    for (size_t i = 0; i < ordered.size(); ++i) {
      const InputTensor &input = *ordered[i];
      if (&input - all.data() >= std::ssize(request.inputs))
        continue; // the state has it
      into.push_back({static_cast<int64_t>(i),
                      input.element,
                      {input.dims.begin(), input.dims.end()}});
      commandData.push_back(input.data);
    }
  }
  return Status::ok();
}

Status Replicas::makeState(int64_t number, size_t replica, int64_t capacity,
                           std::unique_ptr<KeptState> &state) {
  auto made = std::make_unique<KeptState>();
  made->number = number;
  made->replica = replica;
  made->capacity = capacity;
  SHARDC_RETURN_IF_ERROR(
      pipelines[replica]->createStates(capacity, made->stages));
  state = std::move(made);
  return Status::ok();
}

Status Replicas::makeCopy(const KeptState &state, int64_t number,
                          std::unique_ptr<KeptState> &copy) {
  std::unique_ptr<KeptState> made;
  SHARDC_RETURN_IF_ERROR(
      makeState(number, state.replica, state.capacity, made));
  for (size_t s = 0; s < state.stages.size(); ++s)
    if (state.stages[s])
      SHARDC_RETURN_IF_ERROR(state.stages[s]->copyTo(*made->stages[s]));
  copy = std::move(made);
  return Status::ok();
}

static void resetCaches(KeptState &state) {
  for (auto &caches : state.stages)
    if (caches)
      caches->reset();
}

Status Replicas::createState(int64_t capacity,
                             std::unique_ptr<KeptState> &state) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  std::lock_guard lock(oneAtATime);
  std::unique_ptr<KeptState> made;
  SHARDC_RETURN_IF_ERROR(
      makeState(++lastState, turn++ % pipelines.size(), capacity, made));
  SHARDC_RETURN_IF_ERROR(tell({.kind = Command::Kind::CreateState,
                               .state = made->number,
                               .replica = static_cast<int64_t>(made->replica),
                               .capacity = capacity}));
  state = std::move(made);
  return Status::ok();
}

Status Replicas::copyState(const KeptState &state,
                           std::unique_ptr<KeptState> &copy) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  std::lock_guard lock(oneAtATime);
  std::unique_ptr<KeptState> made;
  SHARDC_RETURN_IF_ERROR(makeCopy(state, ++lastState, made));
  SHARDC_RETURN_IF_ERROR(tell({.kind = Command::Kind::CopyState,
                               .state = state.number,
                               .copy = made->number}));
  copy = std::move(made);
  return Status::ok();
}

Status Replicas::resetState(KeptState &state) {
  if (!isLeading || isForked()) {
    resetCaches(state);
    return Status::ok();
  }
  std::lock_guard lock(oneAtATime);
  resetCaches(state);
  return tell({.kind = Command::Kind::ResetState, .state = state.number});
}

void Replicas::dropState(std::unique_ptr<KeptState> state) {
  if (!state || !isLeading || isForked())
    return;
  std::lock_guard lock(oneAtATime);
  (void)tell({.kind = Command::Kind::DropState, .state = state->number});
}

//===----------------------------------------------------------------------===//
// All others
//===----------------------------------------------------------------------===//

Status Replicas::follow() {
  SHARDC_RETURN_IF_ERROR(checkProcess());
  if (!processes || processes->rank() == 0)
    return argumentError(processes ? "rank 0 is the one that others follow"
                                   : "there is no other process to follow");
  std::lock_guard lock(oneAtATime);
  Command command;
  while (true) {
    SHARDC_RETURN_IF_ERROR(asAll([&] {
      SHARDC_RETURN_IF_ERROR(commands->receive(command, commandData));
      return obey(command, commandData);
    }));
    if (command.kind == Command::Kind::End)
      return Status::ok();
  }
}

Status Replicas::findState(int64_t number, KeptState *&state) {
  auto found = states.find(number);
  if (found == states.end())
    return artifactError("rank 0 speaks of a state ", number,
                         " that this process has not; start the same program "
                         "on all machines");
  state = found->second.get();
  return Status::ok();
}

Status Replicas::obey(const Command &command,
                      std::span<const void *const> data) {
  KeptState *state = nullptr;
  switch (command.kind) {
  case Command::Kind::Run:
    return obeyRun(command, data);
  case Command::Kind::CreateState:
    if (command.replica >= static_cast<int64_t>(pipelines.size()))
      return artifactError("rank 0 names a replica that there is not");
    return makeState(command.state, static_cast<size_t>(command.replica),
                     command.capacity, states[command.state]);
  case Command::Kind::CopyState:
    SHARDC_RETURN_IF_ERROR(findState(command.state, state));
    return makeCopy(*state, command.copy, states[command.copy]);
  case Command::Kind::ResetState:
    SHARDC_RETURN_IF_ERROR(findState(command.state, state));
    resetCaches(*state);
    return Status::ok();
  case Command::Kind::DropState:
    states.erase(command.state);
    return Status::ok();
  case Command::Kind::End:
    break;
  }
  return Status::ok();
}

Status Replicas::obeyRun(const Command &command,
                         std::span<const void *const> data) {
  const std::vector<TensorInfo> &infos = pipelines[0]->inputs();
  std::vector<std::vector<InputTensor>> inputs(command.requests.size());
  // Their contents are rank 0's.
  std::vector<std::vector<Tensor>> outputs(command.requests.size());
  std::vector<PipelineRequest> requests;
  KeptState *state = nullptr;
  if (command.state != 0)
    SHARDC_RETURN_IF_ERROR(findState(command.state, state));
  for (size_t r = 0; r < command.requests.size(); ++r) {
    for (const CommandInput &input : command.requests[r]) {
      if (input.input >= static_cast<int64_t>(infos.size()))
        return artifactError("rank 0 names an input that there is not");
      inputs[r].push_back({infos[static_cast<size_t>(input.input)].name,
                           input.element, input.dims, data.front()});
      data = data.subspan(1);
    }
    outputs[r].resize(pipelines[0]->outputs().size());
    requests.push_back(
        {inputs[r], outputs[r], state ? &state->stages : nullptr});
  }
  const Status status = withFiles([&] {
    return state ? runTurn(state->replica, requests) : runShares(requests);
  });
  if (state)
    followed = memoryOf(*state);
  return status;
}

std::vector<StateMemory> Replicas::memoryOf(const KeptState &state) const {
  std::vector<StateMemory> all;
  const Pipeline &pipeline = *pipelines[state.replica];
  for (size_t s = 0; s < state.stages.size(); ++s)
    for (const auto &rank : pipeline.stages[s]->ranks) {
      StateMemory memory = state.stages[s]
                               ? state.stages[s]->memoryTaken(rank->place.rank)
                               : StateMemory{};
      memory.rank = rank->place.worldRank();
      all.push_back(memory);
    }
  std::sort(all.begin(), all.end(),
            [](const StateMemory &a, const StateMemory &b) {
              return a.rank < b.rank;
            });
  return all;
}

} // namespace shardc::runtime
