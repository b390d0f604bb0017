/* client ARTIFACT OUT ROWS COLUMNS FILE...: runs a request whose inputs are
 * files of int64, and writes the first output's floats. */
#include <shardrt.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, shardrt_last_error());
  return 1;
}

static int64_t *read_values(const char *path, size_t count) {
  int64_t *values = malloc(count * sizeof *values);
  FILE *file = fopen(path, "rb");
  if (!file || !values || fread(values, sizeof *values, count, file) != count)
    exit(2);
  fclose(file);
  return values;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  const int64_t dims[] = {atoll(argv[3]), atoll(argv[4])};
  shardrt_session *session = NULL;
  if (shardrt_open(argv[1], NULL, &session) != SHARDRT_OK)
    return fail("open");
  shardrt_session_info about = {0};
  about.size = sizeof about;
  if (shardrt_info(session, &about) != SHARDRT_OK)
    return fail("info");
  printf("%s, %" PRId32 " ranks:", shardrt_version(), about.world_size);
  shardrt_tensor inputs[8];
  const size_t num_inputs = shardrt_num_inputs(session);
  if (num_inputs > 8 || num_inputs != (size_t)(argc - 5))
    return 2;
  for (size_t i = 0; i < num_inputs; ++i) {
    shardrt_value_info info = {0};
    info.size = sizeof info;
    if (shardrt_input_info(session, i, &info) != SHARDRT_OK)
      return fail("input");
    printf(" %s [%s, %s]", info.name, info.dims[0], info.dims[1]);
    int64_t *values = read_values(argv[5 + i], (size_t)(dims[0] * dims[1]));
    inputs[i] = (shardrt_tensor){info.name, info.type, 2, dims, values};
  }
  printf("\n");
  if (shardrt_run(session, inputs, num_inputs) != SHARDRT_OK)
    return fail("run");
  for (size_t i = 0; i < num_inputs; ++i)
    free((void *)inputs[i].data);
  shardrt_tensor logits;
  if (shardrt_output(session, 0, &logits) != SHARDRT_OK)
    return fail("output");
  size_t count = 1;
  for (int i = 0; i < logits.rank; ++i)
    count *= (size_t)logits.dims[i];
  FILE *file = fopen(argv[2], "wb");
  if (!file || fwrite(logits.data, sizeof(float), count, file) != count)
    return 2;
  fclose(file);
  shardrt_close(session);
  return 0;
}
