//===- main.cpp - shardrun: runs an artifact of shardc --------------------===//
#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "runtime/launch/LoadProgress.h"
#include "runtime/session/Processes.h"
#include "tools/flags/Unexpected.h"
#include "tools/shardrun/Devices.h"
#include "tools/shardrun/LoadBar.h"
#include "tools/shardrun/Options.h"
#include "tools/shardrun/Prompt.h"
#include "tools/shardrun/Report.h"
#include "tools/shardrun/Steps.h"
#include "tools/shardrun/Texts.h"
#include "tools/tensors/Compare.h"
#include "tools/tensors/InputFiles.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <unistd.h>

using namespace shardc::runtime;
using namespace shardrun;
using namespace shardc::tensors;

namespace {

std::chrono::milliseconds timeoutOf(const Options &options) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(options.timeout * 1000));
}

Status openSession(const Options &options, Processes *processes,
                   std::unique_ptr<Session> &session) {
  SessionOptions from;
  from.processes = processes;
  from.weightsRoot = options.weightsRoot;
  from.device = options.device;
  from.timeout = timeoutOf(options);
  from.threads = options.threads;
  from.checkReplicas = options.checkReplicas;
  from.nativeCode = !options.noKernels;
  from.preflight = options.preflight;
  from.cachePositions = options.preflight ? options.cache : 0;
  from.loadsBeside = !options.loadsFirst;
  from.measure = options.profile || !options.trace.empty();
  if (LoadBar::isSeen() && (!processes || processes->rank() == 0))
    from.progress = std::make_shared<LoadProgress>(LoadBar());
  return Session::open(options.artifact, from, session);
}

/// Whether a state keeps them, by input and by output.
struct Kept {
  std::vector<char> inputs, outputs;
};

Kept findKept(const Session &session, const Options &options) {
  Kept kept{std::vector<char>(session.inputs().size()),
            std::vector<char>(session.outputs().size())};
  if (options.cache == 0)
    return kept;
  for (const CacheInfo &cache : session.caches())
    kept.inputs[cache.input] = kept.outputs[cache.output] = 1;
  // How rows lie follows from the steps.
  for (size_t i = 0; session.page() > 0 && i < kept.inputs.size(); ++i)
    kept.inputs[i] |= session.inputs()[i].name.rfind("rows.", 0) == 0;
  return kept;
}

Status readRequests(const Options &options, const Session &session,
                    const Kept &kept, std::vector<FileRequest> &requests) {
  const size_t count = options.inputs.size();
  if (!options.expect.empty() && options.expect.size() != count)
    return argumentError("--expect: expected ", count,
                         " folders, one for each "
                         "of --inputs, found ",
                         options.expect.size());
  requests.resize(count);
  for (size_t r = 0; r < count; ++r) {
    SHARDC_RETURN_IF_ERROR(readInputs(options.inputs[r], session.inputs(),
                                      kept.inputs, requests[r].inputs));
    if (!options.expect.empty())
      SHARDC_RETURN_IF_ERROR(readExpected(options.expect[r], session.outputs(),
                                          kept.outputs, requests[r].expected));
    if (!options.outputs.empty())
      requests[r].outputs =
          count == 1 ? options.outputs : requestPath(options.outputs, r);
    requests[r].results.resize(session.outputs().size());
  }
  return Status::ok();
}

/// One run of all requests: one after the other with a state, together without.
Status runOnce(Session &session, State *state,
               std::vector<FileRequest> &requests) {
  std::vector<std::vector<InputTensor>> inputs;
  std::vector<Request> together;
  for (FileRequest &request : requests) {
    inputs.push_back(request.tensors());
    together.push_back({inputs.back(), request.results});
    if (state)
      SHARDC_RETURN_IF_ERROR(
          session.run(*state, inputs.back(), request.results));
  }
  return state ? Status::ok() : session.run(together);
}

