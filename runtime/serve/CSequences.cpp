//===- CSequences.cpp - Rows of any sequences, from C ---------------------===//

#include "runtime/api/CSession.h"
#include "runtime/serve/Sequences.h"

using namespace shardc::runtime;

struct shardrt_pool {
  shardrt_session *session;
  std::unique_ptr<SequencePool> pool;
  std::vector<std::vector<InputTensor>> inputs; ///< of a step, by row
  std::vector<Row> rows;
};

struct shardrt_sequence {
  std::unique_ptr<Sequence> sequence;
};

namespace {

Status createPool(shardrt_session *session, int64_t positions, int replica,
                  shardrt_pool **into) {
  if (!session || !into)
    return argumentError("shardrt_pool_create: arguments must not be NULL");
  auto created = std::make_unique<shardrt_pool>();
  created->session = session;
  SHARDC_RETURN_IF_ERROR(SequencePool::create(*session->session, positions,
                                              created->pool, replica));
  *into = created.release();
  return Status::ok();
}

Status giveSequence(std::unique_ptr<Sequence> sequence,
                    shardrt_sequence **into) {
  *into = new shardrt_sequence{std::move(sequence)};
  return Status::ok();
}

Status readRow(const shardrt_row &row, size_t number,
               std::vector<InputTensor> &inputs, Row &read) {
  if (!row.sequence)
    return argumentError("shardrt_step: row ", number, " has no sequence");
  if (row.wanted < SHARDRT_LAST || row.wanted > SHARDRT_NONE)
    return argumentError("shardrt_step: row ", number, " has wanted ",
                         row.wanted, ", which is no shardrt_wanted");
  inputs.clear();
  SHARDC_RETURN_IF_ERROR(
      readTensors("shardrt_step", row.inputs, row.num_inputs, inputs));
  constexpr Wanted kWanted[] = {Wanted::Last, Wanted::All, Wanted::None};
  read = {row.sequence->sequence.get(), inputs, kWanted[row.wanted]};
  return Status::ok();
}

Status checkRows(const shardrt_pool *pool, const shardrt_row *rows,
                 size_t numRows) {
  return pool && (numRows == 0 || rows)
             ? Status::ok()
             : argumentError("shardrt_step: pool and rows must not be NULL");
}

Status readRows(shardrt_pool *pool, const shardrt_row *rows, size_t numRows) {
  SHARDC_RETURN_IF_ERROR(checkRows(pool, rows, numRows));
  pool->rows.clear();
  if (pool->inputs.size() < numRows)
    pool->inputs.resize(numRows);
  for (size_t i = 0; i < numRows; ++i)
    SHARDC_RETURN_IF_ERROR(
        readRow(rows[i], i, pool->inputs[i], pool->rows.emplace_back()));
  return Status::ok();
}

/// Of a step that comes later.
struct HeldRows {
  std::deque<HeldInputs> inputs;
  std::vector<Row> rows;
};

Status holdRows(const shardrt_pool *pool, const shardrt_row *rows,
                size_t numRows, HeldRows &held) {
  SHARDC_RETURN_IF_ERROR(checkRows(pool, rows, numRows));
  std::vector<InputTensor> inputs;
  for (size_t i = 0; i < numRows; ++i) {
    Row row;
    SHARDC_RETURN_IF_ERROR(readRow(rows[i], i, inputs, row));
    row.inputs = held.inputs.emplace_back(inputs).tensors;
    held.rows.push_back(row);
  }
  return Status::ok();
}

Status step(shardrt_pool *pool, const shardrt_run_options *given,
            const shardrt_row *rows, size_t numRows) {
  SHARDC_RETURN_IF_ERROR(readRows(pool, rows, numRows));
  pool->session->beginRun(shardrt_session::Keeper::Pool);
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions("shardrt_step_with", given, options));
  SHARDC_RETURN_IF_ERROR(
      pool->pool->step(pool->rows, pool->session->outputs, options));
  pool->session->hasRun = true;
  return Status::ok();
}

