#include "runtime/api/CSession.h"

#include "runtime/launch/LoadProgress.h"

#include <cmath>

using namespace shardc::runtime;
namespace artifact = shardc::artifact;

static_assert(int{SHARDRT_FLOAT64} == int{artifact::ElementType_Float64} &&
              int{SHARDRT_BFLOAT16} == int{artifact::ElementType_BFloat16} &&
              int{SHARDRT_INT64} == int{artifact::ElementType_Int64} &&
              int{SHARDRT_UINT2} == int{artifact::ElementType_UInt2});

struct shardrt_cancellation {
  std::shared_ptr<Cancellation> cancellation;
};

Status shardc::runtime::readTensors(const char *function,
                                    const shardrt_tensor *tensors, size_t count,
                                    std::vector<InputTensor> &to) {
  if (count > 0 && !tensors)
    return argumentError(function, ": inputs must not be NULL");
  for (size_t i = 0; i < count; ++i) {
    const shardrt_tensor &from = tensors[i];
    auto malformed = [&](const auto &...why) {
      return argumentError(function, ": input ", i, " has ", why...);
    };
    if (!from.name)
      return malformed("no name");
    if (from.type < 0 || from.type > artifact::ElementType_MAX)
      return malformed("type ", from.type, ", which is no shardrt_type");
    if (from.rank < 0 || from.rank > kMaxRank)
      return malformed("rank ", from.rank, ", expected 0 to ", kMaxRank);
    if (from.rank > 0 && !from.dims)
      return malformed("rank ", from.rank, ", but no dims");
    to.push_back({from.name,
                  static_cast<ElementType>(from.type),
                  {from.dims, static_cast<size_t>(from.rank)},
                  from.data});
  }
  return Status::ok();
}

std::vector<char> shardc::runtime::keptOutputs(const Session &session,
                                               bool keepsCaches) {
  std::vector<char> kept(session.outputs().size(), 0);
  if (keepsCaches)
    for (const CacheInfo &cache : session.caches())
      kept[cache.output] = 1;
  return kept;
}

void shardrt_session::beginRun(Keeper newKeeper) {
  hasRun = false;
  keeper = newKeeper;
  kept = keptOutputs(*session, keeper != Keeper::Nobody);
}

Status shardc::runtime::readRunOptions(const char *function,
                                       const shardrt_run_options *given,
                                       RunOptions &options) {
  if (!given)
    return Status::ok();
  shardrt_run_options all;
  SHARDC_RETURN_IF_ERROR(
      readOptions(function, "shardrt_run_options", *given, all));
  if (all.deadline_ms < 0)
    return argumentError(function, ": deadline_ms is ", all.deadline_ms,
                         ", expected 0 or more");
  options.deadline = std::chrono::milliseconds(all.deadline_ms);
  if (all.cancellation)
    options.cancellation = all.cancellation->cancellation;
  return Status::ok();
}

