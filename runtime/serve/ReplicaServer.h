//===- ReplicaServer.h - The texts of one replica -------------------------===//
//
// A thread that runs one step after the other. Where the replica has stages, a
// step goes through them in parts, one behind the other, each of other texts:
//
//   stage 0   a b c d         of 64 rows 16 each
//   stage 1     a b c d
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_REPLICASERVER_H
#define SHARDC_RUNTIME_SERVE_REPLICASERVER_H

#include "runtime/serve/Generation.h"
#include "runtime/serve/SharedPrefix.h"
#include "runtime/serve/StepPlan.h"
#include "runtime/serve/TextInputs.h"

#include <list>
#include <thread>

namespace shardc::runtime {

struct ServerOptions {
  int64_t positions = 32 * 1024; ///< of all texts of a replica
  int64_t tokens = 512;          ///< of a step: prompts come in parts of it
  int64_t rows = 64;             ///< of a step
  size_t mostWaiting = 1024;     ///< texts that have not begun
  /// Tokens of the smallest part of a step that goes through stages by itself:
  /// each part reads a stage's weights once more.
  int64_t part = 16;
  /// Of the model: what choose gets. Empty: the first that is no cache.
  std::string logits = {};
};

struct ServerCounts {
  int64_t steps = 0, tokens = 0; ///< computed
  int64_t shared = 0;            ///< positions that another text had
  int64_t evicted = 0;           ///< texts that gave up their pages
};

class ReplicaServer {
public:
  static Status start(Session &session, const ServerOptions &options,
                      std::unique_ptr<ReplicaServer> &server);
  /// Texts that are under way end with an error.
  ~ReplicaServer();

  /// One that has a prompt and fits. The error that ended the server.
  Status submit(std::shared_ptr<Generation> text);

  int64_t positions() const { return pool->numPages() * pool->page(); }
  /// Positions that its texts may take.
  int64_t load() const;
  size_t numWaiting() const;
  bool isGone() const; ///< takes no more texts
  ServerCounts counts() const;

private:
  ReplicaServer(Session &session, const ServerOptions &options)
      : session(session), options(options) {}
  Status open();
  void serve();
  void count();
  bool collect();
  void plan(StepPlan &step);
  int64_t newPages(const StepPlan &step, std::span<const SequenceLoad> loads,
                   std::span<const SharedPrefix> prefixes) const;
  void dropRetained(const StepPlan &step,
                    std::span<const SharedPrefix> prefixes);
  Status run(const StepPlan &step);
  Status runHalves(std::span<const StepPlan::Row> planned);
  Status runRows(std::span<const StepPlan::Row> rows);
  void setRow(const StepPlan::Row &planned, size_t number);
  void cutSteps();
  Status take(std::span<const StepPlan::Row> rows, const RowStep &step);
  void takeToken(Generation &text, std::span<const float> logits);
  void retain(Generation &text);
  SharedPrefix prefixOf(const Generation &text) const;
  SequenceLoad loadOf(const Generation &text, const SharedPrefix &prefix) const;
  std::unique_ptr<Sequence> beginningOf(const SharedPrefix &prefix);
  Generation &textOf(size_t number) const;

  Session &session;
  const ServerOptions options;
  std::unique_ptr<SequencePool> pool;
  TextInputs inputs;
  size_t logits = 0; ///< output

  // The server's thread.
  std::vector<std::shared_ptr<Generation>> running; ///< as they were admitted
  std::list<std::shared_ptr<Generation>> waiting;
  /// Of texts that have ended, the last one first, until pages are needed.
  struct Retained {
    std::vector<int64_t> tokens;
    std::unique_ptr<Sequence> sequence;
  };
  std::list<Retained> retained;
  std::vector<TextInputs::Row> rowInputs;
  std::vector<Row> rows;
  std::vector<int64_t> rowTokens;
  std::vector<RowStep> steps;               ///< parts of one
  std::vector<std::vector<Tensor>> outputs; ///< of each
  std::vector<float> numbers;

  mutable std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  std::list<std::shared_ptr<Generation>> submitted;
  size_t waits = 0;
  int64_t loaded = 0;
  bool stops = false;
  Status gone; ///< why it takes no more texts
  ServerCounts counted;

  std::thread thread; ///< last
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_REPLICASERVER_H
