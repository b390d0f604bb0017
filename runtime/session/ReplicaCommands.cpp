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
  SHARDC_RETURN_IF_ERROR(checkLoaded());
  if (!processes || processes->rank() == 0)
    return Status::ok();
  return argumentError("this process is rank ", processes->rank(), " of ",
                       processes->size(),
                       ": rank 0 says what is run; call follow()");
}

/// A session of one process has nobody to tell. In its turn.
Status Replicas::tell(const Command &command,
                      std::span<const void *const> data) {
  if (!processes)
    return Status::ok();
  if (world.transport->failed())
    return world.transport->failure();
  return world.ended(commands->send(command, data));
}

void Replicas::remember(KeptState &state) { known[state.number] = &state; }

Status Replicas::checkState(const KeptState &state) const {
  std::lock_guard lock(lostMutex);
  return state.owner == id
             ? state.lost
             : argumentError("the state is of before the session was opened "
                             "again, and lost; create another one");
}

bool Replicas::isLostByOthers(const KeptState &state) const {
  std::lock_guard lock(lostMutex);
  return state.isLostByOthers;
}

/// Again where one before it took it along, that others had called done: the
/// error is not its own.
Status Replicas::leadRun(std::span<const Part> parts, RunEnd *end) {
  const Turn mine(*this, end);
  SHARDC_RETURN_IF_ERROR(mine.status());
  for (;;) {
    uint64_t number = 0;
    const Status status = leadOnce(parts, end, number);
    if (status.isOk() || world.isLost() || number == 0 || lastFailed >= number)
      return status;
  }
}

/// `number`: of the request; 0 where none was begun.
Status Replicas::leadOnce(std::span<const Part> parts, RunEnd *end,
                          uint64_t &number) {
  SHARDC_RETURN_IF_ERROR(settle()); // of a request before
  Command command;
  commandData.clear();
  for (const Part &part : parts) {
    if (part.state)
      SHARDC_RETURN_IF_ERROR(checkState(*part.state));
    SHARDC_RETURN_IF_ERROR(describe(part, command));
  }
  const uint64_t next = nextRequest();
  command.number = static_cast<int64_t>(next);
  SHARDC_RETURN_IF_ERROR(asAll([&] { return tell(command, commandData); }));
  auto body = [&] { return withFiles([&] { return runParts(parts, end); }); };
  number = next;
  return runRequest(next, parts, std::ref(body)); // so it allocates nothing
}

/// What is wrong with requests by themselves is found before anybody is told:
/// it is no error of the others.
Status Replicas::describe(const Part &part, Command &command) {
  std::vector<InputTensor> all;
  std::vector<const InputTensor *> ordered;
  for (const PipelineRequest &request : part.requests) {
    SHARDC_RETURN_IF_ERROR(pipelines[0]->checkRequest(request, all, ordered));
    if (part.state)
      command.states.push_back(part.state->number);
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
  made->owner = id;
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
  made->lastBegun = state.lastBegun;
  made->lastDone = state.lastDone;
  for (size_t s = 0; s < state.stages.size(); ++s)
    if (state.stages[s])
      SHARDC_RETURN_IF_ERROR(state.stages[s]->copyTo(*made->stages[s]));
  copy = std::move(made);
  return Status::ok();
}

void KeptState::reset() {
  for (auto &caches : stages)
    if (caches)
      caches->reset();
}

void Replicas::reset(KeptState &state) {
  state.reset();
  std::lock_guard lock(lostMutex);
  state.lost = Status::ok();
  state.isLostByOthers = false;
}

Status Replicas::createState(int64_t capacity, int replica,
                             std::unique_ptr<KeptState> &state) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  const Turn mine(*this);
  std::unique_ptr<KeptState> made;
  const size_t on =
      replica < 0 ? turn++ % pipelines.size() : static_cast<size_t>(replica);
  if (on >= pipelines.size())
    return argumentError("there is no replica ", replica, " of ",
                         pipelines.size());
  SHARDC_RETURN_IF_ERROR(makeState(++lastState, on, capacity, made));
  SHARDC_RETURN_IF_ERROR(tell({.kind = Command::Kind::CreateState,
                               .state = made->number,
                               .replica = static_cast<int64_t>(made->replica),
                               .capacity = capacity}));
  remember(*made);
  state = std::move(made);
  return Status::ok();
}

