/*===- shardrt.h - Running a compiled model from C -------------------------===
 *
 *   shardrt_session *session = NULL;
 *   if (shardrt_open("model.shard", NULL, &session) != SHARDRT_OK)
 *     die(shardrt_last_error());
 *   int64_t dims[] = {1, 8}, ids[8] = {...};
 *   shardrt_tensor input = {"input_ids", SHARDRT_INT64, 2, dims, ids};
 *   if (shardrt_run(session, &input, 1) != SHARDRT_OK)
 *     die(shardrt_last_error());
 *   shardrt_tensor logits;
 *   shardrt_output(session, 0, &logits);
 *   shardrt_close(session);
 *
 * The ABI is stable: functions and enums only grow, options grow at their end
 * and carry their size, and shardrt_tensor stays as it is. A session may be
 * used by one thread at a time, since outputs stay inside of it, and by the
 * process that has opened it: not by one that was forked from it. Strings are
 * UTF-8 and end with 0.
 *
 * Trust. An artifact holds native code, which runs with the rights of the
 * process (`no_kernels` leaves it out). Its checksums find damage, not malice:
 * open only what comes from somebody you would run a program of.
 *
 * Memory. What is handed to a call may be freed once it has returned, also after
 * an error. A kernel that hangs does not hang its caller, but for large inputs
 * (64 KiB and more), which it reads where they are.
 *
 * Files. Weights are read where the model's files are, as long as the session
 * is open. Where one of them is written to or truncated in the meantime, runs end
 * with an error: shardrt_open installs a handler for SIGBUS, which leaves addresses
 * elsewhere to the one before. SHARDC_FILE_GUARD=0 in the environment leaves it out.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SHARDRT_H
#define SHARDRT_H

#include <stddef.h>
#include <stdint.h>

/* Of this header; shardrt_version() is that of the library. */
#define SHARDRT_VERSION_MAJOR 0
#define SHARDRT_VERSION_MINOR 1
#define SHARDRT_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  SHARDRT_OK = 0,
  SHARDRT_MISMATCH = 1,         /* outputs differ from the expected ones */
  SHARDRT_INVALID_ARGUMENT = 2, /* arguments or inputs, guards, indices */
  SHARDRT_MODEL = 3,            /* not returned by the runtime */
  SHARDRT_ARTIFACT = 4,         /* artifact, weights, run time */
  SHARDRT_CANCELLED = 6,        /* by shardrt_cancel */
  SHARDRT_DEADLINE = 7          /* the run was not done in time */
} shardrt_status;

typedef enum {
  SHARDRT_BOOL = 0, /* one byte: 0 or 1 */
  SHARDRT_INT8,
  SHARDRT_UINT8,
  SHARDRT_INT16,
  SHARDRT_UINT16,
  SHARDRT_INT32,
  SHARDRT_UINT32,
  SHARDRT_INT64,
  SHARDRT_UINT64,
  SHARDRT_FLOAT16,
  SHARDRT_BFLOAT16,
  SHARDRT_FLOAT32,
  SHARDRT_FLOAT64,
  SHARDRT_INT4, /* weights only: no input or output has 4 bits */
  SHARDRT_UINT4,
  SHARDRT_FLOAT8E4M3FN,
  SHARDRT_FLOAT8E4M3FNUZ,
  SHARDRT_FLOAT8E5M2,
  SHARDRT_FLOAT8E5M2FNUZ,
  SHARDRT_FLOAT8E8M0,
  SHARDRT_INT2, /* weights only, as those of 4 bits */
  SHARDRT_UINT2
} shardrt_type;

/* A dense row-major tensor in memory of somebody else. */
typedef struct {
  const char *name;
  int32_t type; /* shardrt_type */
  int32_t rank;
  const int64_t *dims; /* `rank` of them */
  const void *data;    /* aligned to the element */
} shardrt_tensor;

/* Processes each of which is a rank: see shardrt_join. */
typedef struct shardrt_processes shardrt_processes;

