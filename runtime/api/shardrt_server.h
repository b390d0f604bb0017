/*===- shardrt_server.h - Many texts at once, from C -----------------------===
 *
 * A part of shardrt.h, which includes it: include that.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SHARDRT_SERVER_H
#define SHARDRT_SERVER_H

#include "shardrt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Many texts at once, of a decoder that was compiled with --serve, whose inputs
 * are tokens, masks, positions and what an encoder gave:
 *
 *   shardrt_server *server = NULL;
 *   shardrt_text *text = NULL;
 *   shardrt_server_create(session, NULL, &server);
 *   shardrt_text_request request = {.size = sizeof request, .prompt = ids,
 *                                   .num_prompt = 3, .max_tokens = 16};
 *   shardrt_server_submit(server, &request, &text);
 *   status = shardrt_text_wait(text);
 *   count = shardrt_text_tokens(text, tokens, 16);
 *   shardrt_text_destroy(text);
 *   shardrt_server_destroy(server);
 *
 * Texts come from any thread at any time. Steps have rows of as many as there is
 * room for; prompts come in parts, and begin with the pages of others that begin
 * alike. What fails ends alone. */
typedef struct shardrt_server shardrt_server;
typedef struct shardrt_text shardrt_text;

typedef struct {
  size_t size;          /* sizeof(shardrt_server_options): as shardrt_options */
  int64_t positions;    /* of all texts of a replica; 0: 32768 */
  int64_t step_tokens;  /* of a step; 0: 512 */
  int64_t step_rows;    /* of a step; 0: 64 */
  int64_t most_waiting; /* texts that have not begun; 0: 1024 */
  double slowdown;      /* of a step with parts of prompts to one without; 0: 2;
                         below 0: any */
  const char *logits;   /* the output; NULL: the first that is no cache */
  /* Opens a session that is lost again: shardrt_reopen, or with others in the
   * place of processes that are gone shardrt_join and shardrt_reopen_with. It is
   * called on a thread of the server, while nothing runs; `why` is what went
   * wrong, of which shardrt_last_error_info says where. Texts then go on where they were; after an error, whose message
   * shardrt_last_error has on this thread, all end with what went wrong. NULL:
   * shardrt_reopen. */
  shardrt_status (*reopen)(shardrt_session *session, const char *why,
                           void *context);
  void *context;
} shardrt_server_options;

/* The session is this server's alone until that is destroyed, and closed after
 * it; `options` may be NULL. The caller owns the server. */
shardrt_status shardrt_server_create(shardrt_session *session,
                                     const shardrt_server_options *options,
                                     shardrt_server **server);
/* Texts that are under way end with an error. Not from one of its own functions.
 * NULL is fine. */
void shardrt_server_destroy(shardrt_server *server);

/* What `choose` returns where the text has ended. */
#define SHARDRT_END (-1)

/* Functions are called on a thread of the server, which meanwhile runs nothing
 * else, and must not wait for a text. */
typedef struct {
  size_t size; /* sizeof(shardrt_text_request): as shardrt_options */
  const int64_t *prompt;
  size_t num_prompt;
  int64_t max_tokens; /* new ones */
  /* The next token, of the logits of the last position, or SHARDRT_END. NULL:
   * the first of the largest. */
  int64_t (*choose)(const float *logits, size_t num_logits, void *context);
  void (*on_token)(int64_t token, void *context); /* NULL: none */
  /* Once for each text that was taken, and last: nothing has the context any
   * more. `message` of an error, else NULL. NULL: none. */
  void (*on_end)(shardrt_status status, const char *message, void *context);
  void *context;
  int64_t deadline_ms; /* then it ends with SHARDRT_DEADLINE and the tokens that
                          it has; 0: none */
  const shardrt_tensor *inputs; /* what an encoder gave, of a model that takes
                                   that, with a batch of one; they are copied */
  size_t num_inputs;
} shardrt_text_request;

/* SHARDRT_INVALID_ARGUMENT: there is no prompt, there are more positions than the
 * pool has, or too many texts wait already. The caller owns the text; `text` may
 * be NULL where on_end says enough. */
shardrt_status shardrt_server_submit(shardrt_server *server,
                                     const shardrt_text_request *request,
                                     shardrt_text **text);
/* Until it has ended; the error that ended it, if one did. */
shardrt_status shardrt_text_wait(const shardrt_text *text);
int shardrt_text_is_done(const shardrt_text *text);
/* How many new tokens it has so far; the first `room` are copied. */
size_t shardrt_text_tokens(const shardrt_text *text, int64_t *tokens,
                           size_t room);
/* It ends before its next step, well, with the tokens that it has. */
void shardrt_text_cancel(shardrt_text *text); /* NULL is fine */
/* Of the handle: the text goes on. NULL is fine. */
void shardrt_text_destroy(shardrt_text *text);

typedef struct {
  size_t size;        /* as in shardrt_value_info */
  int64_t waiting;    /* texts that have not begun */
  int64_t running;    /* texts that have pages */
  int64_t pages;      /* of all replicas */
  int64_t free_pages; /* texts that have ended keep theirs while nobody needs
                         them, for others that begin alike */
  int64_t steps;      /* so far, as all below */
  int64_t tokens;     /* positions computed */
  int64_t made;       /* new tokens */
  int64_t shared;     /* positions that another text had */
  int64_t evicted;    /* texts that gave up their pages for a while */
  int64_t recovered;  /* times that all was computed again */
} shardrt_counts;
/* From any thread. */
shardrt_status shardrt_server_counts(const shardrt_server *server,
                                     shardrt_counts *counts);

#ifdef __cplusplus
}
#endif

#endif /* SHARDRT_SERVER_H */
