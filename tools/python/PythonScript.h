//===- PythonScript.h - A script in a Python that has a package -----------===//
#ifndef SHARDC_TOOLS_PYTHON_PYTHONSCRIPT_H
#define SHARDC_TOOLS_PYTHON_PYTHONSCRIPT_H

#include <string>
#include <vector>

namespace shardc {

/// How a script ends where the packages that it needs are not there; what it
/// printed last says which.
inline constexpr int kNoPackage = 77;

struct ScriptResult {
  /// Of the script; -1 where no Python has the packages.
  int status = -1;
  std::string python; ///< that it ran in
  std::string said;   ///< the last line that it printed
  std::string tried;  ///< Pythons without, and why: "python3 (no module x)"
};

/// Runs a script in `asked`; where that is empty in SHARDC_PYTHON, else in the
/// first of python3 on the PATH and .venv/bin/python that has its packages. What
/// it prints goes to the file `log`.
ScriptResult runPythonScript(const char *script,
                             const std::vector<std::string> &arguments,
                             const std::string &asked, const std::string &log);

} // namespace shardc

#endif // SHARDC_TOOLS_PYTHON_PYTHONSCRIPT_H