typedef struct {
  size_t size;              /* sizeof(shardrt_options): what lies behind it,
                               in a later version, has its default */
  const char *weights_root; /* NULL: as the artifact says */
  double timeout_seconds;   /* 0: SHARDC_TIMEOUT, or 60 */
  int32_t check_replicas;
  int32_t unused;       /* not read */
  int32_t no_kernels;   /* not 0: run no native code of the artifact */
  int32_t threads;      /* of each rank's kernels on the host; 0:
                         SHARDC_THREADS, or an equal share of the cores */
  const char *device;   /* where ranks run: "host", "cuda", "cuda:0"; NULL:
                         SHARDC_DEVICE, or as the artifact says */
  int32_t loads_beside; /* not 0: weights come beside the first runs, so that
                         open returns at once */
  int32_t unused_too;   /* not read */
  shardrt_processes *processes; /* NULL: all ranks are threads of this one */
  /* How far weights have come, in bytes of all ranks of this process: at most
   * ten times a second, and once when all are there, where `loaded` is `all`; `all`
   * never gets less, and is more only where replicas turn out to have more to load
   * than the first one. Of files that are mapped where they lie bytes count at once:
   * they are read as they are used. Called by one thread of the library at a time,
   * within shardrt_open and shardrt_reopen, with `loads_beside` also after these;
   * never once shardrt_close has returned. It may call nothing of this session.
   * NULL: none. */
  void (*on_progress)(int64_t loaded, int64_t all, void *context);
  void *progress_context;
  /* Not 0: opens devices, checks what ranks need against what there is, lets each
   * group of ranks meet once, and loads nothing. The session can be asked for
   * shardrt_statistics, reopened and closed; all that runs is
   * SHARDRT_INVALID_ARGUMENT. */
  int32_t preflight;
  int32_t measure;         /* not 0: keep times of instructions, for
                              shardrt_statistics and shardrt_write_trace */
  int32_t no_graphs;       /* not 0: devices capture nothing of what they run */
  int32_t unused_again;    /* not read */
  int64_t cache_positions; /* of KV caches, at batch 1, that have to fit, too,
                              or nothing is loaded; 0: none */
} shardrt_options;

typedef struct shardrt_session shardrt_session;

/* "0.1.0", as long as the library is loaded. */
const char *shardrt_version(void);

/* Message of the last call of this thread that failed; valid until its next
 * call. Never NULL. */
const char *shardrt_last_error(void);

/* Where it arose, as far as that is known. */
typedef struct {
  size_t size;         /* sizeof(shardrt_error_info), set by the caller: no more
                          than so many bytes are written */
  int32_t code;        /* shardrt_status */
  int32_t rank;        /* of the world; of ranks that did not come in time the
                          first of them; -1: unknown, or of none */
  int32_t stage;       /* of the pipeline, likewise */
  int32_t instruction; /* of the rank's program, likewise */
  const char *kernel;  /* that it calls: "MatMul", "all_reduce"; or "" */
  const char *node;    /* of the ONNX model, or "" */
  const char *message; /* shardrt_last_error() */
} shardrt_error_info;
/* Of shardrt_last_error, and as long as that; code 0 where no call of this
 * thread has failed. SHARDRT_INVALID_ARGUMENT, which leaves the last error as it
 * is: info is NULL, or its size is not set. */
shardrt_status shardrt_last_error_info(shardrt_error_info *info);

/* Opens an artifact; `options` may be NULL. The caller owns and closes the session. */
shardrt_status shardrt_open(const char *artifact,
                            const shardrt_options *options,
                            shardrt_session **session);
void shardrt_close(shardrt_session *session); /* NULL is fine */
/* Whether nothing runs any more: a rank no longer answers. */
int shardrt_is_lost(const shardrt_session *session);
/* Opens the same artifact again in place; weights stay where they are. States
 * of before are lost: runs with them are SHARDRT_INVALID_ARGUMENT. After an
 * error the session is as it was. */
shardrt_status shardrt_reopen(shardrt_session *session);
size_t shardrt_num_inputs(const shardrt_session *session);
size_t shardrt_num_outputs(const shardrt_session *session);
/* Name, as long as the session lives; NULL if there is no such index. */
const char *shardrt_input_name(const shardrt_session *session, size_t index);
const char *shardrt_output_name(const shardrt_session *session, size_t index);
/* "int64 [batch, seq]", as long as the session lives. */
const char *shardrt_input_type(const shardrt_session *session, size_t index);
const char *shardrt_output_type(const shardrt_session *session, size_t index);

