/* every MODEL DECODER SERVED TRACE: calls each function of shardrt.h, and ends
 * with 1 where one does not do what the header says. MODEL takes input_ids and
 * attention_mask; DECODER has caches, and position_ids; SERVED is the same,
 * compiled with --serve; TRACE is a file that it writes. */
#include <shardrt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int holds, const char *what, int line) {
  if (holds)
    return;
  fprintf(stderr, "line %d: %s: %s\n", line, what, shardrt_last_error());
  exit(1);
}
#define CHECK(holds) expect((holds) ? 1 : 0, #holds, __LINE__)
#define OK(call) CHECK((call) == SHARDRT_OK)

/*===--- Requests -------------------------------------------------------===*/

enum { TOKENS = 5 };
static const int64_t ids[] = {5, 7, 11, 3, 2}, ones[] = {1, 1, 1, 1, 1},
                     places[] = {0, 1, 2, 3, 4};

typedef struct {
  int64_t dims[2], seen[2];
  shardrt_tensor inputs[3];
} tokens_of;

/* The tokens from `begin` to `end` of one text. */
static void take(tokens_of *tokens, int begin, int end) {
  tokens->dims[0] = tokens->seen[0] = 1;
  tokens->dims[1] = end - begin;
  tokens->seen[1] = end;
  const shardrt_tensor inputs[] = {
      {"input_ids", SHARDRT_INT64, 2, tokens->dims, ids + begin},
      {"attention_mask", SHARDRT_INT64, 2, tokens->seen, ones},
      {"position_ids", SHARDRT_INT64, 2, tokens->dims, places + begin}};
  memcpy(tokens->inputs, inputs, sizeof inputs);
}

static size_t count_of(const shardrt_tensor *tensor) {
  size_t count = 1;
  for (int i = 0; i < tensor->rank; ++i)
    count *= (size_t)tensor->dims[i];
  return count;
}

/* The last `count` numbers of an output. */
static float *copied(const shardrt_tensor *tensor, size_t count) {
  float *values = malloc(count * sizeof *values);
  CHECK(values && tensor->type == SHARDRT_FLOAT32 && count_of(tensor) >= count);
  const float *all = tensor->data;
  memcpy(values, all + count_of(tensor) - count, count * sizeof *values);
  return values;
}

static int is_near(const float *a, const float *b, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!(fabsf(a[i] - b[i]) <= 1e-4f + 1e-3f * fabsf(b[i])))
      return 0;
  return 1;
}

/* Whether an output ends with these numbers. */
static int ends_with(const shardrt_tensor *tensor, const float *values,
                     size_t count) {
  float *found = copied(tensor, count);
  const int same = is_near(found, values, count);
  free(found);
  return same;
}

static int result_ends_with(const shardrt_result *result, const float *values,
                            size_t count) {
  shardrt_tensor tensor;
  OK(shardrt_result_output(result, 0, &tensor));
  return ends_with(&tensor, values, count);
}

static shardrt_session *open_of(const char *artifact) {
  shardrt_session *session = NULL;
  OK(shardrt_open(artifact, NULL, &session));
  return session;
}

/*===--- Processes, errors, devices -------------------------------------===*/

static void on_progress(int64_t loaded, int64_t all, void *context) {
  *(int *)context = loaded == all;
}

static void opens(const char *artifact) {
  int has_come = 0;
  shardrt_processes *processes = NULL;
  shardrt_join_options join = {.size = sizeof join, .timeout_seconds = 5};
  OK(shardrt_join(&join, &processes));
  CHECK(shardrt_rank(processes) == 0 && shardrt_num_ranks(processes) == 1);
  CHECK(shardrt_is_speaker(processes));
  shardrt_options options = {.size = sizeof options,
                             .timeout_seconds = 30,
                             .device = "host",
                             .processes = processes,
                             .on_progress = on_progress,
                             .progress_context = &has_come};
  shardrt_session *session = NULL;
  OK(shardrt_open(artifact, &options, &session));
  CHECK(has_come && !shardrt_is_lost(session));
  OK(shardrt_reopen(session));
  OK(shardrt_reopen_with(session, processes));
  CHECK(shardrt_follow(NULL) == SHARDRT_INVALID_ARGUMENT);
  CHECK(shardrt_worker_run(artifact, &options) == SHARDRT_INVALID_ARGUMENT);
  CHECK(shardrt_worker_run(NULL, &options) == SHARDRT_INVALID_ARGUMENT &&
        strstr(shardrt_last_error(), "shardrt_worker_run: artifact"));
  shardrt_close(session);
  CHECK(shardrt_conclude(processes, SHARDRT_CANCELLED, "enough") ==
        SHARDRT_CANCELLED);
  shardrt_leave(processes);
}