Status runAll(Session &session, const Options &options,
              std::vector<FileRequest> &requests, RunTimes &times,
              std::unique_ptr<State> &state) {
  std::unique_ptr<SequencePool> pool;
  Steps steps;
  SHARDC_RETURN_IF_ERROR(readSteps(options.sequences, requests.size(), steps));
  if (options.cache > 0 && session.page() > 0)
    SHARDC_RETURN_IF_ERROR(SequencePool::create(session, options.cache, pool));
  else if (!options.sequences.empty())
    return argumentError("--sequences: needs --cache, for how many positions "
                         "there is room, and a model that was compiled with "
                         "--serve");
  else if (options.cache > 0)
    SHARDC_RETURN_IF_ERROR(session.createState(options.cache, state));
  for (int i = 0; i < options.repeat; ++i) {
    if (state)
      state->reset();
    auto begin = std::chrono::steady_clock::now();
    SHARDC_RETURN_IF_ERROR(pool ? runSteps(session, *pool, steps, requests)
                                : runOnce(session, state.get(), requests));
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    times.push_back(took.count());
  }
  return Status::ok();
}

/// Prints one line an output; Mismatch if one is out of tolerance.
Status compareOutputs(const Session &session, const Tolerance &tolerance,
                      const Kept &kept, const FileRequest &request) {
  const std::vector<NamedTensor> &expected = request.expected;
  const std::vector<Tensor> &outputs = request.results;
  Status status;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (kept.outputs[o])
      continue;
    Comparison result = compare(outputs[o], expected[o].tensor, tolerance);
    std::printf("%s\n",
                comparisonText(o, session.outputs()[o].name, outputs[o], result)
                    .c_str());
    if (result.fits)
      continue;
    if (status.isOk())
      status = Status::error(
          StatusCode::Mismatch,
          message("output ", o, " '", session.outputs()[o].name,
                  "' differs from the expected one: ", result.problem));
  }
  return status;
}

void printOutputs(const Session &session, const Kept &kept,
                  const std::vector<Tensor> &outputs) {
  for (size_t o = 0; o < outputs.size(); ++o)
    if (!kept.outputs[o])
      std::printf("output %zu '%s': %s %s\n", o,
                  session.outputs()[o].name.c_str(),
                  shardc::artifact::elementName(outputs[o].element()),
                  shapeText(outputs[o].dims()).c_str());
}

Status findTolerance(const Options &options, const Session &session,
                     Tolerance &tolerance) {
  const bool given = !options.tolerance.empty();
  if (parseTolerance(given ? options.tolerance : session.tolerance(),
                     tolerance))
    return Status::ok();
  if (given)
    return argumentError("--tolerance ", options.tolerance,
                         ": expected f32, low, quant or ABS,REL such as "
                         "1e-4,1e-3");
  return artifactError("the manifest's tolerance '", session.tolerance(),
                       "' is unknown; use --tolerance");
}

/// Compares or lists the outputs, says how long it took; Mismatch if an output
/// is not as expected.
Status report(const Options &options, Session &session, const Kept &kept,
              std::span<const FileRequest> requests, const RunTimes &times) {
  Tolerance tolerance;
  SHARDC_RETURN_IF_ERROR(findTolerance(options, session, tolerance));
  Status compared;
  for (const FileRequest &request : requests)
    if (options.expect.empty())
      printOutputs(session, kept, request.results);
    else if (Status status = compareOutputs(session, tolerance, kept, request);
             compared.isOk())
      compared = status;
  std::printf("%d %s, %zu %s: median %.3f ms\n", session.worldSize(),
              session.worldSize() == 1 ? "rank" : "ranks", times.size(),
              times.size() == 1 ? "run" : "runs", median(times));
  if (options.profile)
    SHARDC_RETURN_IF_ERROR(printProfile(session));
  return compared;
}

/// The file of this process.
std::string ownFile(const std::string &file, const Processes *processes) {
  return processes && processes->rank() > 0
             ? file + "." + std::to_string(processes->rank())
             : file;
}

void warnOfHostKernels(const Session &session) {
  std::string names;
  for (const std::string &name : session.hostKernels())
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    std::fprintf(stderr,
                 "shardrun: warning: the device has no kernel %s: these run on "
                 "the host, and their values travel\n",
                 names.c_str());
}

