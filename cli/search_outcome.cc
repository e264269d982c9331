#include "cli/search_outcome.h"

#include <fmt/core.h>

#include "ropewalk/study/winners.h"

namespace ropewalk {
namespace {

void take_if_lower(const Candidate& candidate, const Candidate*& lowest) {
  if (lowest == nullptr || rank_value(candidate) < rank_value(*lowest)) lowest = &candidate;
}

}  // namespace

SearchOutcome search_outcome(const std::vector<Candidate>& candidates) {
  SearchOutcome outcome{.lowest = {{.portable = true}, {.portable = false}}};
  for (const Candidate& candidate : candidates) {
    const bool searched = !candidate.found_by.empty();
    outcome.tried += searched;
    outcome.fell_out += searched && !candidate.finalist;
    if (!candidate.finalist || candidate.truncates) continue;
    SearchOutcome::Pair& pair = outcome.lowest[candidate.portability.portable ? 0 : 1];
    take_if_lower(candidate, searched ? pair.found : pair.grid);
  }
  return outcome;
}

std::vector<std::string> search_sentences(const std::vector<Candidate>& candidates,
                                          const std::string& engine) {
  const SearchOutcome outcome = search_outcome(candidates);
  if (outcome.tried == 0) return {};
  std::vector<std::string> sentences = {
      fmt::format("Search past the grid: {} settings tried, {} of them fell out after one window.",
                  outcome.tried, outcome.fell_out)};
  if (outcome.has_finds())
    sentences.front() += fmt::format(
        " Figures are what settings are ranked by: the loss beyond, less {} of the gain on copies.",
        kCopyShare);
  for (const SearchOutcome::Pair& pair : outcome.lowest) {
    if (pair.found == nullptr) continue;
    std::string& text = sentences.emplace_back(
        fmt::format("Of those that {} {}, the lowest found is {}, {}: {:.3f}", engine,
                    pair.portable ? "runs" : "does not run", pair.found->scheme,
                    pair.found->found_by, rank_value(*pair.found)));
    if (pair.grid != nullptr)
      text += fmt::format("; of the grid {}: {:.3f}", pair.grid->scheme, rank_value(*pair.grid));
    text += ".";
  }
  return sentences;
}

std::string search_text(const std::vector<Candidate>& candidates, const std::string& engine) {
  std::string text;
  for (const std::string& sentence : search_sentences(candidates, engine))
    text += (text.empty() ? "" : "  ") + sentence + "\n";
  return text;
}

}  // namespace ropewalk