static void says_what_is_wrong(void) {
  shardrt_session *session = NULL;
  const shardrt_status status = shardrt_open("nowhere.shard", NULL, &session);
  CHECK(status != SHARDRT_OK && strstr(shardrt_last_error(), "nowhere"));
  shardrt_error_info error = {.size = sizeof error};
  OK(shardrt_last_error_info(&error));
  CHECK(error.code == (int)status && error.rank == -1);
  CHECK(!strcmp(error.message, shardrt_last_error()));
}

static void lists_devices(void) {
  shardrt_devices *devices = NULL;
  OK(shardrt_devices_create(&devices));
  int hosts = 0;
  for (size_t i = 0; i < shardrt_num_devices(devices); ++i) {
    shardrt_device_info device = {.size = sizeof device};
    OK(shardrt_device_at(devices, i, &device));
    hosts += !strcmp(device.backend, "host") && device.memory_bytes > 0;
  }
  CHECK(hosts > 0);
  shardrt_devices_destroy(devices);
}

/*===--- Requests of a model --------------------------------------------===*/

static void describes(const shardrt_session *session) {
  shardrt_session_info about = {.size = sizeof about};
  OK(shardrt_info(session, &about));
  CHECK(about.world_size == 2 && about.num_stages == 1 && about.page == 0);
  CHECK(shardrt_num_inputs(session) == 2 && shardrt_num_outputs(session) > 0);
  shardrt_value_info value = {.size = sizeof value};
  OK(shardrt_input_info(session, 0, &value));
  CHECK(!strcmp(value.name, shardrt_input_name(session, 0)));
  CHECK(strstr(shardrt_input_type(session, 0), "int64 ["));
  OK(shardrt_output_info(session, 0, &value));
  CHECK(!strcmp(value.name, shardrt_output_name(session, 0)));
  CHECK(value.type == SHARDRT_FLOAT32 && value.rank > 0);
  CHECK(strstr(shardrt_output_type(session, 0), "float32 ["));
}

/* Ends early, and in time. */
static void runs_with_options(shardrt_session *session,
                              const tokens_of *tokens) {
  shardrt_cancellation *cancellation = NULL;
  OK(shardrt_cancellation_create(&cancellation));
  shardrt_run_options options = {.size = sizeof options,
                                 .deadline_ms = 60000,
                                 .cancellation = cancellation};
  OK(shardrt_run_with(session, NULL, &options, tokens->inputs, 2));
  shardrt_cancel(cancellation);
  CHECK(shardrt_run_with(session, NULL, &options, tokens->inputs, 2) ==
        SHARDRT_CANCELLED);
  shardrt_cancellation_destroy(cancellation);
}

static void on_end(shardrt_status status, const char *message, void *context) {
  *(int *)context = status == SHARDRT_OK && !message ? 1 : 2;
}

static void submits(shardrt_session *session, const tokens_of *tokens,
                    shardrt_result *result) {
  int ended = 0;
  shardrt_request *request = NULL;
  OK(shardrt_submit(session, NULL, NULL, tokens->inputs, 2, result,
                    (shardrt_on_end){on_end, &ended}, &request));
  OK(shardrt_request_wait(request));
  CHECK(shardrt_request_is_done(request) && ended == 1);
  shardrt_request_cancel(request);
  shardrt_request_destroy(request);
}

