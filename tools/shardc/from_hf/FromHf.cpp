//===- FromHf.cpp - A folder of Hugging Face becomes a model in ONNX ------===//
#include "tools/shardc/from_hf/FromHf.h"

#include "compiler/Compile.h"
#include "compiler/check/Check.h"
#include "compiler/files/ScratchFolder.h"
#include "compiler/files/StagingFolder.h"
#include "tools/python/PythonScript.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace fs = std::filesystem;

namespace shardc {

/// Arguments: folder, output, exporter, precision. What the exporter prints goes
/// where this script's prints go; its last line is then the reason. Its status is
/// kBadConfig where config.json is not as it has to be.
static constexpr char kExportScript[] = R"py(
import sys
sys.path = [folder for folder in sys.path if folder]
import importlib.metadata, importlib.util, json, os, re, shutil, subprocess
folder, out, exporter, precision = sys.argv[1:]

def refuse(why):
    print(why)
    sys.exit(78)

try:
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
except OSError as error:
    refuse("cannot be read: %s" % error.strerror)
except (ValueError, RecursionError) as error:
    refuse("is no JSON: %s" % error)
if not isinstance(config, dict):
    refuse("is no object of JSON: expected that of a model of Hugging Face")
names = config.get("architectures")
if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
    refuse("'architectures' is %s: expected a list of names, [\"LlamaForCausalLM\"] say" % json.dumps(names)[:100])
architecture = (names or [""])[0]
both = bool(config.get("is_encoder_decoder"))
decodes = not both and architecture.endswith(("CausalLM", "LMHeadModel"))
tasks = {"ForMaskedLM": "fill-mask", "ForSequenceClassification": "text-classification",
         "ForTokenClassification": "token-classification", "ForQuestionAnswering": "question-answering",
         "ForMultipleChoice": "multiple-choice", "ForImageClassification": "image-classification",
         "ForAudioClassification": "audio-classification", "ForCTC": "automatic-speech-recognition"}
# Modules; packages, and the oldest version that is tested.
needs = {
    "genai": (["onnxruntime_genai.models.builder", "onnx_ir", "torch", "transformers"],
              {"onnxruntime-genai": "0.18", "onnx-ir": "", "torch": "", "transformers": "5"}),
    "optimum": (["optimum.exporters.onnx"], {"optimum-onnx": "0.1"}),
}

def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False

def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)[:3]]