/// Once it has run.
void warnOfHostInstructions(const Session &session) {
  for (const std::string &why : session.hostInstructions())
    std::fprintf(stderr, "shardrun: warning: runs on the host: %s\n",
                 why.c_str());
}

/// What each process writes: of its own ranks.
Status writeOwn(const Options &options, const Processes *processes,
                const Session &session, const RunTimes &times,
                const std::vector<StateMemory> &caches) {
  if (!options.trace.empty())
    SHARDC_RETURN_IF_ERROR(
        session.writeTrace(ownFile(options.trace, processes)));
  return options.statsJson.empty()
             ? Status::ok()
             : writeStats(ownFile(options.statsJson, processes), session, times,
                          caches);
}

/// The processes of a session, in which others take the place of those that are
/// gone.
class Company {
public:
  Company(const Options &options, std::unique_ptr<Processes> &processes)
      : options(options), processes(processes), left(options.rejoin) {}

  const Processes *get() const { return processes.get(); }
  bool isLead() const { return !processes || processes->rank() == 0; }
  /// Whether to go on with others after that.
  bool mayGoOn(const Session &session, const Status &status) {
    return !status.isOk() && processes && session.isLost() && left-- > 0;
  }
  Status meetAgain(Session &session) {
    std::unique_ptr<Processes> again;
    SHARDC_RETURN_IF_ERROR(
        Processes::join({std::nullopt, timeoutOf(options)}, again));
    SHARDC_RETURN_IF_ERROR(session.reopen(again.get()));
    processes = std::move(again);
    return Status::ok();
  }
  /// Of a server, on a thread of it.
  Status reopen(Session &session) {
    if (!processes)
      return session.reopen();
    return left-- > 0 ? meetAgain(session)
                      : artifactError("no other process is waited for");
  }

private:
  const Options &options;
  std::unique_ptr<Processes> &processes;
  int left;
};

Status serveTexts(const Options &options, Company &company, Session &session) {
  if (options.cache == 0)
    return argumentError("--texts: needs --cache, for how many positions there "
                         "is room");
  if (!options.inputs.empty() || !options.expect.empty() ||
      !options.sequences.empty() || !options.statsJson.empty() ||
      options.repeat > 1)
    return argumentError(
        "--texts: texts are all that runs: leave out --inputs, "
        "--sequences, --expect, --repeat and --stats-json");
  ServerOptions server{options.cache, options.stepTokens, options.stepRows};
  server.slowdown = options.stepSlowdown;
  server.reopen = [&](Session &lost, const Status &) {
    return company.reopen(lost);
  };
  return runTexts(session, options.texts, server, options.outputs);
}

/// All ranks, or rank 0 of several processes.
Status lead(const Options &options, const Processes *processes,
            Session &session) {
  Tolerance tolerance; // a wrong one is an error before the run
  SHARDC_RETURN_IF_ERROR(findTolerance(options, session, tolerance));
  const Kept kept = findKept(session, options);
  std::vector<FileRequest> requests;
  SHARDC_RETURN_IF_ERROR(readRequests(options, session, kept, requests));
  RunTimes times;
  std::unique_ptr<State> state; // if there is one
  SHARDC_RETURN_IF_ERROR(runAll(session, options, requests, times, state));
  warnOfHostInstructions(session);
  for (const FileRequest &request : requests)
    if (!request.outputs.empty())
      SHARDC_RETURN_IF_ERROR(writeOutputs(request.outputs, session.outputs(),
                                          kept.outputs, request.results));
  if (!options.outputs.empty())
    removeOtherRequests(options.outputs, requests.size());
  SHARDC_RETURN_IF_ERROR(
      writeOwn(options, processes, session, times,
               state ? state->memory() : std::vector<StateMemory>()));
  return report(options, session, kept, requests, times);
}

/// What a process does in its company, as long as there is one.
Status runOn(const Options &options, Company &company, Session &session) {
  for (;;) {
    Status status;
    if (!company.isLead())
      status = session.follow();
    else if (options.texts.empty())
      status = lead(options, company.get(), session);
    else
      status = serveTexts(options, company, session);
    if (!company.mayGoOn(session, status))
      return status;
    std::fprintf(stderr, "shardrun: waits for another process: %s\n",
                 status.message().c_str());
    SHARDC_RETURN_IF_ERROR(company.meetAgain(session));
  }
}

