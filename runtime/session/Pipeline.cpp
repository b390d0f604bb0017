#include "runtime/session/Pipeline.h"

#include "runtime/base/Message.h"
#include "runtime/plan/InputBinding.h"
#include "runtime/plan/InputTables.h"

#include <algorithm>
#include <exception>

namespace shardc::runtime {

Status Pipeline::open(const Artifact &artifact, int replica, const World &world,
                      const SessionOptions &options,
                      std::unique_ptr<Pipeline> &pipeline) {
  std::unique_ptr<Pipeline> opened(new Pipeline(artifact, world));
  Status status = opened->start(replica, options);
  if (status.isOk())
    pipeline = std::move(opened);
  else if (opened->isStuck())
    pipeline = std::move(opened); // a thread still uses it, and what it is in
  return status;
}

Status Pipeline::start(int replica, const SessionOptions &options) {
  const int numStages = artifact.numStages();
  arrivals = std::make_unique<WeightArrivals>(static_cast<size_t>(numStages));
  for (int stage = 0; stage < numStages; ++stage) {
    stages.emplace_back();
    SHARDC_RETURN_IF_ERROR(Stage::open(artifact, {stage, replica, world},
                                       stageChannels, options, stages.back()));
  }
  SHARDC_RETURN_IF_ERROR(describeOutputs());
  joinTables();
  statuses.resize(stages.size());
  finished.resize(stages.size());
  for (const auto &stage : stages)
    arrivals->expect(stage->place.stage, stage->ranks.size());
  if (numStages == 1)
    return stages[0]->load(*arrivals);
  SHARDC_RETURN_IF_ERROR(threads.start(numStages, [](int) {}));
  links = std::make_unique<DeviceLinks>(artifact, world, options.timeout);
  SHARDC_RETURN_IF_ERROR(
      onStages([this](Stage &stage) { return stage.load(*arrivals); }));
  return onStages([this](Stage &stage) { return stage.linkStages(*links); });
}

Status Pipeline::onStages(std::function<Status(Stage &)> step) {
  links->reset();
  stageStep = std::move(step);
  Job job{this, &Pipeline::runStep};
  threads.run(job, [] { return false; });
  for (const Status &status : statuses)
    SHARDC_RETURN_IF_ERROR(status);
  return Status::ok();
}

void Pipeline::runStep(int stage) {
  const auto s = static_cast<size_t>(stage);
  try {
    statuses[s] = stageStep(*stages[s]);
  } catch (const std::exception &error) {
    statuses[s] = artifactError("stage ", stage, ": ", error.what());
  }
  statuses[s] = world.ended(statuses[s]);
  if (!statuses[s].isOk())
    links->fail(statuses[s]);
}

/// Profiles have the same outputs, in whatever stage each of them has one.
Status Pipeline::describeOutputs() {
  std::vector<std::map<uint32_t, TensorInfo>> profiles;
  for (auto &stage : stages) {
    const auto programs = stage->allPrograms();
    profiles.resize(programs.size());
    for (size_t p = 0; p < programs.size(); ++p) {
      const std::vector<TensorInfo> infos =
          runtime::describeOutputs(*programs[p]);
      for (uint32_t o = 0; o < infos.size(); ++o)
        profiles[p][programs[p]->outputs()->Get(o)->index()] = infos[o];
    }
  }
  for (const auto &profile : profiles) {
    std::vector<TensorInfo> infos;
    for (const auto &[index, info] : profile)
      infos.push_back(info);
    if (!outputInfos.empty() && !sameTypes(outputInfos, infos))
      return artifactError("its programs have different outputs");
    outputInfos = infos; // the last one's is for the most requests
  }
  return Status::ok();
}

/// Each stage knows of the tables that it has.
void Pipeline::joinTables() {
  std::vector<TensorInfo> &all = stages[0]->inputInfos;
  for (const auto &stage : stages)
    for (size_t i = 0; i < std::min(all.size(), stage->inputInfos.size()); ++i)
      all[i].numRows = leastRows(all[i].numRows, stage->inputInfos[i].numRows);
}

Status Pipeline::checkOutputs(const PipelineRequest &request) const {
  return request.outputs.size() == outputInfos.size()
             ? Status::ok()
             : argumentError("expected ", outputInfos.size(),
                             " output tensors, found ", request.outputs.size());
}

Status Pipeline::checkRequest(const PipelineRequest &request,
                              std::vector<InputTensor> &all,
                              std::vector<const InputTensor *> &ordered) const {
  SHARDC_RETURN_IF_ERROR(checkOutputs(request));
  all.assign(request.inputs.begin(), request.inputs.end());
  std::vector<InputTensor> past;
  for (size_t s = 0; request.states && s < stages.size(); ++s)
    if (CacheState *caches = (*request.states)[s].get()) {
      SHARDC_RETURN_IF_ERROR(caches->addPast(inputs(), request.inputs, past));
      all.insert(all.end(), past.begin() + std::ssize(request.inputs),
                 past.end());
    }
  ordered.resize(inputs().size());
  return matchInputs(inputs(), all, ordered);
}

Status Pipeline::createStates(int64_t capacity, StageStates &states) {
  states.clear();
  bool hasCaches = false;
  for (auto &stage : stages)
    hasCaches |= stage->hasCaches();
  if (!hasCaches)
    return argumentError("the model has no cache to keep: no output of it is "
                         "an input with something appended");
  // More positions than there are addresses for are no capacity.
  constexpr int64_t kMost = int64_t(1) << 40;
  if (capacity < 1 || capacity > kMost)
    return argumentError("a state for ", capacity, " positions: expected 1 to ",
                         kMost);
  for (const CacheInfo &cache : caches())
    for (size_t s = 0, users = 0; s < stages.size(); ++s)
      if ((users += stages[s]->usesInput(cache.input)) > 1)
        return argumentError(
            "the cache of input '", inputs()[cache.input].name,
            "' is read by several stages; run without a state");
  for (auto &stage : stages) {
    states.emplace_back();
    if (stage->hasCaches())
      SHARDC_RETURN_IF_ERROR(stage->createState(capacity, states.back()));
  }
  return Status::ok();
}

bool Pipeline::setsCaches() const {
  for (const auto &stage : stages)
    for (const artifact::Program *program : stage->allPrograms())
      if (const auto *pairs = program->caches())
        for (const artifact::CachePair *pair : *pairs)
          if (pair->kind() == artifact::CacheKind_Set)
            return true;
  return false;
}

std::vector<CacheInfo> Pipeline::caches() const {
  std::vector<CacheInfo> infos;
  for (const auto &stage : stages) {
    const artifact::Program &program = *stage->allPrograms().front();
    if (const auto *pairs = program.caches())
      for (const artifact::CachePair *pair : *pairs)
        infos.push_back(
            {pair->input(), program.outputs()->Get(pair->output())->index()});
  }
  return infos;
}

bool Pipeline::isStuck() const {
  return std::any_of(stages.begin(), stages.end(), [](const auto &stage) {
    return stage && stage->isStuck();
  });
}

} // namespace shardc::runtime
