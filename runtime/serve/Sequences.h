//===- Sequences.h - Rows of any sequences, in one step -------------------===//
//
// A model that was compiled with --serve keeps keys and values of all sequences
// in one pool of pages on each rank. A step takes rows of any of them, prompts
// and single tokens beside each other:
//
//   std::unique_ptr<SequencePool> pool;
//   SHARDC_RETURN_IF_ERROR(SequencePool::create(*session, 64 * 1024, pool));
//   std::unique_ptr<Sequence> a = pool->add(), b = pool->add();
//   Row rows[] = {{a.get(), prompt}, {b.get(), token}};
//   std::vector<Tensor> outputs(session->outputs().size());
//   SHARDC_RETURN_IF_ERROR(pool->step(rows, outputs));
//
// The inputs of a row are those of a request of it alone, without past. What a
// row computes does not depend on which others share the step. What an encoder
// gave for a sequence comes with its first step and stays in pages, too; later
// steps leave it out, or replace it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_SEQUENCES_H
#define SHARDC_RUNTIME_SERVE_SEQUENCES_H

#include "runtime/api/shardrt.hpp"
#include "runtime/serve/Reservation.h"
#include "runtime/serve/StepInputs.h"

#include <list>

namespace shardc::runtime {

/// Positions of one text. Takes a page when the last one is full, and gives all
/// back when it goes. Used by one step at a time; others may ask it meanwhile, and
/// fork what it had before.
class Sequence {
public:
  ~Sequence();
  Sequence(const Sequence &) = delete;
  Sequence &operator=(const Sequence &) = delete;

  int64_t length() const;
  /// Keys of cross-attention, which stay when positions are cut; 0 where none
  /// were given yet, or the model has none.
  int64_t encoderLength() const;
  /// Forgets all positions from `length` on. InvalidArgument if it has not so
  /// many.
  Status truncate(int64_t length);
  /// Another one with the same positions. It takes no memory: pages are theirs
  /// together, until one of them writes into the last.
  std::unique_ptr<Sequence> fork() const;
  int64_t numPages() const; ///< the encoder's, too

private:
  friend class SequencePool;
  Sequence(std::shared_ptr<SharedPages> shared, int64_t ofPage);

  const std::shared_ptr<SharedPages> shared; ///< with the lock of what follows
  const int64_t ofPage;                      ///< positions
  int64_t positions = 0, encoderKeys = 0;
  std::vector<int64_t> pages, encoderPages;
  bool isRunning = false; ///< a row of a step
};

/// Which outputs of a row are computed: of its last position, of all, of none.
enum class Wanted { Last, All, None };

struct Row {
  Sequence *sequence = nullptr;
  std::span<const InputTensor> inputs;
  Wanted wanted = Wanted::Last;
};

/// Rows that are computed together, each of another sequence.
struct RowStep {
  std::span<const Row> rows;
  /// One tensor for each output of the model; those that are no caches get what
  /// is wanted, row after row: logits [1, wanted, words].
  std::span<Tensor> outputs;
};

/// Steps that come one after the other while others run. Called by one thread at
/// a time for each function.
class StepFeed {
public:
  virtual ~StepFeed() = default;
  /// The next one, which stays until it is done; null: none comes any more, or
  /// none is there yet where nobody `waits`. Waits until stop() at most.
  virtual const RowStep *next(bool waits) = 0;
  /// Its outputs are there; or why it did not run, which is its error alone.
  virtual void done(const RowStep &step, const Status &status) = 0;
  /// What is not done has failed, and run() returns why. From any thread.
  virtual void stop() = 0;
  /// Whether other replicas are to run nothing together with it.
  virtual bool isApart() const { return false; }
};

class SequencePool {
public:
  /// With room for so many positions, of whole pages, on one replica: that one,
  /// or each in turn. The session lives longer. InvalidArgument where its model
  /// was not compiled for that.
  static Status create(Session &session, int64_t positions,
                       std::unique_ptr<SequencePool> &pool, int replica = -1);

  std::unique_ptr<Sequence> add();
  /// Runs the rows of all steps, which then have their positions; where there
  /// are stages, one step behind the other. InvalidArgument: a row does not fit
  /// the model, or there are too few pages. After an error the sequences are as
  /// before, unless the pool isLost().
  Status run(std::span<const RowStep> steps, const RunOptions &options = {});
  Status step(std::span<const Row> rows, std::span<Tensor> outputs,
              const RunOptions &options = {}) {
    const RowStep one{rows, outputs};
    return run({&one, 1}, options);
  }
  /// The same of steps as they come, each as soon as the first stage has nothing
  /// to do. After an error sequences of steps that are not done are as before.
  Status run(StepFeed &steps, const RunOptions &options = {});

  /// Why what its sequences held is gone: the session was opened again, or a step
  /// failed on some ranks after others had called it done. All steps are errors
  /// until it is renewed. From any thread.
  Status lost() const;
  bool isLost() const { return !lost().isOk(); }
  /// Whether it was a rank of another replica that failed.
  bool isLostByOthers() const;
  /// Empties all of its sequences, whose texts have to be computed again.
  Status renew();

  int64_t page() const { return ofPage; } ///< positions
  /// Whether a step has one row: the model makes one value of all positions of a
  /// request, which therefore come whole.
  bool isOfOneRow() const { return form.isOfOneRow(); }
  int64_t numPages() const { return pages; }
  int64_t numFreePages() const;

private:
  class Steps;
  class Turn;
  /// A step that runs.
  struct Running {
    const RowStep *step = nullptr;
    std::unique_ptr<Reservation> reservation;
    StepInputs inputs;
    std::vector<StepRow> rows;
    Request request = {};
  };

  SequencePool(Session &session, int64_t ofPage, int64_t pages, int replica)
      : session(session), ofPage(ofPage), pages(pages), replica(replica) {}
  Running &begin(const RowStep &step);
  Status fill(Running &of);
  void end(Running &of, bool isDone);
  Status reserve(Running &of);
  Status reserveEncoder(Running &of, size_t row, const Sequence &sequence,
                        int64_t given, StepRow &made);
  Status noRoom(size_t row, int64_t count) const;
  Running &first();

  Session &session;
  const int64_t ofPage;
  const int64_t pages; ///< of the pool, renewed or not
  const int replica;
  mutable std::mutex renewal; ///< of the pointer, while runs do not use it
  std::unique_ptr<State> state;
  std::shared_ptr<SharedPages> shared;

  std::mutex mutex;              ///< held during a run
  StepInputs form;               ///< of any step
  std::vector<Request> requests; ///< of several steps at a time
  std::mutex flow;               ///< of what follows
  std::list<Running> running, idle;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_SEQUENCES_H
