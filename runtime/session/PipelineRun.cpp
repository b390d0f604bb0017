//===- PipelineRun.cpp - Requests through the stages ----------------------===//
#include "runtime/base/Message.h"
#include "runtime/session/Pipeline.h"

#include <algorithm>
#include <exception>

namespace shardc::runtime {

Status Pipeline::run(std::span<const PipelineRequest> whole, RunEnd *newEnd) {
  std::lock_guard lock(mutex);
  end = newEnd;
  if (artifact.manifest().microBatches == 1)
    return runParts(whole);
  parts.resize(std::max(parts.size(), whole.size()));
  allParts.clear();
  for (size_t r = 0; r < whole.size(); ++r)
    SHARDC_RETURN_IF_ERROR(cut(whole[r], parts[r]));
  SHARDC_RETURN_IF_ERROR(runParts(allParts));
  for (size_t r = 0; r < whole.size() && world.getsOutputs(); ++r)
    if (parts[r].size() > 1)
      SHARDC_RETURN_IF_ERROR(parts[r].join(whole[r].outputs));
  return Status::ok();
}

/// A state holds all of a batch: its requests run as they are. So do those with
/// outputs on a device, since parts of outputs are put together on the host.
Status Pipeline::cut(const PipelineRequest &request, MicroBatches &into) {
  isBatch.assign(request.inputs.size(), 0);
  for (uint32_t input : artifact.manifest().batchInputs) {
    if (input >= inputs().size())
      return artifactError("manifest.json: batch_inputs names input ", input);
    for (size_t i = 0; i < request.inputs.size(); ++i)
      isBatch[i] |= request.inputs[i].name == inputs()[input].name;
  }
  const bool isWhole =
      request.states ||
      std::any_of(request.outputs.begin(), request.outputs.end(),
                  [](const Tensor &o) { return o.deviceView() != nullptr; });
  const int count = isWhole ? 1 : artifact.manifest().microBatches;
  into.cut(request.inputs, isBatch, static_cast<size_t>(count),
           request.outputs.size());
  if (into.size() == 1)
    allParts.push_back(request);
  else
    for (size_t p = 0; p < into.size(); ++p)
      allParts.push_back({into.inputs(p), into.outputs(p)});
  return Status::ok();
}

Status Pipeline::runParts(std::span<const PipelineRequest> requests) {
  feed = nullptr;
  pool.clear();
  flights.resize(std::max(flights.size(), requests.size()));
  for (size_t r = 0; r < requests.size(); ++r) {
    flights[r].request = requests[r];
    SHARDC_RETURN_IF_ERROR(prepare(flights[r]));
  }
  begun = requests.size();
  return runFlights();
}

Status Pipeline::run(RequestFeed &newFeed, RunEnd *newEnd) {
  std::lock_guard lock(mutex);
  end = newEnd;
  feed = &newFeed;
  begun = 0;
  pool.clear();
  // As many as stages can be at, and as many that come next.
  flights.resize(std::max(flights.size(), 2 * stages.size()));
  const Status status = runFlights();
  feed = nullptr;
  return status;
}

/// All that have begun, or that the feed still brings.
Status Pipeline::runFlights() {
  done = 0;
  isClosed = !feed;
  isAborted = false;
  if (hasFailed && links)
    SHARDC_RETURN_IF_ERROR(
        onStages([](Stage &stage) { return stage.restartLinks(); }));
  std::fill(statuses.begin(), statuses.end(), Status::ok());
  std::fill(finished.begin(), finished.end(), 0);
  stageChannels.reset();
  if (links)
    links->reset();
  {
    const RunEnd::Watch watch(end, [this](const Status &why) { failAll(why); });
    if (stages.size() == 1)
      runStage(0);
    else // a stage that fails wakes the others
      threads.run(runs, [] { return false; });
  }
  Status status = finish();
  hasFailed = !status.isOk();
  for (auto &stage : stages)
    if (const Status taken = stage->takeActivities(); status.isOk())
      status = taken;
  return status;
}

Status Pipeline::prepare(Flight &flight) {
  const PipelineRequest &request = flight.request;
  SHARDC_RETURN_IF_ERROR(checkOutputs(request));
  std::vector<InputTensor> &all = flight.given;
  all.assign(request.inputs.begin(), request.inputs.end());
  if (!request.states)
    return Status::ok();
  if (!pool.empty()) { // which is as large for all requests of a feed
    all.insert(all.end(), pool.begin(), pool.end());
    return Status::ok();
  }
  // Every stage is told how large past is; only the one that keeps it reads it.
  alignas(kBufferAlignment) static const std::byte kept[kBufferAlignment] = {};
  for (size_t s = 0; s < stages.size(); ++s) {
    if (!(*request.states)[s])
      continue;
    SHARDC_RETURN_IF_ERROR(
        stages[s]->addPast(*(*request.states)[s], request.inputs, past));
    all.insert(all.end(),
               past.begin() + static_cast<ptrdiff_t>(request.inputs.size()),
               past.end());
  }
  for (size_t i = request.inputs.size(); i < all.size(); ++i)
    all[i].data = kept;
  if (feed)
    pool.assign(all.begin() + std::ssize(request.inputs), all.end());
  return Status::ok();
}

/// The one that the stage comes to next; null: none comes any more.
Pipeline::Flight *Pipeline::await(size_t stage, size_t number) {
  if (stage == 0 && feed)
    return fetch(number);
  std::unique_lock lock(flow);
  moved.wait(lock, [&] { return number < begun || isClosed || isAborted; });
  return number < begun ? &flights[number % flights.size()] : nullptr;
}

Pipeline::Flight *Pipeline::fetch(size_t number) {
  Flight &flight = flights[number % flights.size()];
  {
    std::unique_lock lock(flow); // whoever was there before has to be done
    moved.wait(lock,
               [&] { return number < done + flights.size() || isAborted; });
    if (number >= done + flights.size())
      return nullptr; // some stage may still be at it
  }
  const PipelineRequest *request = feed->next(/*waits=*/true);
  Status status;
  if (request) {
    flight.request = *request;
    status = prepare(flight);
  }
  std::lock_guard lock(flow);
  statuses[0] = status;
  isClosed = !request || !status.isOk();
  begun += isClosed ? 0 : 1;
  moved.notify_all();
  return isClosed ? nullptr : &flight;
}

/// The feed is told of those that all stages are done with, in their order.
void Pipeline::finishFlight(size_t stage) {
  size_t most = 0;
  {
    std::lock_guard lock(flow);
    ++finished[stage];
    most = *std::min_element(finished.begin(), finished.end());
  }
  if (!feed)
    return;
  std::lock_guard lock(telling);
  size_t told = done;
  for (; told < most; ++told)
    feed->done();
  std::lock_guard moves(flow);
  done = told;
  moved.notify_all();
}

void Pipeline::runStage(int stage) {
  const auto s = static_cast<size_t>(stage);
  try {
    for (size_t r = 0; Flight *flight = await(s, r); ++r) {
      const PipelineRequest &request = flight->request;
      std::shared_ptr<CacheState> state;
      if (request.states)
        state = (*request.states)[s];
      statuses[s] =
          stages[s]->run(flight->given, request.outputs, std::move(state), end);
      if (!statuses[s].isOk())
        break;
      finishFlight(s);
    }
    if (statuses[s].isOk() && !hasEnded())
      statuses[s] = stages[s]->drainLinks();
  } catch (const std::exception &error) {
    statuses[s] = artifactError("stage ", stage, ": ", error.what());
  }
  if (!statuses[s].isOk())
    failStage(stage);
}

/// Nobody waits for it any more.
void Pipeline::failStage(int stage) {
  Status &status = statuses[static_cast<size_t>(stage)];
  status = world.ended(status);
  abort();
  stageChannels.abort(status);
  if (links)
    links->fail(status);
}

bool Pipeline::hasEnded() {
  std::lock_guard lock(flow);
  return isAborted;
}

/// No request comes any more.
void Pipeline::abort() {
  {
    std::lock_guard lock(flow);
    isAborted = true;
    moved.notify_all();
  }
  if (feed)
    feed->stop();
}

void Pipeline::failAll(const Status &why) {
  const Status status = world.ended(why);
  for (auto &stage : stages)
    stage->fail(status);
  abort();
  stageChannels.abort(status);
  if (links)
    links->fail(status);
}

/// The error of the stage that failed first: the others got it from there.
Status Pipeline::finish() {
  auto failed = std::find_if(statuses.begin(), statuses.end(),
                             [](const Status &s) { return !s.isOk(); });
  if (failed == statuses.end())
    return Status::ok();
  // Of a pool nothing counts but what sequences say of their pages.
  for (size_t r = 0; r < begun && artifact.manifest().page == 0; ++r)
    if (flights[r].request.states)
      takeBack(r);
  return *failed;
}

/// Stages that are ahead have appended what the others have not; and what one
/// of them has overwritten is gone for all.
void Pipeline::takeBack(size_t request) {
  StageStates &states = *flights[request].request.states;
  bool isGone = false;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (!states[s])
      continue;
    if (finished[s] > request)
      states[s]->undo();
    isGone |= states[s]->isOverwritten();
  }
  for (const auto &caches : states)
    if (caches && isGone)
      caches->reset();
}

} // namespace shardc::runtime
