/*===- shardrt_statistics.h - What there is, and what runs took, from C ----===
 *
 * A part of shardrt.h, which includes it: include that.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SHARDRT_STATISTICS_H
#define SHARDRT_STATISTICS_H

#include "shardrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Devices of this machine that ranks may be on:
 *
 *   shardrt_devices *devices = NULL;
 *   shardrt_device_info device = {.size = sizeof device};
 *   shardrt_devices_create(&devices);
 *   for (size_t i = 0; i < shardrt_num_devices(devices); ++i)
 *     if (shardrt_device_at(devices, i, &device) == SHARDRT_OK)
 *       puts(device.name);
 *   shardrt_devices_destroy(devices);
 *
 * Those of the host, of each plugin that is found, and of "cuda" in any case:
 * where a backend cannot be used its one entry says why. Each device is opened
 * for a moment. The caller owns the list, which stays as it is. */
typedef struct shardrt_devices shardrt_devices;
shardrt_status shardrt_devices_create(shardrt_devices **devices);
void shardrt_devices_destroy(shardrt_devices *devices);     /* NULL is fine */
size_t shardrt_num_devices(const shardrt_devices *devices); /* NULL: 0 */

typedef struct {
  size_t size;         /* as in shardrt_value_info */
  const char *backend; /* "host", "cuda"; as long as the list, as all texts */
  int32_t number;      /* among those of its backend, as in "cuda:0"; -1: the
                          backend has none that can be named */
  int32_t unused;
  const char *name;         /* "NVIDIA H200" */
  const char *architecture; /* "sm_90" */
  int64_t memory_bytes;
  int64_t free_bytes;  /* when it was opened; 0: it was not */
  const char *refusal; /* why it cannot be used; "": it can */
} shardrt_device_info;
/* SHARDRT_INVALID_ARGUMENT if there is no such index. */
shardrt_status shardrt_device_at(const shardrt_devices *devices, size_t index,
                                 shardrt_device_info *info);

/* What ranks of this process have and did, as it was when this was made:
 *
 *   shardrt_statistics *statistics = NULL;
 *   shardrt_rank_memory memory = {.size = sizeof memory};
 *   shardrt_statistics_create(session, &statistics);
 *   shardrt_statistics_rank(statistics, 0, &memory);
 *   shardrt_statistics_destroy(statistics);
 *
 * From any thread, but not beside shardrt_reopen or shardrt_close; it waits for
 * runs that are under way. It stays as it is when the session runs again or is
 * closed. The caller owns it, and it owns its texts. Indices are from 0; of one that is not there
 * SHARDRT_INVALID_ARGUMENT. Counts of NULL are 0. */
typedef struct shardrt_statistics shardrt_statistics;
shardrt_status shardrt_statistics_create(const shardrt_session *session,
                                         shardrt_statistics **statistics);
void shardrt_statistics_destroy(shardrt_statistics *statistics); /* or NULL */

/* How often ranks have run a program, or a part between two waits for its own
 * data, of all runs: launch after launch; as a device had just captured it; as it
 * had captured it, with some launches set anew for other sizes; as it had
 * captured it. */
typedef struct {
  size_t size; /* as in shardrt_value_info, as in all of these */
  int64_t launched;
  int64_t captured;
  int64_t updated;
  int64_t replayed;
} shardrt_launches;
shardrt_status shardrt_statistics_launches(const shardrt_statistics *statistics,
                                           shardrt_launches *launches);

/* Bytes that a rank of this process has; those of values once it has run. */
typedef struct {
  size_t size;
  int32_t rank; /* of the world, by which they are sorted */
  int32_t unused;
  int64_t weight_bytes;   /* its parts of weights, mapped and packed */
  int64_t packed_bytes;   /* of these, copied into memory of its own */
  int64_t loaded_bytes;   /* that loading has computed of weights */
  int64_t arena_bytes;    /* intermediate values, scratch, packed inputs */
  int64_t value_bytes;    /* of these, intermediate values of the last run */
  int64_t arranged_bytes; /* copies of weights as kernels read them, which ranks
                             of one process share */
} shardrt_rank_memory;
size_t shardrt_statistics_num_ranks(const shardrt_statistics *statistics);
shardrt_status shardrt_statistics_rank(const shardrt_statistics *statistics,
                                       size_t index,
                                       shardrt_rank_memory *memory);

/* A collective of the last run, as one group of ranks saw it; in the order of
 * the program, of all stages. */