Status Replicas::copyState(const KeptState &state,
                           std::unique_ptr<KeptState> &copy) {
  SHARDC_RETURN_IF_ERROR(checkLeads());
  const Turn mine(*this);
  std::unique_ptr<KeptState> made;
  SHARDC_RETURN_IF_ERROR(settle()); // it may say that the state is lost
  SHARDC_RETURN_IF_ERROR(checkState(state));
  SHARDC_RETURN_IF_ERROR(makeCopy(state, ++lastState, made));
  SHARDC_RETURN_IF_ERROR(tell({.kind = Command::Kind::CopyState,
                               .state = state.number,
                               .copy = made->number}));
  remember(*made);
  copy = std::move(made);
  return Status::ok();
}

void Replicas::forgetStates() {
  const Turn mine(*this);
  for (auto &[number, state] : known)
    state->stages.clear();
  known.clear();
}

Status Replicas::resetState(KeptState &state) {
  if (state.owner != id)
    return Status::ok(); // the next run says so
  if (!isLeading || isForked()) {
    reset(state);
    return Status::ok();
  }
  const Turn mine(*this);
  reset(state);
  return tell({.kind = Command::Kind::ResetState, .state = state.number});
}

void Replicas::dropState(std::unique_ptr<KeptState> state) {
  if (!state || state->owner != id || isForked())
    return;
  const Turn mine(*this);
  known.erase(state->number);
  if (!isLeading)
    return;
  (void)tell({.kind = Command::Kind::DropState, .state = state->number});
}

//===----------------------------------------------------------------------===//
// All others
//===----------------------------------------------------------------------===//

Status Replicas::follow() {
  SHARDC_RETURN_IF_ERROR(checkProcess());
  SHARDC_RETURN_IF_ERROR(checkLoaded());
  if (!processes || processes->rank() == 0)
    return argumentError(processes ? "rank 0 is the one that others follow"
                                   : "there is no other process to follow");
  const Turn mine(*this);
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
    SHARDC_RETURN_IF_ERROR(makeState(command.state,
                                     static_cast<size_t>(command.replica),
                                     command.capacity, states[command.state]));
    remember(*states[command.state]);
    return Status::ok();
  case Command::Kind::CopyState:
    SHARDC_RETURN_IF_ERROR(settle()); // it may take back what is copied
    SHARDC_RETURN_IF_ERROR(findState(command.state, state));
    SHARDC_RETURN_IF_ERROR(
        makeCopy(*state, command.copy, states[command.copy]));
    remember(*states[command.copy]);
    return Status::ok();
  case Command::Kind::ResetState:
    SHARDC_RETURN_IF_ERROR(findState(command.state, state));
    reset(*state);
    return Status::ok();
  case Command::Kind::DropState:
    known.erase(command.state);
    states.erase(command.state);
    return Status::ok();
  case Command::Kind::Confirm:
    return meet(static_cast<uint64_t>(command.number));
  case Command::Kind::End:
    break;
  }
  return Status::ok();
}

Status Replicas::obeyRun(const Command &command,
                         std::span<const void *const> data) {
  const std::vector<TensorInfo> &infos = pipelines[0]->inputs();
  const size_t count = command.requests.size();
  std::vector<std::vector<InputTensor>> inputs(count);
  // Their contents are rank 0's.
  std::vector<std::vector<Tensor>> outputs(count);
  std::vector<PipelineRequest> requests;
  std::vector<Part> parts;
  requests.reserve(count); // parts keep where they are
  for (size_t r = 0; r < count; ++r) {
    KeptState *state = nullptr;
    if (!command.states.empty())
      SHARDC_RETURN_IF_ERROR(findState(command.states[r], state));
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
    if (parts.empty() || parts.back().state != state)
      parts.push_back({state, {&requests.back(), 0}});
    parts.back().requests = {parts.back().requests.data(),
                             parts.back().requests.size() + 1};
  }
  if (parts.empty())
    parts.push_back({}); // it has its place among the others all the same
  // Its error is rank 0's to tell, as long as processes go on.
  auto body = [&] {
    return withFiles([&] { return runParts(parts, nullptr); });
  };
  (void)runRequest(static_cast<uint64_t>(command.number), parts,
                   std::ref(body));
  for (const Part &part : parts)
    if (part.state)
      followed = memoryOf(*part.state);
  return world.isLost() ? world.failure() : Status::ok();
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
