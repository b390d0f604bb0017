#include "tools/shardrun/Options.h"

#include "tools/version/Version.h"

namespace shardrun {

void declareFlags(CLI::App &app, Options &options) {
  app.set_version_flag("--version", shardc::versionText("shardrun"));
  app.add_option("artifact", options.artifact, "Folder that shardc wrote");
  app.add_option("--inputs", options.inputs,
                 "Folder with input_0.pb, input_1.pb, ... (ONNX test data), or "
                 "an .npz file; several are requests, run together, or in "
                 "order with --cache");
  app.add_option("--expect", options.expect,
                 "Folder with output_0.pb, ..., or an .npz file: print the "
                 "largest error of each output, exit with 1 if one is too "
                 "large; one a request");
  app.add_option("--outputs", options.outputs,
                 "Folder to write output_0.pb, ... into (those of an earlier "
                 "run go), or an .npz file; of several requests DIR/0, DIR/1, "
                 "..., or OUT.0.npz, OUT.1.npz, ...");
  app.add_option("--cache", options.cache,
                 "Keep the KV caches between requests, with room for so many "
                 "positions: past inputs and present outputs are left out")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  app.add_option("--sequences", options.sequences,
                 "Of a model that was compiled with --serve, with --cache: "
                 "which sequence each of --inputs goes on, with ',' between "
                 "rows of a step and ';' between steps, for example "
                 "'0,1;0,1' (default: one sequence, a step each)");
  app.add_option("--texts", options.texts,
                 "Of a model that was compiled with --serve, with --cache: a "
                 "file of prompts to go on with, all at once, in place of "
                 "--inputs: [{\"prompt\": [1, 2], \"tokens\": 16}, ...], "
                 "some with a \"deadline_ms\"; \"inputs\" names an .npz file "
                 "beside it of what an encoder gave; --outputs FILE gets the "
                 "tokens "
                 "that came, and when");
  app.add_option("--prompt", options.prompt,
                 "Go on with a text, of a decoder: this is shardrt generate of "
                 "the Python package then, and takes its flags (--tokenizer, "
                 "--max-tokens, --chat, --temperature, ...; shardrt generate "
                 "--help)");
  app.add_option("--step-rows", options.stepRows,
                 "With --texts: the most texts of a step (default 64)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  app.add_option("--step-tokens", options.stepTokens,
                 "With --texts: the most tokens of a step; longer prompts come "
                 "in parts (default 512)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 30));
  app.add_option("--step-slowdown", options.stepSlowdown,
                 "With --texts: how much longer a step with parts of prompts "
                 "may take than one without, while texts go on (default 2; 0: "
                 "any)")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--rejoin", options.rejoin,
                 "Where ranks are processes and one is gone: wait for another "
                 "one in its place, started as any of them, and go on; at most "
                 "so often (default 0: all end)")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--repeat", options.repeat,
                 "Run so many times and print the median time")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--device", options.device,
                 "host; cuda: each rank on a GPU of its own; cuda:0: all on "
                 "that one; without it SHARDC_DEVICE, or what the artifact was "
                 "compiled for");
  app.add_flag("--devices", options.listsDevices,
               "List what there is to run on, and what is refused and why");
  app.add_flag("--preflight", options.preflight,
               "Check devices, kernels, memory (with --cache for so many "
               "positions) and one small collective of each group; load and "
               "run nothing");
  app.add_option("--tolerance", options.tolerance,
                 "f32, low, quant or ABS,REL (|a - b| <= ABS + REL |b|); "
                 "without it what suits the model's types");
  app.add_option("--weights-root", options.weightsRoot,
                 "Where the model's own files are now");
  app.add_option(
      "--trace", options.trace,
      "Write a Chrome/Perfetto trace of the last run; where ranks are "
      "processes each writes its own: FILE, FILE.1, ...");
  app.add_flag("--profile", options.profile,
               "Print where the time went, by kernel and by node");
  app.add_flag("--check-replicas", options.checkReplicas,
               "Compare the bits of replicated values on all ranks (slow)");
  app.add_flag("--load-first", options.loadsFirst,
               "Load all weights before the first run, which otherwise waits "
               "only for those that it has come to");
  app.add_flag("--no-kernels", options.noKernels,
               "Run no native code that came with the artifact, which is "
               "anything its author likes; an artifact that needs such code is "
               "refused (shardc --kernels reference makes one that does not)");
  app.add_option("--stats-json", options.statsJson,
                 "Write collectives, bytes and memory as JSON; where ranks are "
                 "processes each writes its own: FILE, FILE.1, ...");
  app.add_option("--threads", options.threads,
                 "Threads of each rank's kernels on the host (default "
                 "SHARDC_THREADS, or an equal share of the cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--timeout", options.timeout,
                 "Longest wait at a collective, in seconds (default 60, or "
                 "SHARDC_TIMEOUT)")
      ->check(CLI::Range(0.001, 1e6));
  // What a script's unset variable leaves names no file and no device.
  for (CLI::Option *option : app.get_options())
    if (option->get_items_expected_max() > 0 &&
        option->get_name() != "--prompt")
      option->check([](const std::string &text) {
        return text.empty() ? std::string("expected a value, found none")
                            : std::string();
      });
  app.footer(
      "Under mpirun, srun and torchrun (--no-python) each process is one rank "
      "of the\nartifact; rank 0 reads --inputs and --expect, prints, and "
      "writes "
      "the outputs.\n\n"
      "Example:\n"
      "  shardrun model.shard --inputs test_data_set_0 --expect "
      "test_data_set_0\n\n"
      "Exit codes: 0 done, 1 outputs differ, 2 flags or input tensors, 4 "
      "artifact,\nchanged weights, a violated guard or an error while "
      "running.");
}

} // namespace shardrun