typedef struct {
  size_t size;      /* sizeof(shardrt_value_info): no more bytes are written */
  const char *name; /* as long as the session lives, as `dims` are */
  int32_t type;     /* shardrt_type */
  int32_t rank;
  const char *const *dims; /* `rank` of them: "8", "batch", "past + seq" */
  int32_t is_cache; /* 1: a state keeps it (shardrt_run_state), or sequences */
  int32_t unused;
  int64_t num_rows; /* of a table whose rows it looks up (ids); 0: unknown */
} shardrt_value_info;
/* SHARDRT_INVALID_ARGUMENT if there is no such index. */
shardrt_status shardrt_input_info(const shardrt_session *session, size_t index,
                                  shardrt_value_info *info);
shardrt_status shardrt_output_info(const shardrt_session *session, size_t index,
                                   shardrt_value_info *info);

typedef struct {
  size_t size;        /* as in shardrt_value_info */
  int32_t world_size; /* ranks, of all stages and replicas */
  int32_t num_stages; /* of each replica */
  int32_t num_replicas;
  int32_t is_causal;     /* 1: texts may come in parts; with `page` alone */
  int64_t page;          /* positions of a page (--serve); 0: for requests */
  const char *tolerance; /* of outputs: "f32", "low" or "quant" */
  int32_t has_independent_rows, unused; /* of a batch; 0 if that is not known */
} shardrt_session_info;
shardrt_status shardrt_info(const shardrt_session *session,
                            shardrt_session_info *info);

/* One request, whose inputs are read during the call only, in any order. */
shardrt_status shardrt_run(shardrt_session *session,
                           const shardrt_tensor *inputs, size_t num_inputs);
/* An output of the last run; its memory belongs to the session and is valid
 * until the next run or close. SHARDRT_INVALID_ARGUMENT for one that the state
 * of that run keeps, or the pool of that step. */
shardrt_status shardrt_output(const shardrt_session *session, size_t index,
                              shardrt_tensor *output);

/* The KV caches of one sequence or batch, kept by the ranks between runs. The
 * caller owns a state and destroys it before its session is closed. */
typedef struct shardrt_state shardrt_state;
shardrt_status shardrt_state_create(shardrt_session *session, int64_t capacity,
                                    shardrt_state **state);
/* On that replica, from 0; shardrt_state_create takes each in turn. */
shardrt_status shardrt_state_create_on(shardrt_session *session,
                                       int64_t capacity, int32_t replica,
                                       shardrt_state **state);
shardrt_status shardrt_state_fork(const shardrt_state *state,
                                  shardrt_state **copy);
void shardrt_state_reset(shardrt_state *state);
void shardrt_state_destroy(shardrt_state *state);         /* NULL is fine */
int64_t shardrt_state_length(const shardrt_state *state); /* positions taken */
int64_t shardrt_state_capacity(const shardrt_state *state);
/* Why what it held is gone, so that runs with it are errors: the session was
 * opened again, or processes have come apart in it (then shardrt_state_reset
 * helps). SHARDRT_OK: it is there. */
shardrt_status shardrt_state_check(const shardrt_state *state);
/* What a state's caches have of each rank's device: `committed` bytes of memory
 * that was taken, page by page, and `reserved` bytes of addresses, for the
 * whole capacity; both 0 before the first run. Ranks of this process, by their
 * number in the world, with `index` from 0. */
size_t shardrt_state_num_ranks(const shardrt_state *state);
shardrt_status shardrt_state_memory(const shardrt_state *state, size_t index,
                                    int32_t *rank, int64_t *committed,
                                    int64_t *reserved);
/* As shardrt_run, without the inputs that the state keeps; outputs that it
 * keeps are not there. SHARDRT_INVALID_ARGUMENT where it is full, or where a
 * step of a merged decoder comes before its prompt. */
shardrt_status shardrt_run_state(shardrt_session *session, shardrt_state *state,
                                 const shardrt_tensor *inputs,
                                 size_t num_inputs);

/* One process a rank, as mpirun, srun or torchrun start them:
 *
 *   shardrt_processes *processes = NULL;
 *   shardrt_join(NULL, &processes);
 *   shardrt_options options = {.size = sizeof options, .processes = processes};
 *   if (shardrt_rank(processes) > 0)
 *     status = shardrt_worker_run("model.shard", &options);
 *   else
 *     ... shardrt_open, shardrt_run, shardrt_close ...
 *   status = shardrt_conclude(processes, status, shardrt_last_error());
 *   shardrt_leave(processes);
 *
 * A process that is gone ends the session of all: shardrt_is_lost, and
 * shardrt_follow returns. Those that are left go on with another one in its
 * place, which is started as any of them is: all of them join again, those that
 * are left shardrt_reopen_with what they get, and the new one opens a session. */