namespace {

/// What is said of values, in memory that lives as long as the session.
void describe(const std::vector<TensorInfo> &infos,
              std::vector<std::string> &types,
              std::vector<std::vector<const char *>> &dims) {
  for (const TensorInfo &info : infos) {
    types.push_back(typeText(info));
    std::vector<const char *> texts;
    for (const std::string &dim : info.dims)
      texts.push_back(dim.c_str());
    dims.push_back(std::move(texts));
  }
}

Status openSession(const char *path, const shardrt_options *options,
                   shardrt_session **into) {
  if (!path || !into)
    return argumentError("shardrt_open: artifact and session must not be NULL");
  SessionOptions from;
  if (options) {
    shardrt_options all;
    SHARDC_RETURN_IF_ERROR(
        readOptions("shardrt_open", "shardrt_options", *options, all));
    from.weightsRoot = all.weights_root ? all.weights_root : "";
    from.checkReplicas = all.check_replicas != 0;
    from.nativeCode = all.no_kernels == 0;
    from.threads = all.threads;
    from.processes = all.processes ? processesOf(*all.processes) : nullptr;
    from.device = all.device ? all.device : "";
    from.loadsBeside = all.loads_beside != 0;
    from.preflight = all.preflight != 0;
    from.measure = all.measure != 0;
    from.graphs = all.no_graphs == 0;
    if (all.cache_positions < 0)
      return argumentError("shardrt_open: cache_positions is ",
                           all.cache_positions, ", expected 0 or more");
    from.cachePositions = all.cache_positions;
    if (all.on_progress)
      from.progress = std::make_shared<LoadProgress>(
          [call = all.on_progress, context = all.progress_context](
              int64_t loaded, int64_t of) { call(loaded, of, context); });
    if (!(all.timeout_seconds >= 0 && all.timeout_seconds <= 1e6))
      return argumentError("shardrt_open: timeout_seconds is ",
                           all.timeout_seconds, ", expected 0 to 1000000");
    from.timeout = std::chrono::milliseconds(
        std::llround(std::ceil(all.timeout_seconds * 1000)));
  }
  auto opened = std::make_unique<shardrt_session>();
  SHARDC_RETURN_IF_ERROR(Session::open(path, from, opened->session));
  describe(opened->session->inputs(), opened->inputTypes, opened->inputDims);
  describe(opened->session->outputs(), opened->outputTypes, opened->outputDims);
  opened->outputs.resize(opened->outputTypes.size());
  opened->ports = std::make_shared<SessionPorts>(
      SessionPorts{opened->session->inputs(), opened->session->outputs(),
                   opened->session->memoryDevices()});
  // With replicas more than one a replica: two that wait for the same one do
  // not keep others idle.
  const int numReplicas = opened->session->numReplicas();
  opened->requests =
      std::make_shared<RequestQueue>(numReplicas > 1 ? 2 * numReplicas : 1);
  *into = opened.release();
  return Status::ok();
}

/// `state` may be null.
Status runSession(shardrt_session *session, shardrt_state *state,
                  const shardrt_tensor *inputs, size_t numInputs,
                  const RunOptions &options = {}) {
  if (!session)
    return argumentError("shardrt_run: session must not be NULL");
  SHARDC_RETURN_IF_ERROR(session->session->takesRequests());
  session->inputs.clear();
  SHARDC_RETURN_IF_ERROR(
      readTensors("shardrt_run", inputs, numInputs, session->inputs));
  session->beginRun(state ? shardrt_session::Keeper::State
                          : shardrt_session::Keeper::Nobody);
  SHARDC_RETURN_IF_ERROR(
      state
          ? session->session->run(*state->state, session->inputs,
                                  session->outputs, options)
          : session->session->run(session->inputs, session->outputs, options));
  session->hasRun = true;
  return Status::ok();
}

/// On that replica; below 0: each in turn.
Status createState(shardrt_session *session, int64_t capacity, int32_t replica,
                   shardrt_state **into) {
  if (!session || !into)
    return argumentError("shardrt_state_create: arguments must not be NULL");
  SHARDC_RETURN_IF_ERROR(session->session->takesRequests());
  auto created = std::make_unique<shardrt_state>();
  SHARDC_RETURN_IF_ERROR(
      session->session->createState(capacity, created->state, replica));
  *into = created.release();
  return Status::ok();
}

Status forkState(const shardrt_state *state, shardrt_state **into) {
  if (!state || !into)
    return argumentError("shardrt_state_fork: arguments must not be NULL");
  auto created = std::make_unique<shardrt_state>();
  SHARDC_RETURN_IF_ERROR(state->state->fork(created->state));
  *into = created.release();
  return Status::ok();
}

Status getMemory(const shardrt_state *state, size_t index, int32_t *rank,
                 int64_t *committed, int64_t *reserved) {
  if (!state || !rank || !committed || !reserved)
    return argumentError("shardrt_state_memory: arguments must not be NULL");
  const std::vector<StateMemory> all = state->state->memory();
  if (index >= all.size())
    return argumentError("shardrt_state_memory: no rank ", index, " of ",
                         all.size());
  *rank = all[index].rank;
  *committed = all[index].committedBytes;
  *reserved = all[index].reservedBytes;
  return Status::ok();
}

Status getOutput(const shardrt_session *session, size_t index,
                 shardrt_tensor *output) {
  if (!session || !output)
    return argumentError("shardrt_output: arguments must not be NULL");
  if (!session->hasRun || index >= session->outputs.size())
    return argumentError("shardrt_output: no output ", index,
                         " of a successful run");
  const std::string &name = session->session->outputs()[index].name;
  if (session->kept[index] && session->keeper == shardrt_session::Keeper::Pool)
    return argumentError("shardrt_output: the pool keeps output ", index, " '",
                         name, "': no step gives the caches of its sequences");
  if (session->kept[index])
    return argumentError("shardrt_output: the state keeps output ", index, " '",
                         name, "'; run without a state to get it");
  const Tensor &tensor = session->outputs[index];
  *output = {name.c_str(), tensor.element(),
             static_cast<int32_t>(tensor.dims().size()), tensor.dims().data(),
             tensor.data()};
  return Status::ok();
}

Status runWith(shardrt_session *session, shardrt_state *state,
               const shardrt_run_options *given, const shardrt_tensor *inputs,
               size_t numInputs) {
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions("shardrt_run_with", given, options));
  return runSession(session, state, inputs, numInputs, options);
}

const char *textAt(const std::vector<std::string> &texts, size_t index) {
  return index < texts.size() ? texts[index].c_str() : nullptr;
}

const char *nameAt(const std::vector<TensorInfo> &infos, size_t index) {
  return index < infos.size() ? infos[index].name.c_str() : nullptr;
}

} // namespace

shardrt_status shardrt_open(const char *artifact,
                            const shardrt_options *options,
                            shardrt_session **session) {
  return guarded([&] { return openSession(artifact, options, session); });
}

