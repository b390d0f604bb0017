//===- main.cpp - shardrun: runs an artifact of shardc --------------------===//
#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "tools/flags/Unexpected.h"
#include "tools/shardrun/Company.h"
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

/// The bar lives longer.
Status openSession(const Options &options, const shardrt::Processes &processes,
                   LoadBar &bar, shardrt::Session &session) {
  const auto orNull = [](const std::string &text) {
    return text.empty() ? nullptr : text.c_str();
  };
  shardrt_options from = {};
  from.size = sizeof from;
  from.processes = processes.get();
  from.weights_root = orNull(options.weightsRoot);
  from.device = orNull(options.device);
  from.timeout_seconds = options.timeout;
  from.threads = options.threads;
  from.check_replicas = options.checkReplicas;
  from.no_kernels = options.noKernels;
  from.preflight = options.preflight;
  from.cache_positions = options.preflight ? options.cache : 0;
  from.loads_beside = !options.loadsFirst;
  from.measure = options.profile || !options.trace.empty();
  if (LoadBar::isSeen() && processes.rank() == 0) {
    from.on_progress = [](int64_t loaded, int64_t all, void *context) {
      (*static_cast<LoadBar *>(context))(loaded, all);
    };
    from.progress_context = &bar;
  }
  return statusOf(shardrt::Session::open(options.artifact, session, &from));
}

/// Whether a state keeps them, by input and by output.
struct Kept {
  std::vector<char> inputs, outputs;
};

Kept findKept(const Model &model, const Options &options) {
  if (options.cache == 0)
    return {std::vector<char>(model.inputs.size()),
            std::vector<char>(model.outputs.size())};
  Kept kept{model.inputIsCache, model.outputIsCache};
  // How rows lie follows from the steps.
  for (size_t i = 0; model.page > 0 && i < kept.inputs.size(); ++i)
    kept.inputs[i] |= model.inputs[i].name.rfind("rows.", 0) == 0;
  return kept;
}

Status readRequests(const Options &options, const Model &model,
                    const Kept &kept, std::vector<FileRequest> &requests) {
  const size_t count = options.inputs.size();
  if (!options.expect.empty() && options.expect.size() != count)
    return argumentError("--expect: expected ", count,
                         " folders, one for each "
                         "of --inputs, found ",
                         options.expect.size());
  requests.resize(count);
  for (size_t r = 0; r < count; ++r) {
    SHARDC_RETURN_IF_ERROR(readInputs(options.inputs[r], model.inputs,
                                      kept.inputs, requests[r].inputs));
    if (!options.expect.empty())
      SHARDC_RETURN_IF_ERROR(readExpected(options.expect[r], model.outputs,
                                          kept.outputs, requests[r].expected));
    if (!options.outputs.empty())
      requests[r].outputs =
          count == 1 ? options.outputs : requestPath(options.outputs, r);
    requests[r].results.resize(model.outputs.size());
  }
  return Status::ok();
}

/// One run of all requests: one after the other with a state, together without.
Status runOnce(shardrt::Session &session, shardrt::State *state,
               const std::vector<FileRequest> &requests,
               std::vector<shardrt::Result> &results) {
  std::vector<std::vector<shardrt::Input>> inputs;
  for (size_t r = 0; r < requests.size(); ++r) {
    inputs.push_back(inputsOf(requests[r].inputs));
    if (state)
      SHARDC_RETURN_IF_ERROR(
          statusOf(session.run(*state, inputs.back(), results[r])));
  }
  return state ? Status::ok() : statusOf(session.run(inputs, results));
}

/// What came, but for what the state keeps; as long as `results`.
Status takeOutputs(const Kept &kept, std::vector<FileRequest> &requests,
                   const std::vector<shardrt::Result> &results) {
  for (size_t r = 0; r < requests.size(); ++r)
    for (size_t o = 0; o < kept.outputs.size(); ++o) {
      if (kept.outputs[o])
        continue;
      shardrt::Output output;
      SHARDC_RETURN_IF_ERROR(statusOf(results[r].output(o, output)));
      SHARDC_RETURN_IF_ERROR(tensorOf(output, requests[r].results[o]));
    }
  return Status::ok();
}