typedef struct {
  size_t size;            /* sizeof(shardrt_join_options): as shardrt_options */
  double timeout_seconds; /* for all to come; 0: SHARDC_TIMEOUT, or 60 */
  const char *rendezvous; /* "HOST:PORT" of rank 0; NULL: as the launcher says,
                              and what follows is not read */
  int32_t rank, num_ranks; /* of this process, and of how many */
  const char *job;         /* those of another one are turned away; NULL: "" */
} shardrt_join_options;

/* Meets all others; `options` may be NULL. *processes is NULL where there is one
 * process alone. The caller owns it, and leaves behind the sessions on it. */
shardrt_status shardrt_join(const shardrt_join_options *options,
                            shardrt_processes **processes);
int32_t shardrt_rank(const shardrt_processes *processes); /* NULL: 0 */
int32_t shardrt_num_ranks(const shardrt_processes *processes);
/* Whether this process is the one to tell the user of an error. */
int shardrt_is_speaker(const shardrt_processes *processes);
/* Does what rank 0 does, until that closes its session. */
shardrt_status shardrt_follow(shardrt_session *session);
/* Opens a session, follows and closes it: all that a rank beside 0 does. */
shardrt_status shardrt_worker_run(const char *artifact,
                                  const shardrt_options *options);
/* As shardrt_reopen, with processes that have joined again. */
shardrt_status shardrt_reopen_with(shardrt_session *session,
                                   shardrt_processes *processes);
/* The end of all: the status of rank 0, which all processes get, or the error of
 * another one that has failed. `message` of an error; NULL is fine. */
shardrt_status shardrt_conclude(shardrt_processes *processes,
                                shardrt_status status, const char *message);
void shardrt_leave(shardrt_processes *processes); /* NULL is fine */

/* Ends runs from another thread. The caller owns it, and destroys it when none
 * runs with it any more. */
typedef struct shardrt_cancellation shardrt_cancellation;
shardrt_status shardrt_cancellation_create(shardrt_cancellation **cancellation);
void shardrt_cancellation_destroy(shardrt_cancellation *cancellation);
/* Runs that have it end with SHARDRT_CANCELLED, now and later. From any thread;
 * not from a handler of signals. NULL is fine. */
void shardrt_cancel(shardrt_cancellation *cancellation);

typedef struct {
  size_t size;         /* sizeof(shardrt_run_options): as shardrt_options */
  int64_t deadline_ms; /* then the run ends with SHARDRT_DEADLINE; 0: none */
  shardrt_cancellation *cancellation; /* NULL: none */
} shardrt_run_options;

/* As shardrt_run, or with a state (which may be NULL) as shardrt_run_state.
 * `options` may be NULL. Of a run that ended early the session takes no harm;
 * its state is as before. */
shardrt_status shardrt_run_with(shardrt_session *session, shardrt_state *state,
                                const shardrt_run_options *options,
                                const shardrt_tensor *inputs,
                                size_t num_inputs);

/* Outputs of one run in memory of their own, which stays when the session runs
 * again or is closed:
 *
 *   shardrt_result *result = NULL;
 *   shardrt_result_create(session, &result);
 *   shardrt_run_into(session, NULL, NULL, &input, 1, result);
 *   shardrt_result_output(result, 0, &logits);
 *   shardrt_result_destroy(result);
 *
 * The caller owns it. Memory is reused where another run has the same result,
 * so that outputs of before are then gone. Runs into results of their own, with
 * states of their own, may come from several threads at a time: side by side on
 * the replicas of an artifact (--dp), else one after the other. */
typedef struct shardrt_result shardrt_result;
shardrt_status shardrt_result_create(const shardrt_session *session,
                                     shardrt_result **result);
void shardrt_result_destroy(shardrt_result *result); /* NULL is fine */
/* As shardrt_run_with. `state` and `options` may be NULL. */
shardrt_status shardrt_run_into(shardrt_session *session, shardrt_state *state,
                                const shardrt_run_options *options,
                                const shardrt_tensor *inputs, size_t num_inputs,
                                shardrt_result *result);
