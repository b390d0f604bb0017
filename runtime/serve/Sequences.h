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
// row computes does not depend on which others share the step.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_SEQUENCES_H
#define SHARDC_RUNTIME_SERVE_SEQUENCES_H

#include "runtime/api/shardrt.hpp"
#include "runtime/serve/Reservation.h"
#include "runtime/serve/StepInputs.h"

namespace shardc::runtime {

/// Positions of one text. Takes a page when the last one is full, and gives all
/// back when it goes. Used by one step at a time.
class Sequence {
public:
  ~Sequence();
  Sequence(const Sequence &) = delete;
  Sequence &operator=(const Sequence &) = delete;

  int64_t length() const { return positions; }
  /// Forgets all positions from `length` on. InvalidArgument if it has not so
  /// many.
  Status truncate(int64_t length);
  /// Another one with the same positions. It takes no memory: pages are theirs
  /// together, until one of them writes into the last.
  std::unique_ptr<Sequence> fork() const;
  int64_t numPages() const { return static_cast<int64_t>(pages.size()); }

private:
  friend class SequencePool;
  explicit Sequence(std::shared_ptr<SharedPages> shared, int64_t ofPage)
      : shared(std::move(shared)), ofPage(ofPage) {}

  std::shared_ptr<SharedPages> shared;
  int64_t ofPage; ///< positions
  int64_t positions = 0;
  std::vector<int64_t> pages;
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

class SequencePool {
public:
  /// With room for so many positions, of whole pages, on one replica. The
  /// session lives longer. InvalidArgument where its model was not compiled for
  /// that.
  static Status create(Session &session, int64_t positions,
                       std::unique_ptr<SequencePool> &pool);

  std::unique_ptr<Sequence> add();
  /// Runs the rows of all steps, which then have their positions; where there
  /// are stages, one step behind the other. InvalidArgument: a row does not fit
  /// the model, or there are too few pages. After an error the sequences are as
  /// before.
  Status run(std::span<const RowStep> steps);
  Status step(std::span<const Row> rows, std::span<Tensor> outputs) {
    const RowStep one{rows, outputs};
    return run({&one, 1});
  }

  int64_t page() const { return ofPage; } ///< positions
  int64_t numPages() const;
  int64_t numFreePages() const;

private:
  SequencePool(Session &session, int64_t ofPage)
      : session(session), ofPage(ofPage) {}
  Status checkDistinct(std::span<const RowStep> steps);
  Status reserve(const RowStep &step, std::vector<StepRow> &stepRows);
  Status fill(std::span<const RowStep> steps);
  void advance(std::span<const RowStep> steps);

  Session &session;
  const int64_t ofPage;
  std::unique_ptr<State> state;
  std::shared_ptr<SharedPages> shared;

  std::mutex mutex; ///< held during a run; what follows is of the one at hand
  std::unique_ptr<Reservation> reservation;
  StepInputs form;                ///< of any step
  std::vector<StepInputs> inputs; ///< by step
  std::vector<std::vector<StepRow>> stepRows;
  std::vector<Request> requests;
  std::vector<std::pair<const Sequence *, size_t>> sequences;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_SEQUENCES_H
