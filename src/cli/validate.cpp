// lightline validate: runs a program here and in its framework, on the same random inputs.
#include <memory>

#include "api/validate.h"
#include "cli/cli.h"

namespace lightline::cli {
namespace {

struct ValidateOptions {
  std::string file;
  api::ValidateOptions validate;
  bool json = false;
};

int validate(const ValidateOptions& options) {
  const auto report = api::validate(options.file, options.validate, [](const std::string& text) { note(text); });
  if (!report.ok()) return report_error(report.error());
  options.json ? print(report::to_json(*report)) : print_lines(report::to_table(*report));
  return report->agrees() ? exit_ok : exit_negative;
}

}  // namespace

void add_validate(Command& root) {
  auto options = std::make_shared<ValidateOptions>();
  Command command = root.add("validate", "Run a program here and in its framework, and compare");
  command
      .option("FILE", options->file,
              "A file of PyTorch or JAX, module:function, a definition.json, or the folder of a GraphNet sample")
      .required();
  command.option("--form", options->validate.form, "Which form of a PyTorch program (default both)")
      .one_of(api::rules::validate_form);
  command.option("--backend", options->validate.backend, "What runs our side (default both)")
      .one_of(api::rules::validate_backend);
  command
      .option("--scale", options->validate.scale, api::rules::scale,
              "Scale the sizes at the top of a model.py by this factor")
      .shows_default();
  command.option("--seed", options->validate.seed, api::rules::seed, "Seed of weights and inputs").shows_default();
  command.option("--workload", options->validate.workload, api::rules::workload, "Which workload of a definition.json")
      .shows_default();
  command.flag("--backward", options->validate.backward, "Validate the training step: loss and gradients");
  command.flag("--json", options->json, "Print JSON (schema lightline.validate)");
  command.footer(
      "Examples:\n"
      "  lightline validate examples/pytorch/transformer_block.py\n"
      "  lightline validate examples/jax/mppi.py\n"
      "  lightline validate model.py --scale 0.1 --backend c\n"
      "  lightline validate model.py --backward --json");
  command.runs([options] { return validate(*options); });
}

}  // namespace lightline::cli
