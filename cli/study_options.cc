#include "cli/study_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/model_options.h"
#include "cli/option_checks.h"
#include "ropewalk/base/error.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {

void TextOptions::add_to(CLI::App& command) {
  CLI::Option_group* input = command.add_option_group("input");
  input->add_option("--text", texts, "Text files; each is one document")->check(names_file());
  input
      ->add_option(
          "--ids", ids,
          "JSON arrays of token ids, each one document, taken as they are: no BOS is added")
      ->check(names_file());
  input->require_option(1);
  command.add_option("--windows", most_windows, "Most windows to measure on, spread over the text")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
}

std::vector<Document> read_documents(const std::vector<std::string>& paths,
                                     const ModelFile& model) {
  std::vector<Document> documents;
  for (const std::string& path : paths) {
    documents.push_back(
        {path, tokenizer_of(model).encode(read_text(path), {.add_special = false})});
  }
  return documents;
}

StudyText read_study_text(const TextOptions& options, const ModelFile& model, int64_t length) {
  StudyText text;
  for (const std::string& path : options.ids) text.documents.push_back({path, read_ids(path)});
  std::ranges::move(read_documents(options.texts, model), std::back_inserter(text.documents));
  text.bos = options.ids.empty() && tokenizer_of(model).adds_bos();
  WindowSet set =
      cut_windows(text.documents, text.bos ? tokenizer_of(model).bos() : std::nullopt, length);
  text.available_windows = set.windows.size();
  text.dropped_tokens = set.dropped_tokens;
  text.windows = spread(std::move(set.windows), options.most_windows);
  return text;
}

std::vector<std::string> distinct_schemes(const std::vector<std::string>& schemes) {
  std::set<std::string> seen;
  std::vector<std::string> distinct;
  std::ranges::copy_if(schemes, std::back_inserter(distinct), [&](const std::string& scheme) {
    return seen.insert(parse_scheme(scheme).text()).second;
  });
  return distinct;
}

int64_t StudyText::longest_window() const {
  size_t longest = 0;
  for (const Window& window : windows) longest = std::max(longest, window.ids.size());
  return static_cast<int64_t>(longest);
}

std::string StudyText::describe() const {
  size_t tokens = 0;
  for (const Document& document : documents) tokens += document.ids.size();
  size_t scored = 0;
  for (const Window& window : windows) scored += window.ids.size() - 1;
  return fmt::format(
      "{} document{} of {} tokens; {} of {} windows of up to {} tokens, {} scored tokens, {} left "
      "over; {}",
      documents.size(), documents.size() == 1 ? "" : "s", tokens, windows.size(), available_windows,
      longest_window(), scored, dropped_tokens, bos ? "BOS before every window" : "no BOS");
}

}  // namespace ropewalk
