//===- PythonScript.cpp - A script in a Python that has a package ---------===//
#include "tools/python/PythonScript.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace shardc {

static std::string lastLineOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Runs a program, found on the PATH; what it prints goes to a file. Its exit
/// status, -1 where it could not be started or was killed.
static int runProgram(const std::vector<std::string> &arguments,
                      const std::string &log) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  // This program's own ways with signals are not the other's.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, argv[0], &actions, &attributes,
                                   argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (problem != 0)
    return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

ScriptResult runPythonScript(const char *script,
                             const std::vector<std::string> &arguments,
                             const std::string &asked, const std::string &log) {
  std::vector<std::string> candidates = {"python3", ".venv/bin/python"};
  if (const char *named = std::getenv("SHARDC_PYTHON"); named && *named)
    candidates = {named};
  if (!asked.empty())
    candidates = {asked};
  ScriptResult result;
  for (const std::string &python : candidates) {
    std::vector<std::string> command = {python, "-c", script};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const int status = runProgram(command, log);
    const std::string said = lastLineOf(log);
    // 127: posix_spawn may tell so that there is no such program.
    if (status != kNoPackage && status != -1 && status != 127) {
      result.status = status;
      result.python = python;
      result.said = said;
      return result;
    }
    result.tried +=
        (result.tried.empty() ? "" : ", ") + python +
        (status == kNoPackage ? " (" + said + ")" : " (does not start)");
  }
  return result;
}

} // namespace shardc