/// A result that is taken is ready for a step's outputs.
Status beginRows(const char *function, const shardrt_pool &pool,
                 shardrt_result &result) {
  if (Status status = result.beginRun(*pool.session, /*keepsCaches=*/true);
      !status.isOk())
    return status.saying(message(function, ": ", status.message()));
  if (!result.boundInputs.empty())
    return argumentError(function, ": inputs are bound, but rows have theirs");
  return Status::ok();
}

/// Into a result that is taken.
Status runRows(const char *function, shardrt_pool &pool,
               std::span<const Row> rows, const RunOptions &options,
               shardrt_result &result) {
  SHARDC_RETURN_IF_ERROR(beginRows(function, pool, result));
  SHARDC_RETURN_IF_ERROR(pool.pool->step(rows, result.outputs, options));
  result.endRun();
  return Status::ok();
}

Status stepInto(shardrt_pool *pool, const shardrt_run_options *given,
                const shardrt_row *rows, size_t numRows,
                shardrt_result *result) {
  if (!result)
    return argumentError("shardrt_step_into: result must not be NULL");
  SHARDC_RETURN_IF_ERROR(readRows(pool, rows, numRows));
  const TakenResult taken(*result);
  SHARDC_RETURN_IF_ERROR(taken.check("shardrt_step_into"));
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(
      readRunOptions("shardrt_step_into_with", given, options));
  return runRows("shardrt_step_into", *pool, pool->rows, options, *result);
}

Status stepBatch(shardrt_pool *pool, const shardrt_run_options *given,
                 const shardrt_batch_step *steps, size_t count) {
  constexpr const char *kFunction = "shardrt_step_batch";
  if (!pool || (count > 0 && !steps))
    return argumentError(kFunction, ": pool and steps must not be NULL");
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions(kFunction, given, options));
  std::deque<TakenResult> taken;
  std::deque<HeldRows> held;
  std::vector<RowStep> together;
  for (const shardrt_batch_step &each : std::span(steps, count)) {
    if (!each.result)
      return argumentError(kFunction, ": step ", together.size(),
                           " has no result");
    SHARDC_RETURN_IF_ERROR(taken.emplace_back(*each.result).check(kFunction));
    HeldRows &own = held.emplace_back();
    SHARDC_RETURN_IF_ERROR(holdRows(pool, each.rows, each.num_rows, own));
    SHARDC_RETURN_IF_ERROR(beginRows(kFunction, *pool, *each.result));
    together.push_back({own.rows, each.result->outputs});
  }
  if (count > 0)
    SHARDC_RETURN_IF_ERROR(pool->pool->run(together, options));
  for (const shardrt_batch_step &each : std::span(steps, count))
    each.result->endRun();
  return Status::ok();
}

Status submitStep(shardrt_pool *pool, const shardrt_run_options *given,
                  const shardrt_row *rows, size_t numRows,
                  shardrt_result *result, const shardrt_on_end &onEnd,
                  shardrt_request **request) {
  constexpr const char *kFunction = "shardrt_submit_step";
  if (!result)
    return argumentError(kFunction, ": result must not be NULL");
  auto held = std::make_shared<HeldRows>();
  SHARDC_RETURN_IF_ERROR(holdRows(pool, rows, numRows, *held));
  return submitRequest(
      kFunction, *pool->session, pool, given, result,
      [pool, held, result](const RunOptions &options) {
        return runRows(kFunction, *pool, held->rows, options, *result);
      },
      onEnd, request);
}

} // namespace

shardrt_status shardrt_pool_create(shardrt_session *session, int64_t positions,
                                   shardrt_pool **pool) {
  return guarded([&] { return createPool(session, positions, -1, pool); });
}

