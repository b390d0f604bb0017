#include "tools/shardrun/Prompt.h"

#include "tools/python/PythonScript.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace shardrun {

/// Nothing is imported: what the package lacks it says itself.
static constexpr char kLookFor[] = R"py(
import importlib.util, sys
sys.path = [folder for folder in sys.path if folder]
if importlib.util.find_spec("shardrt") is None:
    print("no package shardrt")
    sys.exit(77)
)py";

/// As -m does, but for the folder that it is started in.
static constexpr char kGenerate[] =
    "import sys; sys.path = [folder for folder in sys.path if folder]; "
    "from shardrt.cli import main; sys.exit(main(['generate', "
    "*sys.argv[1:]]))";

bool asksForText(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view flag = argument.substr(0, argument.find('='));
    if (flag == "--prompt" || flag == "--prompt-ids")
      return true;
  }
  return false;
}

int generate(int argc, char **argv) {
  const char *folder = std::getenv("TMPDIR");
  std::string log =
      std::string(folder && *folder ? folder : "/tmp") + "/shardrun-XXXXXX";
  const int made = mkstemp(log.data());
  if (made < 0) {
    std::fprintf(stderr,
                 "shardrun: error: cannot write %s; set TMPDIR to a folder "
                 "that can be written to\n",
                 log.c_str());
    return 4;
  }
  close(made);
  const shardc::ScriptResult found =
      shardc::runPythonScript(kLookFor, {}, "", log);
  std::remove(log.c_str());
  if (found.status != 0) {
    std::fprintf(stderr,
                 "shardrun: error: --prompt: what makes text of tokens is the "
                 "Python package's: pip install 'shardrt[generate]', or set "
                 "SHARDC_PYTHON to a Python that has it (tried: %s)\n",
                 found.tried.empty() ? found.said.c_str()
                                     : found.tried.c_str());
    return 2;
  }
  std::string python = found.python, option = "-c", script = kGenerate;
  std::vector<char *> arguments = {python.data(), option.data(), script.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  std::fprintf(stderr, "shardrun: error: cannot start %s: %s\n", python.c_str(),
               std::strerror(errno));
  return 4;
}

} // namespace shardrun