/* As shardrt_output, of the last run into it. */
shardrt_status shardrt_result_output(const shardrt_result *result, size_t index,
                                     shardrt_tensor *output);

/* One of several requests that run together. */
typedef struct {
  const shardrt_tensor *inputs;
  size_t num_inputs;
  shardrt_result *result; /* of its own */
} shardrt_batch_request;
/* Runs them over replicas (--dp), and several at a time in stages (--pp); returns
 * when all have ended. All are tried: the first error, after which no result has
 * outputs. `options` may be NULL. */
shardrt_status shardrt_run_batch(shardrt_session *session,
                                 const shardrt_run_options *options,
                                 const shardrt_batch_request *requests,
                                 size_t num_requests);

/* Memory of the caller's as DLPack has it: element (i, j) is at `data` +
 * `byte_offset` + (i * strides[0] + j * strides[1]) * the bytes of an element.
 * Aligned to the element.
 *   Of a device, too, where ranks are on such devices (`device` of
 * shardrt_options): one that a rank is on, or that all reach. Nothing of it goes
 * through the host's memory: kernels read an input where it is, if that is their
 * device and it is dense, row-major and aligned to 64 bytes; all else is copied
 * from device to device. (Where ranks are processes, inputs and outputs are passed
 * on over the host: such views are refused.) Runs are SHARDRT_INVALID_ARGUMENT where
 * an address is not of that device.
 *   A run waits for what the legacy default stream of the device has to do when
 * the run begins; what other streams have to do with the memory has to be done
 * before, or waited for by that stream. When the run has ended, outputs are
 * complete for every stream. */
typedef struct {
  const char *name; /* of the input or output */
  int32_t type;     /* shardrt_type */
  int32_t rank;
  const int64_t *dims;    /* `rank` of them */
  const int64_t *strides; /* likewise, in elements, also negative; NULL: dense,
                             row-major */
  void *data;             /* may be NULL where there are no elements */
  uint64_t byte_offset;
  int32_t device_type; /* of DLDeviceType: 1, kDLCPU (0, too); 3, kDLCUDAHost;
                          2, kDLCUDA; 13, kDLCUDAManaged */
  int32_t device_id;   /* of the last two: of "cuda:1" 1 */
} shardrt_view;

/* From now on runs, steps and requests into this result write that output into
 * the caller's memory, until another is bound in its place, or none; names, dims
 * and strides are copied. In place where it is dense and row-major, else it is
 * copied there once behind the run (shardrt_result_output has a dense one). One on
 * a device is there alone: shardrt_result_output is SHARDRT_INVALID_ARGUMENT. The
 * memory is the caller's again when the call returned, or the request ended.
 *   SHARDRT_INVALID_ARGUMENT, here: of its name, type, rank, alignment or device,
 * and of strides by which elements may lie upon each other. Of runs: it has other
 * dims, or a state or a pool keeps it; nothing has run then, unless its dims are
 * found by computing. After an error of a run its contents are undefined. It
 * must not overlap another output, nor an input. */
shardrt_status shardrt_result_bind(shardrt_result *result,
                                   const shardrt_view *output);
/* From now on runs and requests into this result read that input there, beside
 * those that they are given; not steps, whose rows have theirs. In place where it
 * is dense and row-major, else (any strides, also 0 and below) each run makes a
 * copy first. SHARDRT_INVALID_ARGUMENT of runs where the host has to read it, since
 * it decides on which program runs, and it is on a device. Other errors as of shardrt_result_bind. */
shardrt_status shardrt_result_bind_input(shardrt_result *result,
                                         const shardrt_view *input);
/* Of all inputs and outputs; `result` keeps what it has until its next run. */
shardrt_status shardrt_result_unbind(shardrt_result *result);

/* Requests that run beside the caller, each into a result of its own:
 *
 *   shardrt_request *request = NULL;
 *   shardrt_submit(session, NULL, NULL, &input, 1, result,
 *                  (shardrt_on_end){on_end, mine}, &request);
 *   ...
 *   status = shardrt_request_wait(request);
 *   shardrt_result_output(result, 0, &logits);
 *   shardrt_request_destroy(request);
 *
 * They begin in the order in which they were submitted, side by side on the
 * replicas of an artifact (--dp); those with the same state, or pool, one after
 * the other. From any thread. */
typedef struct shardrt_request shardrt_request;