/* Outputs go where the caller wants them, and an input is read there. */
static void binds(shardrt_session *session, const tokens_of *tokens,
                  shardrt_result *result, const float *expected, size_t count) {
  shardrt_tensor dense;
  OK(shardrt_result_output(result, 0, &dense));
  float *mine = calloc(count_of(&dense), sizeof *mine);
  int64_t every_other[2 * TOKENS] = {0};
  for (int i = 0; i < TOKENS; ++i)
    every_other[2 * i] = ids[i];
  const int64_t strides[] = {2 * TOKENS, 2};
  const shardrt_view input = {.name = "input_ids",
                              .type = SHARDRT_INT64,
                              .rank = 2,
                              .dims = tokens->dims,
                              .strides = strides,
                              .data = every_other};
  int64_t dims[8];
  CHECK(dense.rank <= 8);
  memcpy(dims, dense.dims, (size_t)dense.rank * sizeof *dims);
  const shardrt_view output = {.name = shardrt_output_name(session, 0),
                               .type = SHARDRT_FLOAT32,
                               .rank = dense.rank,
                               .dims = dims,
                               .data = mine};
  OK(shardrt_result_bind(result, &output));
  OK(shardrt_result_bind_input(result, &input));
  OK(shardrt_run_into(session, NULL, NULL, tokens->inputs + 1, 1, result));
  size_t all = 1;
  for (int i = 0; i < output.rank; ++i)
    all *= (size_t)dims[i];
  CHECK(is_near(mine + all - count, expected, count));
  OK(shardrt_result_unbind(result));
  free(mine);
}

static void runs(shardrt_session *session, const tokens_of *tokens) {
  shardrt_tensor output;
  OK(shardrt_run(session, tokens->inputs, 2));
  OK(shardrt_output(session, 0, &output));
  const size_t count = (size_t)output.dims[output.rank - 1];
  float *expected = copied(&output, count);
  runs_with_options(session, tokens);

  shardrt_result *results[2];
  for (int i = 0; i < 2; ++i)
    OK(shardrt_result_create(session, &results[i]));
  OK(shardrt_run_into(session, NULL, NULL, tokens->inputs, 2, results[0]));
  CHECK(result_ends_with(results[0], expected, count));
  const shardrt_batch_request batch[] = {{tokens->inputs, 2, results[0]},
                                         {tokens->inputs, 2, results[1]}};
  OK(shardrt_run_batch(session, NULL, batch, 2));
  CHECK(result_ends_with(results[1], expected, count));
  submits(session, tokens, results[0]);
  CHECK(result_ends_with(results[0], expected, count));
  binds(session, tokens, results[0], expected, count);
  for (int i = 0; i < 2; ++i)
    shardrt_result_destroy(results[i]);
  free(expected);
}

/*===--- What runs took -------------------------------------------------===*/

static void tells_what_ranks_did(const shardrt_statistics *all) {
  shardrt_launches launches = {.size = sizeof launches};
  OK(shardrt_statistics_launches(all, &launches));
  CHECK(launches.launched > 0);
  shardrt_rank_memory memory = {.size = sizeof memory};
  CHECK(shardrt_statistics_num_ranks(all) == 2);
  OK(shardrt_statistics_rank(all, 1, &memory));
  CHECK(memory.rank == 1 && memory.weight_bytes > 0);
  shardrt_collective collective = {.size = sizeof collective};
  CHECK(shardrt_statistics_num_collectives(all) > 0);
  OK(shardrt_statistics_collective(all, 0, &collective));
  CHECK(collective.group_size == 2 && collective.bytes > 0);
  shardrt_instruction instruction = {.size = sizeof instruction};
  CHECK(shardrt_statistics_num_instructions(all) > 0);
  OK(shardrt_statistics_instruction(all, 0, &instruction));
  CHECK(*instruction.kernel && instruction.runs > 0);
  shardrt_rank_needs needs = {.size = sizeof needs};
  CHECK(shardrt_statistics_num_needs(all) == 2);
  OK(shardrt_statistics_needs(all, 0, &needs));
  CHECK(strstr(needs.rank, "rank 0") && needs.is_host);
  shardrt_cache_memory cache = {.size = sizeof cache};
  CHECK(shardrt_statistics_num_caches(all) == 0);
  CHECK(shardrt_statistics_cache(all, 0, &cache) == SHARDRT_INVALID_ARGUMENT);
  CHECK(shardrt_statistics_num_notes(all, SHARDRT_PLACEMENT) > 0);
  CHECK(*shardrt_statistics_note(all, SHARDRT_PLACEMENT, 0));
}

