//===- ReplicaServer.h - The texts of one replica -------------------------===//
//
// A thread gives the replica one step after the other, each as soon as its first
// stage has nothing to do. Where there are stages, several steps are under way,
// each of other texts:
//
//   stage 0   a b a b a b
//   stage 1     a b a b a
//
// What fails ends alone. Texts of a step that failed run again in smaller and
// smaller steps, until it is known whose fault it was. Where what the ranks held
// is lost, or the session is, texts are computed again; those that were under way
// one by one first.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_REPLICASERVER_H
#define SHARDC_RUNTIME_SERVE_REPLICASERVER_H

#include "runtime/launch/SpentTimes.h"
#include "runtime/serve/Generation.h"
#include "runtime/serve/SessionKeeper.h"
#include "runtime/serve/SharedPrefix.h"
#include "runtime/serve/StepPace.h"
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
  /// Of a step with parts of prompts to one of the rows that decode alone; 0: as
  /// many tokens as there are (StepPace.h).
  double slowdown = 2;
  /// Tokens of the smallest step that runs beside others in other stages: each
  /// reads a stage's weights once more.
  int64_t part = 16;
  /// Of the model: what choose gets. Empty: the first that is no cache.
  std::string logits = {};
  /// Opens the session again once it is lost, on a thread of the server. Empty:
  /// Session::reopen(), which where ranks are processes is an error: there
  /// others have to take the place of those that are gone (session/Processes.h).
  /// `why` is the error of the run that found it.
  SessionKeeper::Reopen reopen = {};
};

struct ServerCounts {
  int64_t waiting = 0, running = 0; ///< texts
  int64_t pages = 0, freePages = 0; ///< free of texts that have ended, too
  int64_t made = 0;                 ///< new tokens
  int64_t steps = 0, tokens = 0;    ///< computed
  int64_t shared = 0;               ///< positions that another text had
  int64_t evicted = 0;              ///< texts that gave up their pages
  int64_t recovered = 0; ///< times that all texts were computed again
};

class ReplicaServer : private StepFeed {
public:
  static Status start(Session &session, SessionKeeper &keeper, int replica,
                      const ServerOptions &options,
                      std::unique_ptr<ReplicaServer> &server);
  /// Texts that are under way end with an error.
  ~ReplicaServer() override;

  /// One that has a prompt and fits. The error that ended the server.
  Status submit(std::shared_ptr<Generation> text);

  /// InvalidArgument where it is no text of the model, or larger than the pool.
  Status check(const TextRequest &text, int64_t &encoderKeys) const;
  /// Positions that its texts may take.
  int64_t load() const;
  size_t numWaiting() const;
  bool isGone() const; ///< takes no more texts
  ServerCounts counts() const;

private:
  using Text = std::shared_ptr<Generation>;
  /// A step under way.
  struct Flight {
    RowStep step;
    std::vector<Text> texts;
    std::vector<int64_t> counts; ///< tokens of each
    std::vector<TextInputs::Row> inputs;
    std::vector<Row> rows;
    std::vector<Tensor> outputs;
    int64_t tokens = 0;
    bool isTrial = false; ///< of suspects
    std::chrono::steady_clock::time_point since;
  };
  /// Texts one of which may be the reason for a failure: they run alone.
  struct Suspects {
    std::vector<Text> texts;
    bool hasLostAll = false; ///< all that the ranks held, with them
    /// It ran well, as far as is known; of one that has lost all every rank is
    /// asked.
    bool isTried = false;
  };

  ReplicaServer(Session &session, SessionKeeper &keeper, int replica,
                const ServerOptions &options)
      : session(session), keeper(keeper), replica(replica), options(options) {}
  Status open();

  // The server's thread (ReplicaServer.cpp).
  void serve();
  bool collect();
  Status runOn();
  Status runInside(uint64_t number);
  Status confirm();
  bool hasLostPool(const Flight &flight) const;
  Status recover(const Status &why);
  void forget();
  void end(std::vector<Text> &texts, const Status &with);

  // Which step comes next, with the mutex held (ReplicaPlans.cpp).
  void count();
  std::vector<Text> takeEnded();
  bool plan(StepPlan &step);
  bool planOnce(StepPlan &step);
  size_t mostAdmitted() const;
  StepLimits limits() const;
  bool makeRoom(const StepPlan &step, std::span<const SequenceLoad> loads,
                std::span<const SharedPrefix> prefixes);
  int64_t newPages(const StepPlan &step, std::span<const SequenceLoad> loads,
                   std::span<const SharedPrefix> prefixes) const;
  void dropRetained(const StepPlan &step,
                    std::span<const SharedPrefix> prefixes);
  void findSuspects();
  bool isSuspect(const Text &text) const;
  bool mayShare(const Generation &text) const;
  int64_t pagesFor(int64_t positions) const;
  SharedPrefix prefixOf(const Generation &text) const;
  SequenceLoad loadOf(const Text &text, const SharedPrefix &prefix) const;
  std::unique_ptr<Sequence> beginningOf(const SharedPrefix &prefix);

  // Steps under way (ReplicaSteps.cpp).
  const RowStep *next(bool waits) override;
  void done(const RowStep &step, const Status &status) override;
  void stop() override;
  bool isApart() const override;
  Flight &begin(const StepPlan &step);
  void land(std::list<Flight>::iterator flight);
  void fill(Flight &flight);
  void fail(Flight &flight, const Status &why, bool hasLostAll, bool isItsOwn);
  void acquit(const Flight &flight);
  Status take(Flight &flight);
  void takeToken(const Text &text, std::span<const float> logits);
  void finish(const Text &text, const Status &with);

  Session &session;
  SessionKeeper &keeper;
  const int replica;
  const ServerOptions options;
  std::unique_ptr<SequencePool> pool;
  bool isOfOneRow = false; ///< each step, with a whole prompt or one token
  TextInputs inputs;
  size_t logits = 0, numOutputs = 0, numStages = 1;
  std::string logitsName;
  std::vector<float> numbers; ///< of the row at hand

  mutable std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  std::vector<Text> running; ///< as they were admitted
  std::list<Text> waiting, submitted;
  std::list<Flight> flights, idle;
  std::list<Suspects> suspects;
  /// Of texts that have ended, the last one first, until pages are needed.
  struct Retained {
    std::vector<int64_t> tokens;
    std::unique_ptr<Sequence> sequence;
  };
  std::list<Retained> retained;
  StepPace pace;
  bool isOver = false; ///< the run at hand: no more steps
  size_t waits = 0;
  size_t turn = 0; ///< of those that run, where a step has one row
  int64_t loaded = 0;
  bool stops = false;
  Status gone; ///< why it takes no more texts
  ServerCounts counted;
  std::chrono::steady_clock::time_point
      activeSince; ///< where flights are under way
  SpentTimes::Share active;

  uint64_t sessionNumber = 0; ///< of the server's thread, as the next one
  Status renewal;             ///< of the pool
  bool sessionIsLost = false, poolIsLost = false; ///< after a run

  std::thread thread; ///< last
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_REPLICASERVER_H