/* `call` is called once for each request that was taken, when it has ended and
 * its result is the caller's again, maybe before the call that submits it
 * returns; `message` of an error, else NULL, and shardrt_last_error_info says
 * more. On a thread of the library, which meanwhile runs nothing else; in
 * shardrt_close on that of its caller, too. It may submit, cancel, read outputs
 * and destroy its request and its result. shardrt_request_wait of a request of its
 * session that has not ended is SHARDRT_INVALID_ARGUMENT there, and shardrt_close
 * of the session does nothing but set shardrt_last_error: both would wait for this
 * very call. `call` may be NULL. */
typedef struct {
  void (*call)(shardrt_status status, const char *message, void *context);
  void *context;
} shardrt_on_end;

/* As shardrt_run_into, later: names and dims are copied, data stay until it has
 * ended, as do state and result. The deadline counts from now; its cancellation
 * must be NULL. SHARDRT_INVALID_ARGUMENT also where another request with this
 * result is under way. `request` may be NULL; the caller owns it. */
shardrt_status shardrt_submit(shardrt_session *session, shardrt_state *state,
                              const shardrt_run_options *options,
                              const shardrt_tensor *inputs, size_t num_inputs,
                              shardrt_result *result, shardrt_on_end on_end,
                              shardrt_request **request);
/* Until its callback has returned; the error that ended it, if one did.
 * SHARDRT_INVALID_ARGUMENT in a callback of its session, unless it has ended. */
shardrt_status shardrt_request_wait(const shardrt_request *request);
/* Whether shardrt_request_wait returns at once; 1 of NULL. */
int shardrt_request_is_done(const shardrt_request *request);
/* It ends soon with SHARDRT_CANCELLED, unless it has ended; at once where it has
 * not begun. shardrt_close does the same with all. NULL is fine. */
void shardrt_request_cancel(shardrt_request *request);
/* Of the handle: the request goes on. NULL is fine. */
void shardrt_request_destroy(shardrt_request *request);

/* Rows of any sequences in one step, of an artifact that was compiled with
 * --serve:
 *
 *   shardrt_pool *pool = NULL;
 *   shardrt_sequence *a = NULL, *b = NULL;
 *   shardrt_pool_create(session, 65536, &pool);
 *   shardrt_sequence_create(pool, &a);
 *   shardrt_sequence_create(pool, &b);
 *   shardrt_row rows[] = {{a, prompt, 2, SHARDRT_LAST}, {b, token, 2}};
 *   shardrt_step(pool, rows, 2);
 *   shardrt_output(session, 0, &logits);   [1, 2, words]
 *
 * A pool has keys and values of all sequences, on one replica, with room for so
 * many positions in whole pages. The caller owns it, and destroys it before its
 * session is closed and behind its sequences. Steps of pools of one session
 * come one after the other, since outputs stay in the session. */
typedef struct shardrt_pool shardrt_pool;
shardrt_status shardrt_pool_create(shardrt_session *session, int64_t positions,
                                   shardrt_pool **pool);
/* On that replica, from 0; shardrt_pool_create takes each in turn. */
shardrt_status shardrt_pool_create_on(shardrt_session *session,
                                      int64_t positions, int32_t replica,
                                      shardrt_pool **pool);
void shardrt_pool_destroy(shardrt_pool *pool);   /* NULL is fine */
int64_t shardrt_pool_page(const shardrt_pool *); /* positions of a page */
int64_t shardrt_pool_pages(const shardrt_pool *);
int64_t shardrt_pool_free_pages(const shardrt_pool *);
/* Whether what its sequences held is gone, and steps are errors until it is
 * renewed: the session was opened again, or processes have come apart. Renewed it
 * is empty, and so are its sequences. */
int shardrt_pool_is_lost(const shardrt_pool *pool);
shardrt_status shardrt_pool_renew(shardrt_pool *pool);

/* Positions of one text. It takes a page when its last one is full, and gives
 * all back when it is destroyed. */
typedef struct shardrt_sequence shardrt_sequence;
shardrt_status shardrt_sequence_create(shardrt_pool *pool,
                                       shardrt_sequence **sequence);
/* Another one with the same positions, which takes no memory: pages are theirs
 * together until one of them writes into the last. */
shardrt_status shardrt_sequence_fork(const shardrt_sequence *sequence,
                                     shardrt_sequence **copy);