static void measures(const char *artifact, const tokens_of *tokens,
                     const char *trace) {
  shardrt_options options = {.size = sizeof options, .measure = 1};
  shardrt_session *session = NULL;
  OK(shardrt_open(artifact, &options, &session));
  for (int i = 0; i < 2; ++i)
    OK(shardrt_run(session, tokens->inputs, 2));
  shardrt_statistics *statistics = NULL;
  OK(shardrt_statistics_create(session, &statistics));
  tells_what_ranks_did(statistics);
  shardrt_statistics_destroy(statistics);
  shardrt_spent spent = {.size = sizeof spent};
  CHECK(shardrt_num_spent(session) > 0);
  OK(shardrt_spent_at(session, 0, &spent));
  CHECK(*spent.kind && spent.seconds >= 0);
  shardrt_device_limits limits = {.size = sizeof limits};
  OK(shardrt_measure_limits(session, &limits));
  CHECK(limits.bytes_per_second > 0);
  OK(shardrt_write_trace(session, trace));
  shardrt_close(session);
}

/*===--- Texts ----------------------------------------------------------===*/

/* The logits of the last token, of a state that had the others before. */
static float *keeps_states(const char *artifact, size_t *count) {
  shardrt_session *session = open_of(artifact);
  tokens_of prompt, last;
  take(&prompt, 0, TOKENS - 1);
  take(&last, TOKENS - 1, TOKENS);
  shardrt_state *state = NULL, *copy = NULL;
  OK(shardrt_state_create_on(session, 64, 0, &state));
  shardrt_state_destroy(state);
  OK(shardrt_state_create(session, 64, &state));
  OK(shardrt_run_state(session, state, prompt.inputs, 3));
  OK(shardrt_state_fork(state, &copy));
  shardrt_tensor logits;
  OK(shardrt_run_state(session, state, last.inputs, 3));
  OK(shardrt_output(session, 0, &logits));
  *count = (size_t)logits.dims[logits.rank - 1];
  float *expected = copied(&logits, *count);
  OK(shardrt_run_state(session, copy, last.inputs, 3));
  OK(shardrt_output(session, 0, &logits));
  CHECK(ends_with(&logits, expected, *count));
  CHECK(shardrt_state_length(copy) == TOKENS);
  CHECK(shardrt_state_capacity(copy) >= 64);
  OK(shardrt_state_check(copy));
  int32_t rank = -1;
  int64_t committed = 0, reserved = 0;
  CHECK(shardrt_state_num_ranks(state) == 2);
  OK(shardrt_state_memory(state, 1, &rank, &committed, &reserved));
  CHECK(rank == 1 && committed > 0 && reserved >= committed);
  shardrt_state_reset(copy);
  CHECK(shardrt_state_length(copy) == 0);
  shardrt_state_destroy(copy);
  shardrt_state_destroy(state);
  shardrt_close(session);
  return expected;
}

/* Each way of a step, of a fork each of what has all tokens but the last. */
static void steps(shardrt_session *session, shardrt_pool *pool,
                  const shardrt_sequence *before, const float *expected,
                  size_t count) {
  enum { WAYS = 6 };
  tokens_of last;
  take(&last, TOKENS - 1, TOKENS);
  shardrt_sequence *forks[WAYS];
  shardrt_row rows[WAYS];
  for (int i = 0; i < WAYS; ++i) {
    OK(shardrt_sequence_fork(before, &forks[i]));
    rows[i] = (shardrt_row){forks[i], last.inputs, 3, SHARDRT_LAST};
  }
  shardrt_tensor logits;
  OK(shardrt_step(pool, &rows[0], 1));
  OK(shardrt_output(session, 0, &logits));
  CHECK(ends_with(&logits, expected, count));
  shardrt_run_options options = {.size = sizeof options, .deadline_ms = 60000};
  OK(shardrt_step_with(pool, &options, &rows[1], 1));
  OK(shardrt_output(session, 0, &logits));
  CHECK(ends_with(&logits, expected, count));

  shardrt_result *result = NULL;
  OK(shardrt_result_create(session, &result));
  OK(shardrt_step_into(pool, &rows[2], 1, result));
  CHECK(result_ends_with(result, expected, count));
  OK(shardrt_step_into_with(pool, &options, &rows[3], 1, result));
  CHECK(result_ends_with(result, expected, count));
  const shardrt_batch_step batch = {&rows[4], 1, result};
  OK(shardrt_step_batch(pool, &options, &batch, 1));
  CHECK(result_ends_with(result, expected, count));
  shardrt_request *request = NULL;
  OK(shardrt_submit_step(pool, NULL, &rows[5], 1, result,
                         (shardrt_on_end){NULL, NULL}, &request));
  OK(shardrt_request_wait(request));
  shardrt_request_destroy(request);
  CHECK(result_ends_with(result, expected, count));
  for (int i = 0; i < WAYS; ++i)
    shardrt_sequence_destroy(forks[i]);
  shardrt_result_destroy(result);
}

