// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_output.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/output.h"

namespace ingot {
namespace {

bool is_page(const std::string& path) {
  return path.ends_with(".html") || path.ends_with(".htm");
}

Status write_plot(const BenchReport& report, const BenchSetting& setting, const std::string& path) {
  std::string text;
  if (is_page(path)) {
    std::vector<TextTable> tables = report.tables;
    if (!tables.empty() && tables[0].title.empty()) tables[0].title = setting.line;
    text = to_html(report.title, report.plots, tables);
  } else {
    text = to_svg(report.plots);
  }
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(text));
  return file.commit();
}

}  // namespace

void add_bench_output_flags(CLI::App& command, BenchOutputFlags& flags) {
  command.add_flag("--json", flags.json, "Print one object with all numbers and the machine");
  command
      .add_option("--plot", flags.plot, "Also draw the results: FILE.svg, or FILE.html with tables")
      ->type_name("FILE");
}

Status check(const BenchOutputFlags& flags) {
  if (flags.plot.empty() || is_page(flags.plot) || flags.plot.ends_with(".svg"))
    return Status::ok();
  return Status::invalid_argument("--plot is '{}' but must end in .svg or .html", flags.plot);
}

Status tell(const BenchReport& report, const BenchSetting& setting, const BenchOutputFlags& flags) {
  if (!flags.plot.empty()) {
    INGOT_TRY(write_plot(report, setting, flags.plot));
  }
  if (flags.json) {
    Json object = {{"benchmark", report.title}};
    for (const auto& fields : {setting.json, report.json}) {
      for (const auto& [name, value] : fields)
        object[name] = value;
    }
    return print_json(object);
  }
  std::string text = setting.line + "\n";
  for (const TextTable& table : report.tables)
    text += "\n" + table.to_text();
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes)
    text += note + "\n";
  return print(without_control_characters(text));
}

}  // namespace ingot