/// What runs leave: outputs are views of results.
struct Outcome {
  RunTimes times;
  shardrt::State state;
  bool hasState = false;
  std::vector<shardrt::Result> results;
};

Status runAll(shardrt::Session &session, const Model &model,
              const Options &options, const Kept &kept,
              std::vector<FileRequest> &requests, Outcome &outcome) {
  shardrt::Pool pool;
  const bool hasPool = options.cache > 0 && model.page > 0;
  Steps steps;
  SHARDC_RETURN_IF_ERROR(readSteps(options.sequences, requests.size(), steps));
  if (hasPool)
    SHARDC_RETURN_IF_ERROR(
        statusOf(shardrt::Pool::create(session, options.cache, pool)));
  else if (!options.sequences.empty())
    return argumentError("--sequences: needs --cache, for how many positions "
                         "there is room, and a model that was compiled with "
                         "--serve");
  else if (options.cache > 0)
    SHARDC_RETURN_IF_ERROR(
        statusOf(session.createState(options.cache, outcome.state)));
  outcome.hasState = options.cache > 0 && !hasPool;
  outcome.results.resize(requests.size());
  for (int i = 0; i < options.repeat; ++i) {
    if (outcome.hasState)
      outcome.state.reset();
    auto begin = std::chrono::steady_clock::now();
    SHARDC_RETURN_IF_ERROR(
        hasPool ? runSteps(model, pool, steps, requests)
                : runOnce(session, outcome.hasState ? &outcome.state : nullptr,
                          requests, outcome.results));
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    outcome.times.push_back(took.count());
  }
  return hasPool ? Status::ok() : takeOutputs(kept, requests, outcome.results);
}

/// Prints one line an output; Mismatch if one is out of tolerance.
Status compareOutputs(const Model &model, const Tolerance &tolerance,
                      const Kept &kept, const FileRequest &request) {
  const std::vector<NamedTensor> &expected = request.expected;
  const std::vector<Tensor> &outputs = request.results;
  Status status;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (kept.outputs[o])
      continue;
    Comparison result = compare(outputs[o], expected[o].tensor, tolerance);
    std::printf(
        "%s\n",
        comparisonText(o, model.outputs[o].name, outputs[o], result).c_str());
    if (result.fits)
      continue;
    if (status.isOk())
      status = Status::error(
          StatusCode::Mismatch,
          message("output ", o, " '", model.outputs[o].name,
                  "' differs from the expected one: ", result.problem));
  }
  return status;
}

void printOutputs(const Model &model, const Kept &kept,
                  const std::vector<Tensor> &outputs) {
  for (size_t o = 0; o < outputs.size(); ++o)
    if (!kept.outputs[o])
      std::printf("output %zu '%s': %s %s\n", o, model.outputs[o].name.c_str(),
                  shardc::artifact::elementName(outputs[o].element()),
                  shapeText(outputs[o].dims()).c_str());
}

Status findTolerance(const Options &options, const Model &model,
                     Tolerance &tolerance) {
  const bool given = !options.tolerance.empty();
  if (parseTolerance(given ? options.tolerance : model.tolerance, tolerance))
    return Status::ok();
  if (given)
    return argumentError("--tolerance ", options.tolerance,
                         ": expected f32, low, quant or ABS,REL such as "
                         "1e-4,1e-3");
  return artifactError("the manifest's tolerance '", model.tolerance,
                       "' is unknown; use --tolerance");
}