static void pools(shardrt_session *session, const float *expected,
                  size_t count) {
  shardrt_pool *pool = NULL, *other = NULL;
  OK(shardrt_pool_create(session, 1024, &pool));
  OK(shardrt_pool_create_on(session, 16, 0, &other));
  CHECK(shardrt_pool_page(pool) > 0);
  CHECK(shardrt_pool_pages(pool) * shardrt_pool_page(pool) >= 1024);
  shardrt_pool_destroy(other);

  tokens_of prompt;
  take(&prompt, 0, TOKENS - 1);
  shardrt_sequence *sequence = NULL;
  OK(shardrt_sequence_create(pool, &sequence));
  const shardrt_row row = {sequence, prompt.inputs, 3, SHARDRT_LAST};
  OK(shardrt_step(pool, &row, 1));
  CHECK(shardrt_sequence_length(sequence) == TOKENS - 1);
  CHECK(shardrt_pool_free_pages(pool) < shardrt_pool_pages(pool));
  steps(session, pool, sequence, expected, count);
  OK(shardrt_sequence_truncate(sequence, 1));
  CHECK(shardrt_sequence_length(sequence) == 1);
  shardrt_sequence_destroy(sequence);
  CHECK(!shardrt_pool_is_lost(pool));
  OK(shardrt_reopen(session));
  CHECK(shardrt_pool_is_lost(pool));
  OK(shardrt_pool_renew(pool));
  CHECK(shardrt_pool_free_pages(pool) == shardrt_pool_pages(pool));
  shardrt_pool_destroy(pool);
}

static int64_t likeliest(const float *logits, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i)
    if (logits[i] > logits[best])
      best = i;
  return (int64_t)best;
}

static int64_t choose(const float *logits, size_t count, void *context) {
  (void)context;
  return likeliest(logits, count);
}

static void on_token(int64_t token, void *context) {
  *(int64_t *)context = token;
}

static void serves(shardrt_session *session, int64_t expected) {
  shardrt_server *server = NULL;
  shardrt_server_options options = {.size = sizeof options, .positions = 256};
  OK(shardrt_server_create(session, &options, &server));
  shardrt_text *text = NULL, *other = NULL;
  int64_t told = -1, tokens[8] = {-1};
  shardrt_text_request request = {.size = sizeof request,
                                  .prompt = ids,
                                  .num_prompt = TOKENS,
                                  .max_tokens = 1,
                                  .choose = choose,
                                  .on_token = on_token,
                                  .context = &told};
  OK(shardrt_server_submit(server, &request, &text));
  OK(shardrt_text_wait(text));
  CHECK(shardrt_text_is_done(text));
  CHECK(shardrt_text_tokens(text, tokens, 8) == 1);
  CHECK(tokens[0] == expected && told == expected);
  shardrt_text_destroy(text);
  request.max_tokens = 100;
  request.on_token = NULL;
  OK(shardrt_server_submit(server, &request, &other));
  shardrt_text_cancel(other);
  OK(shardrt_text_wait(other));
  shardrt_text_destroy(other);
  shardrt_counts counts = {.size = sizeof counts};
  OK(shardrt_server_counts(server, &counts));
  CHECK(counts.steps > 0 && counts.made >= 1 && counts.pages > 0);
  shardrt_server_destroy(server);
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  says_what_is_wrong();
  lists_devices();
  opens(argv[1]);
  tokens_of tokens;
  take(&tokens, 0, TOKENS);
  shardrt_session *session = open_of(argv[1]);
  describes(session);
  runs(session, &tokens);
  shardrt_close(session);
  measures(argv[1], &tokens, argv[4]);

  size_t count = 0;
  float *logits = keeps_states(argv[2], &count);
  session = open_of(argv[3]);
  pools(session, logits, count);
  serves(session, likeliest(logits, count));
  shardrt_close(session);
  free(logits);
  printf("%s: all is as it was\n", shardrt_version());
  return 0;
}