void shardrt_close(shardrt_session *session) {
  if (!session)
    return;
  if (session->requests->isInCallback()) { // it would wait for itself
    (void)reportStatus(argumentError(
        "shardrt_close: a callback of the session's closes it, and would be "
        "waited for; the session stays open"));
    return;
  }
  // A process that was forked has none of its threads, nor its locks.
  if (!session->requests->close())
    (void)new std::shared_ptr<RequestQueue>(std::move(session->requests));
  delete session;
}

size_t shardrt_num_inputs(const shardrt_session *session) {
  return session ? session->inputTypes.size() : 0;
}

size_t shardrt_num_outputs(const shardrt_session *session) {
  return session ? session->outputTypes.size() : 0;
}

const char *shardrt_input_name(const shardrt_session *session, size_t index) {
  return session ? nameAt(session->session->inputs(), index) : nullptr;
}

const char *shardrt_output_name(const shardrt_session *session, size_t index) {
  return session ? nameAt(session->session->outputs(), index) : nullptr;
}

const char *shardrt_input_type(const shardrt_session *session, size_t index) {
  return session ? textAt(session->inputTypes, index) : nullptr;
}

const char *shardrt_output_type(const shardrt_session *session, size_t index) {
  return session ? textAt(session->outputTypes, index) : nullptr;
}

shardrt_status shardrt_run(shardrt_session *session,
                           const shardrt_tensor *inputs, size_t numInputs) {
  return guarded(
      [&] { return runSession(session, nullptr, inputs, numInputs); });
}

shardrt_status shardrt_output(const shardrt_session *session, size_t index,
                              shardrt_tensor *output) {
  return guarded([&] { return getOutput(session, index, output); });
}

shardrt_status shardrt_state_create(shardrt_session *session, int64_t capacity,
                                    shardrt_state **state) {
  return guarded([&] { return createState(session, capacity, -1, state); });
}

shardrt_status shardrt_state_create_on(shardrt_session *session,
                                       int64_t capacity, int32_t replica,
                                       shardrt_state **state) {
  return guarded([&] {
    SHARDC_RETURN_IF_ERROR(checkReplica("shardrt_state_create_on", replica));
    return createState(session, capacity, replica, state);
  });
}

shardrt_status shardrt_state_fork(const shardrt_state *state,
                                  shardrt_state **copy) {
  return guarded([&] { return forkState(state, copy); });
}

void shardrt_state_reset(shardrt_state *state) {
  if (state)
    state->state->reset();
}

void shardrt_state_destroy(shardrt_state *state) { delete state; }

int64_t shardrt_state_length(const shardrt_state *state) {
  return state ? state->state->length() : 0;
}

int64_t shardrt_state_capacity(const shardrt_state *state) {
  return state ? state->state->capacity() : 0;
}

shardrt_status shardrt_state_check(const shardrt_state *state) {
  return guarded([&] {
    return state ? state->state->lost()
                 : argumentError("shardrt_state_check: state must not be NULL");
  });
}

size_t shardrt_state_num_ranks(const shardrt_state *state) {
  size_t count = 0;
  if (!state)
    return count;
  (void)guarded([&] {
    count = state->state->memory().size();
    return Status::ok();
  });
  return count;
}

shardrt_status shardrt_state_memory(const shardrt_state *state, size_t index,
                                    int32_t *rank, int64_t *committed,
                                    int64_t *reserved) {
  return guarded(
      [&] { return getMemory(state, index, rank, committed, reserved); });
}

shardrt_status shardrt_run_state(shardrt_session *session, shardrt_state *state,
                                 const shardrt_tensor *inputs,
                                 size_t numInputs) {
  return guarded([&] {
    return state ? runSession(session, state, inputs, numInputs)
                 : argumentError("shardrt_run_state: state must not be NULL");
  });
}

int shardrt_is_lost(const shardrt_session *session) {
  return session && session->session->isLost() ? 1 : 0;
}

shardrt_status shardrt_reopen(shardrt_session *session) {
  return guarded([&] {
    if (!session)
      return argumentError("shardrt_reopen: session must not be NULL");
    session->hasRun = false;
    return session->session->reopen();
  });
}

shardrt_status
shardrt_cancellation_create(shardrt_cancellation **cancellation) {
  return guarded([&] {
    if (!cancellation)
      return argumentError(
          "shardrt_cancellation_create: cancellation must not be NULL");
    *cancellation = new shardrt_cancellation{std::make_shared<Cancellation>()};
    return Status::ok();
  });
}

void shardrt_cancellation_destroy(shardrt_cancellation *cancellation) {
  delete cancellation;
}

void shardrt_cancel(shardrt_cancellation *cancellation) {
  if (cancellation)
    cancellation->cancellation->cancel();
}

shardrt_status shardrt_run_with(shardrt_session *session, shardrt_state *state,
                                const shardrt_run_options *options,
                                const shardrt_tensor *inputs,
                                size_t numInputs) {
  return guarded(
      [&] { return runWith(session, state, options, inputs, numInputs); });
}
