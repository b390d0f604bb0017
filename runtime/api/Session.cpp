#include "runtime/api/shardrt.hpp"

#include "runtime/base/Message.h"
#include "runtime/exec/Engine.h"
#include "runtime/trace/Trace.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace shardc::runtime {
namespace {

constexpr std::chrono::milliseconds kDefaultTimeout{60'000};

Status readEnvironment(SessionOptions &options) {
  if (const char *check = std::getenv("SHARDC_CHECK_REPLICAS"))
    options.checkReplicas |= std::strcmp(check, "1") == 0;
  if (options.timeout.count() > 0)
    return Status::ok();
  options.timeout = kDefaultTimeout;
  if (const char *text = std::getenv("SHARDC_TIMEOUT")) {
    char *end = nullptr;
    double seconds = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0.001 && seconds <= 1e6))
      return argumentError("SHARDC_TIMEOUT is '", text,
                           "', expected seconds above 0, such as 60");
    options.timeout = std::chrono::milliseconds(std::llround(seconds * 1000));
  }
  return Status::ok();
}

/// Runs `body`; what it throws (memory, threads) becomes a status.
template <typename Body> Status withoutExceptions(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return artifactError("out of memory or threads: ", error.what());
  }
}

} // namespace

Session::Session(std::unique_ptr<Engine> engine) : engine(std::move(engine)) {}

Session::~Session() {
  if (engine && engine->isStuck())
    (void)engine.release(); // a thread still uses it
}

Status Session::open(const std::string &artifact, const SessionOptions &options,
                     std::unique_ptr<Session> &session) {
  return withoutExceptions([&] {
    SessionOptions complete = options;
    SHARDC_RETURN_IF_ERROR(readEnvironment(complete));
    std::unique_ptr<Engine> engine;
    SHARDC_RETURN_IF_ERROR(Engine::open(artifact, complete, engine));
    session.reset(new Session(std::move(engine)));
    return Status::ok();
  });
}

const std::vector<TensorInfo> &Session::inputs() const {
  return engine->inputInfos;
}

const std::vector<TensorInfo> &Session::outputs() const {
  return engine->outputInfos;
}

int Session::worldSize() const { return engine->worldSize(); }

const std::string &Session::tolerance() const {
  return engine->artifact.manifest().tolerance;
}

Status Session::run(std::span<const InputTensor> inputs,
                    std::span<Tensor> outputs) {
  return withoutExceptions(
      [&] { return engine->run(inputs, outputs, nullptr); });
}

State::State(std::unique_ptr<CacheState> caches) : caches(std::move(caches)) {}
State::~State() = default;
int64_t State::capacity() const { return caches->capacity; }
int64_t State::length() const { return caches->length(); }
void State::reset() { caches->reset(); }

Status State::fork(std::unique_ptr<State> &copy) const {
  return withoutExceptions([&] {
    SHARDC_RETURN_IF_ERROR(session->createState(capacity(), copy));
    return caches->copyTo(*copy->caches);
  });
}

std::vector<CacheInfo> Session::caches() const {
  std::vector<CacheInfo> infos;
  if (const auto *pairs = engine->program().caches())
    for (const artifact::CachePair *pair : *pairs)
      infos.push_back({pair->input(), pair->output()});
  return infos;
}

Status Session::createState(int64_t capacity, std::unique_ptr<State> &state) {
  return withoutExceptions([&] {
    std::unique_ptr<CacheState> caches;
    SHARDC_RETURN_IF_ERROR(engine->createState(capacity, caches));
    state.reset(new State(std::move(caches)));
    state->session = this;
    return Status::ok();
  });
}

Status Session::run(State &state, std::span<const InputTensor> inputs,
                    std::span<Tensor> outputs) {
  if (state.session != this)
    return argumentError("the state is another session's");
  return withoutExceptions(
      [&] { return engine->run(inputs, outputs, state.caches.get()); });
}

std::vector<CollectiveStats> Session::collectiveStats() const {
  std::lock_guard lock(engine->mutex);
  std::vector<CollectiveStats> stats;
  if (!engine->last)
    return stats;
  engine->last->ranks[0].forEachInstruction(
      [&](const RankPlan &plan, const BoundInstruction &instruction) {
        if (instruction.collective < 0)
          return;
        const BoundCollective &collective =
            plan.collectives()[static_cast<size_t>(instruction.collective)];
        stats.push_back({std::string(instruction.name),
                         std::string(instruction.node),
                         collective.communicator->size(), collective.bytes,
                         collective.wireBytes});
      });
  return stats;
}

std::vector<RankMemory> Session::rankMemory() const {
  std::lock_guard lock(engine->mutex);
  std::vector<RankMemory> memory;
  for (int rank = 0; rank < engine->worldSize(); ++rank)
    memory.push_back(engine->memoryOf(rank));
  return memory;
}

std::vector<InstructionProfile> Session::profile() const {
  std::lock_guard lock(engine->mutex);
  return engine->last ? profileInstructions(*engine->last)
                      : std::vector<InstructionProfile>();
}

Status Session::writeTrace(const std::string &path) const {
  std::lock_guard lock(engine->mutex);
  if (!engine->last || !engine->last->isMeasured())
    return argumentError("no measured run to trace; open the session with "
                         "`measure` and run it");
  return withoutExceptions([&] {
    return runtime::writeTrace(path, *engine->lastProgram->program,
                               *engine->last);
  });
}

} // namespace shardc::runtime
