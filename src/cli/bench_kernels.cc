// SPDX-License-Identifier: Apache-2.0
// ingot bench kernels: GB/s and GFLOP/s of every kernel, as shares of what this machine can do.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "api/device_choice.h"
#include "base/cpu.h"
#include "cli/bench_output.h"
#include "cli/command.h"
#include "cli/progress_bar.h"

namespace ingot {
namespace {

constexpr const char* kBenchKernelsFooter =
    R"(First what the machine can do: read bandwidth by threads and size of pages, multiplies and adds by
kind and instruction set. Then each kernel, as shares of that. NAME narrows the list to kernels with it
in their names; the scalar references, which are slow, run only when asked for by name. One thread is
timed by processor time, several by the wall clock.

Examples:
  ingot bench kernels
  ingot bench kernels linear_q4 -t 1
  ingot bench kernels attention --json
  ingot bench kernels --ceilings
  ingot bench kernels --device cuda
  ingot bench kernels barrier
  ingot bench kernels --plot kernels.svg)";

class BenchKernelsCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("kernels", "Measure each kernel of this machine");
    command->footer(kBenchKernelsFooter);
    command->add_option("NAME", options_.part, "A part of the kernels' names")->type_name("");
    command
        ->add_option("-t,--threads", threads_, "Threads to compute with (0: all cores we may use)")
        ->check(CLI::Range(0, 1024))
        ->type_name("N");
    command->add_flag("--ceilings", only_ceilings_, "Only what the machine can do, no kernel");
    command->add_flag("--quick", options_.is_quick,
                      "Small sizes, few repetitions: shows that all run, not how fast");
    command
        ->add_option("--device", device_,
                     "cpu, or cuda or cuda:N for what that GPU can do, without its kernels")
        ->type_name("NAME")
        ->capture_default_str();
    add_bench_output_flags(*command, output_);
    return command;
  }

  Status run() override {
    INGOT_TRY(check(output_));
    INGOT_TRY(const std::shared_ptr<Device> device, find_device(device_, "auto"));
    if (device != nullptr) return tell_of(*device);
    ThreadPool pool(threads_);
    const Exec exec(pool);
    const MachinePeaks peaks =
        measure_machine(exec, options_.is_quick ? CeilingDetail::kQuick : CeilingDetail::kAll);
    std::vector<KernelRecord> records;
    if (!only_ceilings_) {
      ProgressBar bar("Kernels");
      options_.progress = [&bar](double fraction, std::string_view name) {
        bar.set_label(std::string(name));
        bar.update(fraction);
      };
      records = bench_kernels(exec, options_);
    }
    if (records.empty() && !only_ceilings_) {
      return Status::not_found(
          "no kernel of this machine has '{}' in its name; see ingot bench kernels", options_.part);
    }
    BenchSetting setting;
    setting.json.emplace_back("machine", machine_json(exec, peaks));
    setting.line = fmt::format("{}; threads: {}", describe_cpu(), exec.threads());
    return tell(kernel_report(records, peaks), setting, output_);
  }

 private:
  Status tell_of(Device& device) {
    INGOT_TRY(const MachinePeaks peaks, measure_device(device));
    BenchSetting setting;
    setting.json.emplace_back("machine", device_json(device, peaks));
    setting.line = fmt::format("{} ({})", device.info().name, device.info().generation);
    return tell(device_report(peaks), setting, output_);
  }

  KernelBenchOptions options_;
  BenchOutputFlags output_;
  int threads_ = 0;
  bool only_ceilings_ = false;
  std::string device_ = "cpu";
};

}  // namespace

std::unique_ptr<Command> make_bench_kernels_command() {
  return std::make_unique<BenchKernelsCommand>();
}

}  // namespace ingot
