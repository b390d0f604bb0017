//===- Unexpected.h - What a program says of a flag it does not know ------===//
//
//   --tpp: there is no such flag; did you mean --tp?
//   --sp takes no value: leave it out
//
// For files that use CLI11, which throws.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_FLAGS_UNEXPECTED_H
#define SHARDC_TOOLS_FLAGS_UNEXPECTED_H

#include <CLI/CLI.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace shardc {

/// How many letters to put in, leave out or change makes `b` of `a`.
inline size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// The name nearest to a misspelt one, of several that which begins like it; ""
/// where none is near.
inline std::string nearestName(const std::string &name,
                               const std::vector<std::string> &known) {
  std::string nearest;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  auto alike = [&](const std::string &candidate) {
    size_t count = 0;
    while (count < std::min(name.size(), candidate.size()) &&
           name[count] == candidate[count])
      ++count;
    return count;
  };
  for (const std::string &candidate : known) {
    const size_t distance = editDistance(name, candidate);
    if (distance > least ||
        (distance == least &&
         (nearest.empty() || alike(candidate) <= alike(nearest))))
      continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/// The subcommand whose flags these are, or the program.
inline const CLI::App &parsedOf(const CLI::App &app) {
  const CLI::App *parsed = &app;
  for (const CLI::App *sub : app.get_subcommands())
    parsed = sub;
  return *parsed;
}

/// The first of what the command line has too much.
inline std::string unexpectedText(const CLI::App &app) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  auto flag = std::find_if(rest.begin(), rest.end(), [](const auto &text) {
    return text.size() > 1 && text[0] == '-';
  });
  if (flag == rest.end())
    return rest.empty() ? "the command line is not understood"
                        : rest.front() + ": expected no such argument";
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> known;
  for (const CLI::Option *option : parsedOf(app).get_options())
    for (const std::string &longName : option->get_lnames())
      known.push_back("--" + longName);
  const std::string nearest = nearestName(name, known);
  return name + ": there is no such flag" +
         (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

/// What is wrong with the command line. CLI11 says of --sp=2 "sp was given a
/// disallowed flag override", and of --tp two "Could not convert: --tp = two".
inline std::string mistakeText(const CLI::App &app,
                               const CLI::ParseError &error) {
  const std::string said = error.what();
  if (const size_t end = said.find(" was given a disallowed flag override");
      end != std::string::npos)
    return "--" + said.substr(0, end) + " takes no value: leave it out";
  constexpr std::string_view badValue = "Could not convert: ";
  const size_t equals = said.find(" = ");
  if (said.rfind(badValue, 0) != 0 || equals == std::string::npos)
    return said;
  const std::string name =
      said.substr(badValue.size(), equals - badValue.size());
  const CLI::Option *option = parsedOf(app).get_option_no_throw(name);
  const bool isInteger =
      option && option->get_type_name().find("INT") != std::string::npos;
  return name + " " + said.substr(equals + 3) + ": expected " +
         (isInteger ? "an integer" : "a number");
}

} // namespace shardc

#endif // SHARDC_TOOLS_FLAGS_UNEXPECTED_H
