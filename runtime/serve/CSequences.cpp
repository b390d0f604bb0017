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

Status readRow(shardrt_pool &pool, const shardrt_row &row) {
  const size_t number = pool.rows.size();
  if (!row.sequence)
    return argumentError("shardrt_step: row ", number, " has no sequence");
  if (row.wanted < SHARDRT_LAST || row.wanted > SHARDRT_NONE)
    return argumentError("shardrt_step: row ", number, " has wanted ",
                         row.wanted, ", which is no shardrt_wanted");
  std::vector<InputTensor> &inputs = pool.inputs[number];
  inputs.clear();
  SHARDC_RETURN_IF_ERROR(
      readTensors("shardrt_step", row.inputs, row.num_inputs, inputs));
  constexpr Wanted kWanted[] = {Wanted::Last, Wanted::All, Wanted::None};
  pool.rows.push_back(
      {row.sequence->sequence.get(), inputs, kWanted[row.wanted]});
  return Status::ok();
}

Status readRows(shardrt_pool *pool, const shardrt_row *rows, size_t numRows) {
  if (!pool || (numRows > 0 && !rows))
    return argumentError("shardrt_step: pool and rows must not be NULL");
  pool->rows.clear();
  if (pool->inputs.size() < numRows)
    pool->inputs.resize(numRows);
  for (size_t i = 0; i < numRows; ++i)
    SHARDC_RETURN_IF_ERROR(readRow(*pool, rows[i]));
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

Status stepInto(shardrt_pool *pool, const shardrt_run_options *given,
                const shardrt_row *rows, size_t numRows,
                shardrt_result *result) {
  if (!result)
    return argumentError("shardrt_step_into: result must not be NULL");
  SHARDC_RETURN_IF_ERROR(readRows(pool, rows, numRows));
  result->beginRun(*pool->session->session, /*keepsCaches=*/true);
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(
      readRunOptions("shardrt_step_into_with", given, options));
  SHARDC_RETURN_IF_ERROR(
      pool->pool->step(pool->rows, result->outputs, options));
  result->hasRun = true;
  return Status::ok();
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
    return replica >= 0 ? createPool(session, positions, replica, pool)
                        : argumentError("shardrt_pool_create_on: there is no "
                                        "replica ",
                                        replica);
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
