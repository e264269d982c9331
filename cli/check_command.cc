#include "cli/check_command.h"

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/progress.h"
#include "ropewalk/base/error.h"
#include "ropewalk/study/bootstrap.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {
namespace {

struct Options {
  ModelOptions model;
  std::string text;
};

// A model that has learnt nothing loses ln(vocabulary) per token; one whose weights fit does much
// better on any text.
constexpr double kLeastGain = 0.5;
constexpr int64_t kWindow = 512;
constexpr size_t kWindows =
    8;  // spread over the text: its first page alone may be a title and white space

// The first value of a tensor that is no number, named.
void check_finite(const TensorSource& source, const TensorInfo& info) {
  if (!is_decodable(info.type)) return;
  const uint64_t columns = row_length(info);
  const uint64_t rows = row_count(info);
  const uint64_t step = std::max<uint64_t>(1, (uint64_t{1} << 20) / std::max<uint64_t>(columns, 1));
  std::vector<float> values;
  for (uint64_t first = 0; first < rows; first += step) {
    const uint64_t count = std::min(step, rows - first);
    values.resize(count * columns);
    source.read_rows(info, first, count, values);
    for (size_t k = 0; k < values.size(); ++k) {
      if (std::isfinite(values[k])) continue;
      throw Error(
          info.name, "must hold finite numbers",
          fmt::format("{} in row {}, column {}", values[k], first + k / columns, k % columns),
          "the file is damaged: fetch or convert it anew");
    }
  }
}

struct ScoredText {
  double mean = 0;  // nats per token
  int64_t tokens = 0;
};

ScoredText score(const Model& model, const std::string& text) {
  const Tokenizer& tokenizer = model.tokenizer();
  const int64_t trained = trained_length(model.config());
  const std::vector<Document> documents = {
      {"--text", tokenizer.encode(text, {.add_special = false})}};
  WindowSet set = cut_windows(documents, tokenizer.adds_bos() ? tokenizer.bos() : std::nullopt,
                              trained > 1 ? std::min(kWindow, trained) : kWindow);
  const Positions positions = make_positions(model.config(), {});
  Tally all;
  for (const Window& window : spread(std::move(set.windows), kWindows)) {
    for (const double loss : model.losses(window.ids, positions)) all.add(loss);
  }
  return {all.sum / static_cast<double>(all.count), all.count};
}

void run(const Options& options) {
  ModelFile file = open_model(options.model.path);
  for (const TensorInfo& info : file.tensors->tensors()) check_finite(*file.tensors, info);
  const size_t n_tensors = file.tensors->tensors().size();
  const int64_t vocabulary = file.config.shape.vocabulary;
  const std::vector<Finding> findings = file.config.findings;
  const bool can_tokenize = file.tokenizer != nullptr;
  file = {};
  const Model model = options.model.load();

  fmt::print("{}: {} tensors, all finite, all where the {} architecture expects them\n",
             options.model.path, n_tensors, model.config().architecture);
  for (const Finding& finding : findings) fmt::print("note: {}\n", finding.text);
  if (options.text.empty()) {
    fmt::print("without --text nothing tells whether the weights fit the architecture\n");
    return;
  }
  if (!can_tokenize) model.tokenizer();  // throws, saying why
  const ScoredText scored = score(model, read_text(options.text));
  const double mean = scored.mean;
  const double bound = std::log(static_cast<double>(vocabulary)) - kLeastGain;
  fmt::print("mean loss {:.4f} nats over {} tokens; knowing nothing would cost {:.4f}\n", mean,
             scored.tokens, std::log(static_cast<double>(vocabulary)));
  if (!(mean <= bound)) {
    throw Error(
        options.model.path,
        fmt::format("the weights do not fit this architecture: mean loss must be below {:.4f}",
                    bound),
        fmt::format("{:.4f}", mean),
        "matrices may be transposed, q and k rows permuted, or the tokenizer another model's");
  }
  fmt::print("the weights fit this architecture\n");
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "check", "Name what is damaged in a model file; exit status 1 if anything is");
  options->model.add_to(*command);
  command->add_option("--text", options->text,
                      "A text in the model's language: do the weights fit the architecture?");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