shardrt_status shardrt_pool_create_on(shardrt_session *session,
                                      int64_t positions, int32_t replica,
                                      shardrt_pool **pool) {
  return guarded([&] {
    SHARDC_RETURN_IF_ERROR(checkReplica("shardrt_pool_create_on", replica));
    return createPool(session, positions, replica, pool);
  });
}

void shardrt_pool_destroy(shardrt_pool *pool) { delete pool; }

int64_t shardrt_pool_page(const shardrt_pool *pool) {
  return pool ? pool->pool->page() : 0;
}

int64_t shardrt_pool_pages(const shardrt_pool *pool) {
  return pool ? pool->pool->numPages() : 0;
}

int64_t shardrt_pool_free_pages(const shardrt_pool *pool) {
  return pool ? pool->pool->numFreePages() : 0;
}

shardrt_status shardrt_sequence_create(shardrt_pool *pool,
                                       shardrt_sequence **sequence) {
  return guarded([&] {
    return pool && sequence
               ? giveSequence(pool->pool->add(), sequence)
               : argumentError(
                     "shardrt_sequence_create: arguments must not be NULL");
  });
}

shardrt_status shardrt_sequence_fork(const shardrt_sequence *sequence,
                                     shardrt_sequence **copy) {
  return guarded([&] {
    return sequence && copy
               ? giveSequence(sequence->sequence->fork(), copy)
               : argumentError(
                     "shardrt_sequence_fork: arguments must not be NULL");
  });
}

shardrt_status shardrt_sequence_truncate(shardrt_sequence *sequence,
                                         int64_t length) {
  return guarded([&] {
    return sequence
               ? sequence->sequence->truncate(length)
               : argumentError(
                     "shardrt_sequence_truncate: sequence must not be NULL");
  });
}

int64_t shardrt_sequence_length(const shardrt_sequence *sequence) {
  return sequence ? sequence->sequence->length() : 0;
}

void shardrt_sequence_destroy(shardrt_sequence *sequence) { delete sequence; }

shardrt_status shardrt_step(shardrt_pool *pool, const shardrt_row *rows,
                            size_t numRows) {
  return guarded([&] { return step(pool, nullptr, rows, numRows); });
}

shardrt_status shardrt_step_with(shardrt_pool *pool,
                                 const shardrt_run_options *options,
                                 const shardrt_row *rows, size_t numRows) {
  return guarded([&] { return step(pool, options, rows, numRows); });
}

int shardrt_pool_is_lost(const shardrt_pool *pool) {
  return pool && pool->pool->isLost() ? 1 : 0;
}

shardrt_status shardrt_pool_renew(shardrt_pool *pool) {
  return guarded([&] {
    return pool ? pool->pool->renew()
                : argumentError("shardrt_pool_renew: pool must not be NULL");
  });
}

shardrt_status shardrt_step_into(shardrt_pool *pool, const shardrt_row *rows,
                                 size_t numRows, shardrt_result *result) {
  return guarded(
      [&] { return stepInto(pool, nullptr, rows, numRows, result); });
}

shardrt_status shardrt_step_into_with(shardrt_pool *pool,
                                      const shardrt_run_options *options,
                                      const shardrt_row *rows, size_t numRows,
                                      shardrt_result *result) {
  return guarded(
      [&] { return stepInto(pool, options, rows, numRows, result); });
}

shardrt_status shardrt_submit_step(shardrt_pool *pool,
                                   const shardrt_run_options *options,
                                   const shardrt_row *rows, size_t numRows,
                                   shardrt_result *result, shardrt_on_end onEnd,
                                   shardrt_request **request) {
  return guarded([&] {
    return submitStep(pool, options, rows, numRows, result, onEnd, request);
  });
}

shardrt_status shardrt_step_batch(shardrt_pool *pool,
                                  const shardrt_run_options *options,
                                  const shardrt_batch_step *steps,
                                  size_t numSteps) {
  return guarded([&] { return stepBatch(pool, options, steps, numSteps); });
}