/// `processes`: null where all ranks are threads.
Status run(const Options &options, std::unique_ptr<Processes> &processes) {
  std::unique_ptr<Session> session;
  SHARDC_RETURN_IF_ERROR(openSession(options, processes.get(), session));
  Company company(options, processes);
  if (company.isLead())
    warnOfHostKernels(*session);
  if (options.preflight) {
    for (const std::string &line : session->placement())
      std::printf("%s\n", line.c_str());
    std::printf("preflight passed\n");
    return Status::ok();
  }
  SHARDC_RETURN_IF_ERROR(runOn(options, company, *session));
  if (company.isLead())
    return Status::ok();
  if (!options.trace.empty() && session->profile().empty())
    return Status::ok(); // nothing has run here: rank 0 says why
  return writeOwn(options, company.get(), *session, {},
                  session->followedMemory());
}

/// That what was printed arrived. Only rank 0 prints.
Status flushOutput() {
  errno = 0;
  const bool isWhole = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (isWhole)
    return Status::ok();
  return artifactError("cannot write to standard output: ",
                       errno ? std::strerror(errno)
                             : "it is full, or nobody reads it");
}

/// All of it, in one process or as one of several.
Status runHere(const Options &options, std::unique_ptr<Processes> &processes) {
  try {
    SHARDC_RETURN_IF_ERROR(
        Processes::join({std::nullopt, timeoutOf(options)}, processes));
    Status status = run(options, processes);
    if (Status printed = flushOutput(); status.isOk())
      status = printed;
    return processes ? processes->conclude(status) : status;
  } catch (const std::exception &error) {
    Status status = artifactError("out of memory: ", error.what());
    return processes ? processes->conclude(status) : status;
  }
}

/// The exit status of a program that is done, which says why.
int concluded(const Status &status, std::unique_ptr<Processes> processes) {
  if (status.isOk())
    return 0;
  if (!processes || processes->isSpeaker())
    std::fprintf(stderr, "shardrun: error: %s\n", status.message().c_str());
  processes.reset(); // the others see that this one ends
  // A rank that no longer answers still runs: nothing may be taken from it.
  std::_Exit(static_cast<int>(status.code()));
}

} // namespace

int main(int argc, char **argv) {
  if (asksForText(argc, argv))
    return generate(argc, argv);
  // A closed pipe and a file that may not grow are errors of the write, like a
  // full disk.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // All that is printed at once, so that flushOutput learns why it did not
  // arrive; lines on a terminal.
  static char printed[64 * 1024];
  if (!isatty(STDOUT_FILENO))
    std::setvbuf(stdout, printed, _IOFBF, sizeof printed);
  CLI::App app("Runs a model that shardc compiled, all its ranks as threads of "
               "this process, or one of them in each process of a launcher.");
  Options options;
  declareFlags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    app.exit(done);
    return concluded(flushOutput(), nullptr);
  } catch (const CLI::ExtrasError &) {
    std::fprintf(stderr, "shardrun: error: %s; see shardrun --help\n",
                 shardc::unexpectedText(app).c_str());
    return static_cast<int>(StatusCode::InvalidArgument);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "shardrun: error: %s; see shardrun --help\n",
                 error.what());
    return static_cast<int>(StatusCode::InvalidArgument);
  }
  if (options.listsDevices) {
    printDevices();
    return concluded(flushOutput(), nullptr);
  }
  if (options.artifact.empty() ||
      (options.inputs.empty() && options.texts.empty() && !options.preflight)) {
    std::fprintf(stderr,
                 "shardrun: error: %s is required; see shardrun "
                 "--help\n",
                 options.artifact.empty() ? "artifact" : "--inputs");
    return static_cast<int>(StatusCode::InvalidArgument);
  }
  std::unique_ptr<Processes> processes;
  const Status status = runHere(options, processes);
  return concluded(status, std::move(processes));
}