typedef struct {
  size_t size;
  const char *kind; /* "all_reduce" */
  const char *node; /* of the ONNX model */
  int32_t group_size;
  int32_t unused;
  int64_t bytes;      /* of the group's whole value */
  int64_t wire_bytes; /* sent by all ranks of the group together */
} shardrt_collective;
size_t shardrt_statistics_num_collectives(const shardrt_statistics *statistics);
shardrt_status
shardrt_statistics_collective(const shardrt_statistics *statistics,
                              size_t index, shardrt_collective *collective);

/* The time of an instruction, of a session that was opened with `measure`: of all
 * runs of the last sizes. */
typedef struct {
  size_t size;
  const char *kernel;
  const char *node;
  int32_t is_collective; /* 1: waits for other ranks are in its time */
  int32_t runs;          /* that were measured */
  int32_t has_first;     /* 1: the first one, which waits for weights, is among
                            them, since there is no other */
  int32_t unused;
  double milliseconds;   /* mean over ranks, sum over runs */
  int64_t bytes;         /* of the operands of one rank, in one run */
  int64_t multiply_adds; /* likewise, of a product; else 0 */
} shardrt_instruction;
size_t
shardrt_statistics_num_instructions(const shardrt_statistics *statistics);
shardrt_status
shardrt_statistics_instruction(const shardrt_statistics *statistics,
                               size_t index, shardrt_instruction *instruction);

/* What a rank of this process needs of its device, as shardrt_open has checked
 * it: of the host copies alone, not what is mapped. */
typedef struct {
  size_t size;
  const char *rank;             /* "rank 5 (pp 1, tp 1)" */
  const char *device;           /* "device 0 (NVIDIA H200, sm_90)" */
  int64_t weight_bytes;         /* also what is computed of weights */
  int64_t value_bytes;          /* of the smallest request, without scratch */
  int64_t cache_bytes;          /* of `cache_positions` that were asked for */
  int64_t cache_position_bytes; /* a position of all KV caches, at batch 1 */
  int64_t free_bytes;           /* of the device, which ranks on it share */
  int32_t is_host;
  int32_t unused;
} shardrt_rank_needs;
size_t shardrt_statistics_num_needs(const shardrt_statistics *statistics);
shardrt_status shardrt_statistics_needs(const shardrt_statistics *statistics,
                                        size_t index,
                                        shardrt_rank_needs *needs);

/* Of a process that follows (shardrt_follow): what the caches of the state that
 * was used last have there, as shardrt_state_memory says it where it is led. */
typedef struct {
  size_t size;
  int32_t rank; /* of the world */
  int32_t unused;
  int64_t committed_bytes;
  int64_t reserved_bytes;
} shardrt_cache_memory;
size_t shardrt_statistics_num_caches(const shardrt_statistics *statistics);
shardrt_status shardrt_statistics_cache(const shardrt_statistics *statistics,
                                        size_t index,
                                        shardrt_cache_memory *memory);

/* Lines for a reader. */
typedef enum {
  SHARDRT_PLACEMENT = 0, /* of each rank here where it is, what it needs and for
                               how many positions there is room; then which devices
                               do not reach each other */
  SHARDRT_HOST_KERNELS,  /* names of kernels that the devices lack: values of
                               these go to the host and back */
  SHARDRT_HOST_INSTRUCTIONS /* the same of single instructions, as runs so far
                               have found: "MatMul at node 'up': ..." */
} shardrt_notes;
size_t shardrt_statistics_num_notes(const shardrt_statistics *statistics,
                                    shardrt_notes notes);
/* NULL if there is no such index. */
const char *shardrt_statistics_note(const shardrt_statistics *statistics,
                                    shardrt_notes notes, size_t index);

/* What a rank's device does at best, with all ranks of the last replica here at
 * it: their mean. Measures for some tenths of a second, and
 * waits for runs that are under way. */
typedef struct {
  size_t size;
  double bytes_per_second;
  double multiply_adds_per_second; /* in float32; 0: not known */
} shardrt_device_limits;
shardrt_status shardrt_measure_limits(shardrt_session *session,
                                      shardrt_device_limits *limits);

/* Writes a timeline of the last run, for Perfetto or Chrome: JSON, a track for
 * each rank of this process. SHARDRT_INVALID_ARGUMENT where the session was not
 * opened with `measure`, nothing has run, or no file can be made there;
 * SHARDRT_ARTIFACT where it cannot be written. Then another one that was there
 * stays. Waits for runs that are
 * under way. */
shardrt_status shardrt_write_trace(const shardrt_session *session,
                                   const char *path);

#ifdef __cplusplus
}
#endif

#endif /* SHARDRT_STATISTICS_H */