/* Forgets all positions from `length` on; SHARDRT_INVALID_ARGUMENT: it has fewer. */
shardrt_status shardrt_sequence_truncate(shardrt_sequence *sequence,
                                         int64_t length);
int64_t shardrt_sequence_length(const shardrt_sequence *sequence);
void shardrt_sequence_destroy(shardrt_sequence *sequence); /* NULL is fine */

/* Which outputs of a row are computed: of its last position, of all, of none. */
typedef enum { SHARDRT_LAST = 0, SHARDRT_ALL, SHARDRT_NONE } shardrt_wanted;

/* New positions of a sequence. Inputs are those of a request of it alone,
 * without past. What an encoder gave comes with its first row; later ones leave
 * it out, or replace it. */
typedef struct {
  shardrt_sequence *sequence;
  const shardrt_tensor *inputs;
  size_t num_inputs;
  int32_t wanted; /* shardrt_wanted */
} shardrt_row;

/* Runs rows of different sequences, which then have their positions. Outputs
 * have what is wanted, row after row; those of caches are not there.
 * SHARDRT_INVALID_ARGUMENT: a row does not fit the model, or there are too few
 * pages. After an error the sequences are as before, unless the pool is lost. */
shardrt_status shardrt_step(shardrt_pool *pool, const shardrt_row *rows,
                            size_t num_rows);
/* The same with a deadline, and somebody who may cancel it. */
shardrt_status shardrt_step_with(shardrt_pool *pool,
                                 const shardrt_run_options *options,
                                 const shardrt_row *rows, size_t num_rows);
/* The same with outputs in a result, so that pools on different replicas run
 * side by side. One step of a pool at a time. */
shardrt_status shardrt_step_into(shardrt_pool *pool, const shardrt_row *rows,
                                 size_t num_rows, shardrt_result *result);
/* And with a deadline, and somebody who may cancel it; `options` may be NULL. */
shardrt_status shardrt_step_into_with(shardrt_pool *pool,
                                      const shardrt_run_options *options,
                                      const shardrt_row *rows, size_t num_rows,
                                      shardrt_result *result);

/* One of several steps of a pool. */
typedef struct {
  const shardrt_row *rows;
  size_t num_rows;
  shardrt_result *result; /* of its own */
} shardrt_batch_step;
/* Runs them in order, where there are stages (--pp) one behind the other; a
 * sequence is in one of them alone. `options` may be NULL. After an error all
 * sequences are as before, and no result has outputs. */
shardrt_status shardrt_step_batch(shardrt_pool *pool,
                                  const shardrt_run_options *options,
                                  const shardrt_batch_step *steps,
                                  size_t num_steps);

/* As shardrt_step_into_with, later: see shardrt_submit. Until it has ended pool and
 * sequences stay, and nothing else uses them but other such steps. */
shardrt_status shardrt_submit_step(shardrt_pool *pool,
                                   const shardrt_run_options *options,
                                   const shardrt_row *rows, size_t num_rows,
                                   shardrt_result *result,
                                   shardrt_on_end on_end,
                                   shardrt_request **request);

/*===--- Times ----------------------------------------------------------===*/

/* What ranks of this process have spent since the session was opened, added up,
 * on the host; ranks on other devices only launch there and are left out:
 *   "collective"  over the axes of the mesh that `name` has ("tp", "ep,tp"),
 *                 with the waits for other ranks
 *   "busy"        of the stage `name`, in steps, without the next
 *   "receive"     of the stage `name`, waiting for values of other stages
 *   "active"      of a server's replicas: some step was under way
 * A bubble of a stage is what its ranks were not busy for while their replicas were
 * active. */
typedef struct {
  size_t size;      /* as in shardrt_value_info */
  const char *kind; /* the session's, as is name */
  const char *name;
  double seconds;
  int64_t count;  /* of collectives, values, or steps */
  int32_t adders; /* ranks, or replicas, that add to it now */
  int32_t unused;
} shardrt_spent;
/* Entries are added while it runs, and keep their numbers. From any thread. */
size_t shardrt_num_spent(const shardrt_session *session);
shardrt_status shardrt_spent_at(const shardrt_session *session, size_t index,
                                shardrt_spent *spent);

#ifdef __cplusplus
}
#endif

#include "shardrt_server.h"     /* many texts at once */
#include "shardrt_statistics.h" /* what there is, and what runs took */

#endif /* SHARDRT_H */