def too_old(package, oldest):
    """What is there, if it is older: not where none tells its version, as in a folder of sources."""
    for name in (package, package + "-cuda", package + "-directml"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if numbers(version) < numbers(oldest):
            return "%s %s is there, expected %s or newer" % (name, version, oldest)
    return ""

def install(name):
    return "pip install " + " ".join('"%s>=%s"' % each if each[1] else each[0] for each in needs[name][1].items())

def command(name):
    if name == "genai":
        provider = "cuda" if precision in ("fp16", "bf16") else "cpu"
        # Caches of whole texts, also where it would keep a window's.
        return ["onnxruntime_genai.models.builder", "-i", folder, "-o", out, "-p", precision, "-e", provider,
                "-c", os.path.join(out, ".cache"), "--extra_options", "windowed_kv_cache=false"]
    if both:
        speaks = config.get("model_type") in ("whisper", "speech_to_text", "moonshine")
        task = "automatic-speech-recognition-with-past" if speaks else "text2text-generation-with-past"
    elif decodes:
        task = "text-generation-with-past"
    else:
        task = next((tasks[end] for end in tasks if architecture.endswith(end)), "feature-extraction")
    return ["optimum.exporters.onnx", "--model", folder, "--task", task,
            *(["--dtype", precision] if precision != "fp32" else []), out]

# As -m would, but for the folder that this one is started in.
start = ("import sys; sys.path = [folder for folder in sys.path if folder]; sys.argv = sys.argv[1:]; import runpy; "
         "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)")
suits = [exporter] if exporter != "auto" else ["genai", "optimum"] if decodes else ["optimum"]
if exporter == "auto" and precision in ("int4", "int8"):
    suits = ["genai"]
there = [name for name in suits if all(map(is_there, needs[name][0]))]
old = {name: list(filter(None, (too_old(*each) for each in needs[name][1].items()))) for name in there}
installed = [name for name in there if not old[name]]
if not installed:
    found = ["", *(each for name in there for each in old[name])]
    print("no exporter for it" + ": ".join(found[:2]) + "".join(", " + each for each in found[2:]) + "; " + ", or ".join(map(install, suits)))
    sys.exit(77)
for name in installed:
    for entry in os.listdir(out):
        path = os.path.join(out, entry)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    done = subprocess.run([sys.executable, "-c", start, *command(name)], env=os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
    if done.returncode == 0:
        break
else:
    sys.exit(1)
shutil.rmtree(os.path.join(out, ".cache"), ignore_errors=True)
for entry in os.listdir(folder):
    kept = entry.endswith((".json", ".jinja", ".txt", ".model")) and "index" not in entry
    if kept and not os.path.exists(os.path.join(out, entry)):
        shutil.copy(os.path.join(folder, entry), out)
)py";

namespace {

constexpr int kBadConfig = 78;

int failWith(ExitCode code, const std::string &what) {
  llvm::errs() << "error: " << what << "\n";
  return static_cast<int>(code);
}

std::vector<std::string> modelsIn(const fs::path &folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".onnx")
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// Which are to be compiled: a merged decoder stands for the two that it was made of.
std::vector<std::string> chosenOf(std::vector<std::string> models) {
  const auto isThere = [&](const char *name) {
    return std::binary_search(models.begin(), models.end(), name);
  };
  if (isThere("decoder_model_merged.onnx"))
    llvm::erase_if(models, [](const std::string &name) {
      return name == "decoder_model.onnx" ||
             name == "decoder_with_past_model.onnx";
    });
  return models;
}

std::string runExporter(const FromHfOptions &options, const fs::path &into) {
  std::error_code failed;
  files::ScratchFolder scratch;
  const fs::path beside = fs::temp_directory_path(failed) / "shardc-from-hf";
  if (std::string problem = scratch.create(beside, /*isPrivate=*/true);
      !problem.empty())
    return problem;
  const ScriptResult result =
      runPythonScript(kExportScript,
                      {fs::absolute(options.folder, failed), into,
                       options.exporter, options.precision},
                      options.python, scratch.path() + "/log");
  if (result.status == 0)
    return "";
  if (result.status == kBadConfig)
    return options.folder + "/config.json: " + result.said;
  if (result.status > 0)
    return options.folder + ": the exporter failed: " +
           (result.said.empty() ? "no reason given" : result.said);
  return "from-hf: no Python with an exporter: tried " + result.tried +
         "; or name one with --python or SHARDC_PYTHON";
}

} // namespace

int exportFromHf(const FromHfOptions &options) {
  std::error_code failed;
  if (!fs::exists(fs::path(options.folder) / "config.json", failed))
    return failWith(ExitCode::Model,
                    options.folder +
                        ": has no config.json; expected a folder of Hugging "
                        "Face: config.json, weights, tokenizer.json");
  if (fs::exists(options.output, failed))
    return failWith(ExitCode::Artifact, "cannot write " + options.output +
                                            ": it exists; choose another name");
  files::StagingFolder staging(options.output);
  std::string problem = staging.create();
  if (!problem.empty())
    return failWith(ExitCode::Artifact, problem);
  problem = runExporter(options, staging.path());
  if (!problem.empty())
    return failWith(ExitCode::Model, problem);
  const std::vector<std::string> models = modelsIn(staging.path());
  if (models.empty())
    return failWith(ExitCode::Model,
                    options.folder + ": the exporter wrote no .onnx file");
  if (problem = staging.publish(); !problem.empty())
    return failWith(ExitCode::Artifact, problem);
  int status = 0;
  for (const std::string &name : chosenOf(models))
    status = std::max(status, static_cast<int>(checkModel(
                                  (fs::path(options.output) / name).string(),
                                  /*asJson=*/false, llvm::outs())));
  return status;
}

} // namespace shardc