/// Compares or lists the outputs, says how long it took; Mismatch if an output
/// is not as expected.
Status report(const Options &options, shardrt::Session &session,
              const Model &model, const Kept &kept,
              std::span<const FileRequest> requests, const RunTimes &times) {
  Tolerance tolerance;
  SHARDC_RETURN_IF_ERROR(findTolerance(options, model, tolerance));
  Status compared;
  for (const FileRequest &request : requests)
    if (options.expect.empty())
      printOutputs(model, kept, request.results);
    else if (Status status = compareOutputs(model, tolerance, kept, request);
             compared.isOk())
      compared = status;
  std::printf("%d %s, %zu %s: median %.3f ms\n", model.worldSize,
              model.worldSize == 1 ? "rank" : "ranks", times.size(),
              times.size() == 1 ? "run" : "runs", median(times));
  if (options.profile)
    SHARDC_RETURN_IF_ERROR(printProfile(session));
  return compared;
}

/// The file of this process.
std::string ownFile(const std::string &file,
                    const shardrt::Processes &processes) {
  return processes.rank() > 0 ? file + "." + std::to_string(processes.rank())
                              : file;
}

void warnOfHostKernels(const shardrt::Statistics &statistics) {
  std::string names;
  for (const std::string &name : statistics.notes(SHARDRT_HOST_KERNELS))
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    std::fprintf(stderr,
                 "shardrun: warning: the device has no kernel %s: these run on "
                 "the host, and their values travel\n",
                 names.c_str());
}

/// Once it has run.
void warnOfHostInstructions(const shardrt::Statistics &statistics) {
  for (const std::string &why : statistics.notes(SHARDRT_HOST_INSTRUCTIONS))
    std::fprintf(stderr, "shardrun: warning: runs on the host: %s\n",
                 why.c_str());
}

/// What each process writes: of its own ranks.
Status writeOwn(const Options &options, const shardrt::Processes &processes,
                const shardrt::Session &session,
                const shardrt::Statistics &statistics, const RunTimes &times,
                const std::vector<shardrt::RankMemory> &caches) {
  if (!options.trace.empty())
    SHARDC_RETURN_IF_ERROR(
        statusOf(session.writeTrace(ownFile(options.trace, processes))));
  return options.statsJson.empty()
             ? Status::ok()
             : writeStats(ownFile(options.statsJson, processes), statistics,
                          times, caches);
}

Status serveTexts(const Options &options, Company &company,
                  shardrt::Session &session) {
  if (options.cache == 0)
    return argumentError("--texts: needs --cache, for how many positions there "
                         "is room");
  if (!options.inputs.empty() || !options.expect.empty() ||
      !options.sequences.empty() || !options.statsJson.empty() ||
      options.repeat > 1)
    return argumentError(
        "--texts: texts are all that runs: leave out --inputs, "
        "--sequences, --expect, --repeat and --stats-json");
  shardrt_server_options server = {};
  server.size = sizeof server;
  server.positions = options.cache;
  server.step_tokens = options.stepTokens;
  server.step_rows = options.stepRows;
  server.slowdown = options.stepSlowdown > 0 ? options.stepSlowdown : -1;
  Reopening reopening{company, session};
  server.reopen = Reopening::call;
  server.context = &reopening;
  return runTexts(session, options.texts, server, options.outputs);
}

/// All ranks, or rank 0 of several processes.
Status lead(const Options &options, const shardrt::Processes &processes,
            shardrt::Session &session) {
  Model model;
  SHARDC_RETURN_IF_ERROR(describe(session, model));
  Tolerance tolerance; // a wrong one is an error before the run
  SHARDC_RETURN_IF_ERROR(findTolerance(options, model, tolerance));
  const Kept kept = findKept(model, options);
  std::vector<FileRequest> requests;
  SHARDC_RETURN_IF_ERROR(readRequests(options, model, kept, requests));
  Outcome outcome;
  SHARDC_RETURN_IF_ERROR(
      runAll(session, model, options, kept, requests, outcome));
  shardrt::Statistics statistics;
  SHARDC_RETURN_IF_ERROR(
      statusOf(shardrt::Statistics::create(session, statistics)));
  warnOfHostInstructions(statistics);
  for (const FileRequest &request : requests)
    if (!request.outputs.empty())
      SHARDC_RETURN_IF_ERROR(writeOutputs(request.outputs, model.outputs,
                                          kept.outputs, request.results));
  if (!options.outputs.empty())
    removeOtherRequests(options.outputs, requests.size());
  SHARDC_RETURN_IF_ERROR(
      writeOwn(options, processes, session, statistics, outcome.times,
               outcome.hasState ? outcome.state.memory()
                                : std::vector<shardrt::RankMemory>()));
  return report(options, session, model, kept, requests, outcome.times);
}

