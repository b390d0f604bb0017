//===- Subcommands.cpp - What shardc does beside compiling ----------------===//

#include "tools/shardc/Subcommands.h"

#include "tools/shardc/Readers.h"

namespace shardc {

static CLI::App *addVerify(CLI::App &app, Flags &flags, DimTexts &dims) {
  CLI::App *verify = app.add_subcommand(
      "verify", "Run a plan, one rank, and the graph without recovery on the "
                "same inputs, and compare");
  verify->add_option("model", flags.model, "The model: .onnx")->required();
  addPlanFlags(*verify, flags, dims);
  verify->get_option("--kv-type")->group(""); // refused, with the reason
  verify->add_option("--topology", flags.topology,
                     "What it is to run on, for choices by cost and --shares "
                     "auto: h100:16x8 or a JSON file");
  verify->add_option("--inputs", flags.inputs,
                     "Folders with input_0.pb, ..., or .npz files; without: "
                     "test_data_set_* beside the model, and made-up inputs");
  verify->add_option("--dims", dims.dims,
                     "Sizes of made-up inputs, for example batch=2,seq=7");
  verify->add_option("--seed", flags.seed, "Of the made-up inputs");
  verify
      ->add_option("--against", flags.against,
                   "Compare with this engine, too: onnxruntime, in a Python "
                   "that has it")
      ->check(CLI::IsMember({"onnxruntime"}));
  verify->add_option("--python", flags.python,
                     "That Python; without it SHARDC_PYTHON, or the first of "
                     "python3 and .venv/bin/python that has it");
  addNoProgress(*verify, flags);
  verify->add_flag("--json", flags.json, "Print JSON");
  verify->add_option("--programs", flags.programs,
                     "For development: try these programs, as --to=partitioned "
                     "prints them, in place of the plan; lines `// -----` "
                     "separate several");
  verify->add_flag("--trust-programs", flags.trustPrograms,
                   "For development: run them unchecked, to see where they go "
                   "wrong");
  verify->footer(
      "Exit status: 0 all agree, 1 something differs, and the first value that "
      "does\nis named, 2 wrong flags or inputs, 3 the model, 4 it does not "
      "run.");
  return verify;
}

static CLI::App *addPlan(CLI::App &app, Flags &flags, DimTexts &dims) {
  CLI::App *plan = app.add_subcommand(
      "plan", "Predict memory and time of every parallelism that a machine "
              "allows, best first; of degrees that are given, only those");
  plan->add_option("model", flags.model, "The model: .onnx")->required();
  plan->add_option("--topology", flags.topology,
                   "What it is to run on: h100:16x8 or a JSON file")
      ->required();
  plan->add_option("--dims", dims.dims,
                   "The requests: batch=32,seq=1024,past=8192 are prompts of "
                   "1024 positions, and steps behind 8192");
  addPlanning(*plan, flags, dims);
  addServing(*plan, flags);
  addWeightsType(*plan, flags);
  addBitwise(*plan, flags);
  addDegrees(*plan, flags);
  plan->add_option("--sp", flags.fixedSequence,
                   "on or off: with or without sequence parallelism (default: "
                   "what is better)")
      ->check(CLI::IsMember({"on", "off"}));
  plan->add_option(
          "--cp-mode", flags.fixedContext,
          "With --cp: ring, ulysses or gather (default: the better one "
          "of the first two; with --bitwise of the last two)")
      ->check(CLI::IsMember({"ring", "ulysses", "gather"}));
  plan->add_option("--micro-batches", flags.fixedMicroBatches,
                   "With --pp: parts of a request's batch that are in the "
                   "pipeline at once (default: as many as pay)")
      ->check(CLI::Range(int64_t{1}, kMaxRanks))
      ->excludes(plan->get_option("--serve")); // a server cuts its steps
  plan->add_option("--rank-order", flags.rankOrder,
                   "Axes by how near their ranks are numbered, innermost "
                   "first; others are outside of them (default: what is "
                   "better)");
  plan->add_option("--overlap", flags.overlap,
                   "auto: collectives beside products where that is faster "
                   "(default); off: as without")
      ->check(CLI::IsMember({"auto", "off"}));
  addTraining(*plan, flags.training);
  plan->add_option("--json", flags.planJson, "All candidates, to a file");
  plan->footer(
      "Exit status: 0 something fits, 1 nothing does, 2 wrong flags, 3 "
      "the model.");
  return plan;
}

static CLI::App *addCheck(CLI::App &app, Flags &flags) {
  CLI::App *check = app.add_subcommand(
      "check", "Report everything that is unsupported or serves badly");
  check->add_option("model", flags.model, "The model: .onnx")->required();
  check->add_flag("--json", flags.json, "Print JSON");
  check->footer("Exit status: 0 the model compiles, 2 wrong flags, 3 it does "
                "not.");
  return check;
}

/// Of a plan that is there, or of one that flags make of a model.
static void addReported(CLI::App &app, Flags &flags, DimTexts &dims) {
  app.add_option("plan", flags.model,
                 "An artifact, a file of --explain-json, or a model: .onnx, "
                 "with flags that make a plan")
      ->required();
  addPlanFlags(app, flags, dims);
  const ReadBy reader(app, Reader::Request);
  app.add_option("--topology", flags.topology,
                 "Of a model: what it runs on, h100:16x8 or a JSON file");
  app.add_option("--dims", dims.dims,
                 "Of a model: sizes of a request, for example batch=1,seq=128");
}

static CLI::App *addExplain(CLI::App &app, Flags &flags, DimTexts &dims) {
  CLI::App *explain = app.add_subcommand(
      "explain", "What a plan communicates and holds, and why");
  addReported(*explain, flags, dims);
  explain->add_option("node", flags.node,
                      "A node or weight: what splits it, what that goes with, "
                      "and the collectives that it causes");
  explain->footer(
      "Exit status: 0 done, 2 wrong flags, 3 the model, 4 it cannot "
      "be read.");
  return explain;
}

static CLI::App *addLint(CLI::App &app, Flags &flags, DimTexts &dims) {
  CLI::App *lint =
      app.add_subcommand("lint", "Check a plan against rules, one a line");
  addReported(*lint, flags, dims);
  lint->add_option("rules", flags.rules,
                   "The rules, for example:\n"
                   "max all_reduce per layer 2\n"
                   "no all_gather of weights\n"
                   "no collective between nodes except dp, pp\n"
                   "memory per rank <= 40 GiB")
      ->required();
  lint->footer("Exit status: 0 all are kept, 1 some are not, and the nodes are "
               "named,\n2 wrong flags or rules, 3 the model, 4 the plan cannot "
               "be read.");
  return lint;
}

static CLI::App *addDiff(CLI::App &app, Flags &flags) {
  CLI::App *diff = app.add_subcommand("diff", "What differs between two plans");
  diff->add_option("first", flags.model,
                   "An artifact, or a file of --explain-json")
      ->required();
  diff->add_option("second", flags.other, "The other one")->required();
  diff->footer(
      "Exit status: 0 nothing differs, 1 something does, 2 wrong flags, "
      "4 one cannot be read.");
  return diff;
}

static CLI::App *addFromHf(CLI::App &app, Flags &flags) {
  CLI::App *fromHf = app.add_subcommand(
      "from-hf", "Make a model in ONNX of a folder of Hugging Face, by the "
                 "exporter that is installed");
  fromHf
      ->add_option("folder", flags.model,
                   "With config.json, weights and tokenizer; nothing is "
                   "downloaded")
      ->required();
  fromHf
      ->add_option("-o,--output", flags.output,
                   "Folder to make, with the model, tokenizer and "
                   "configuration")
      ->required();
  fromHf
      ->add_option("--exporter", flags.exporter,
                   "genai: the model builder of ONNX Runtime GenAI; optimum: "
                   "optimum-onnx; auto (default): the first that is there, for "
                   "models that are no decoders optimum alone")
      ->check(CLI::IsMember({"auto", "genai", "optimum"}));
  fromHf
      ->add_option("--precision", flags.exportPrecision,
                   "Of weights (default fp32); int8 and int4 by genai alone")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16", "int8", "int4"}));
  fromHf->add_option("--python", flags.python,
                     "The Python that has the exporter; without it "
                     "SHARDC_PYTHON, or the first of python3 and "
                     ".venv/bin/python that has one");
  fromHf->footer("Exit status: 0 the model compiles, 2 wrong flags, 3 it was "
                 "not exported\nor does not compile, 4 it cannot be written.");
  return fromHf;
}

Subcommands addSubcommands(CLI::App &app, Flags &flags, DimTexts &dims) {
  return {{Command::Plan, addPlan(app, flags, dims)},
          {Command::Check, addCheck(app, flags)},
          {Command::Verify, addVerify(app, flags, dims)},
          {Command::Explain, addExplain(app, flags, dims)},
          {Command::Lint, addLint(app, flags, dims)},
          {Command::Diff, addDiff(app, flags)},
          {Command::FromHf, addFromHf(app, flags)}};
}

} // namespace shardc