/// What a process does in its company, as long as there is one.
Status runOn(const Options &options, Company &company,
             shardrt::Session &session) {
  for (;;) {
    Status status;
    if (!company.isLead())
      status = statusOf(session.follow());
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

/// `processes`: none where all ranks are threads.
Status run(const Options &options, shardrt::Processes &processes) {
  LoadBar bar;
  shardrt::Session session;
  SHARDC_RETURN_IF_ERROR(openSession(options, processes, bar, session));
  Company company(options, processes);
  shardrt::Statistics statistics;
  SHARDC_RETURN_IF_ERROR(
      statusOf(shardrt::Statistics::create(session, statistics)));
  if (company.isLead())
    warnOfHostKernels(statistics);
  if (options.preflight) {
    for (const std::string &line : statistics.notes(SHARDRT_PLACEMENT))
      std::printf("%s\n", line.c_str());
    std::printf("preflight passed\n");
    return Status::ok();
  }
  SHARDC_RETURN_IF_ERROR(runOn(options, company, session));
  if (company.isLead())
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(
      statusOf(shardrt::Statistics::create(session, statistics)));
  if (!options.trace.empty() && statistics.instructions().empty())
    return Status::ok(); // nothing has run here: rank 0 says why
  std::vector<shardrt::RankMemory> caches;
  for (const shardrt_cache_memory &each : statistics.caches())
    caches.push_back({each.rank, each.committed_bytes, each.reserved_bytes});
  return writeOwn(options, company.get(), session, statistics, {}, caches);
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
Status runHere(const Options &options, shardrt::Processes &processes) {
  try {
    SHARDC_RETURN_IF_ERROR(join(options, processes));
    Status status = run(options, processes);
    if (Status printed = flushOutput(); status.isOk())
      status = printed;
    return conclude(processes, status);
  } catch (const std::exception &error) {
    return conclude(processes, artifactError("out of memory: ", error.what()));
  }
}

/// The exit status of a program that is done, which says why.
int concluded(const Status &status, shardrt::Processes processes) {
  if (status.isOk())
    return 0;
  if (processes.isSpeaker())
    std::fprintf(stderr, "shardrun: error: %s\n", status.message().c_str());
  processes = {}; // the others see that this one ends
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
  app.option_defaults()->disable_flag_override(); // --profile=no is a mistake
  Options options;
  declareFlags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    app.exit(done);
    return concluded(flushOutput(), {});
  } catch (const CLI::ExtrasError &) {
    std::fprintf(stderr, "shardrun: error: %s; see shardrun --help\n",
                 shardc::unexpectedText(app).c_str());
    return static_cast<int>(StatusCode::InvalidArgument);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "shardrun: error: %s; see shardrun --help\n",
                 shardc::mistakeText(app, error).c_str());
    return static_cast<int>(StatusCode::InvalidArgument);
  }
  if (options.listsDevices) {
    Status status = printDevices();
    if (Status printed = flushOutput(); status.isOk())
      status = printed;
    return concluded(status, {});
  }
  if (options.artifact.empty() ||
      (options.inputs.empty() && options.texts.empty() && !options.preflight)) {
    std::fprintf(stderr,
                 "shardrun: error: %s is required; see shardrun "
                 "--help\n",
                 options.artifact.empty() ? "artifact" : "--inputs");
    return static_cast<int>(StatusCode::InvalidArgument);
  }
  shardrt::Processes processes;
  const Status status = runHere(options, processes);
  return concluded(status, std::move(processes));
}
