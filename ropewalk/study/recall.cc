#include "ropewalk/study/recall.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "ropewalk/engine/part_of_progress.h"
#include "ropewalk/study/pick.h"

namespace ropewalk {
namespace {

// ---- making: sentences, then tokens

constexpr size_t kDigits = 5;
constexpr size_t kChoices = 8;      // of numbers: the right one and seven others
constexpr int64_t kFreeTokens = 8;  // beyond the right answer's, of the model's own
constexpr int64_t kSaidOver = 48;   // tokens of the passage that passkeys lie in
constexpr std::array kNames = {"Alder",   "Birch",  "Cedar",  "Damson",  "Elder",  "Fennel",
                               "Garlic",  "Hazel",  "Iris",   "Juniper", "Laurel", "Maple",
                               "Nettle",  "Orchid", "Poppy",  "Quince",  "Rowan",  "Sorrel",
                               "Thistle", "Violet", "Willow", "Yarrow"};

struct DraftQuestion {
  std::string text;
  std::vector<std::string> choices;  // the first is right
  std::string place;
  size_t needle = 0;
};

struct Draft {
  std::vector<double> depths;
  std::vector<std::string> needles;  // (depths.size())
  std::vector<DraftQuestion> questions;
  bool said_over = false;  // the filler is one short passage
  bool free = false;       // the model's own answer is asked for
  std::string not_run;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string percent(double depth) { return fmt::format("{:.4g} %", 100 * depth); }

class Maker {
 public:
  Maker(const Tokenizer& tokenizer, const std::vector<Document>& documents, const RecallPlan& plan)
      : tokenizer_(tokenizer), documents_(documents), plan_(plan) {
    std::vector<std::string> names(kNames.begin(), kNames.end());
    for (const Document& document : documents) {
      const std::string text = tokenizer.decode(document.ids);
      for (size_t first = 0; first + kDigits <= text.size(); ++first) {
        const std::string part = text.substr(first, kDigits);
        if (std::ranges::all_of(part, is_digit)) numbers_.insert(part);
      }
      for (std::string& name : names) {
        if (text.find(name) != std::string::npos) name.clear();
      }
    }
    std::ranges::copy_if(names, std::back_inserter(names_),
                         [](const std::string& name) { return !name.empty(); });
  }

  std::vector<Haystack> make() {
    std::vector<Haystack> all;
    for (const RecallTask task : plan_.tasks) {
      for (const int64_t length : plan_.lengths) {
        for (int64_t trial = 0; trial < plan_.trials; ++trial) {
          for (const Draft& draft : drafts(task, length, trial))
            all.push_back(assemble(draft, task, length, trial));
        }
      }
    }
    return all;
  }

 private:
  void seed(RecallTask task, int64_t length, int64_t trial) {
    std::seed_seq parts = {static_cast<uint32_t>(plan_.seed),
                           static_cast<uint32_t>(plan_.seed >> 32), static_cast<uint32_t>(task),
                           static_cast<uint32_t>(length), static_cast<uint32_t>(trial)};
    generator_.seed(parts);
  }

  std::vector<int32_t> encode(const std::string& text) const {
    return tokenizer_.encode(text, {.add_special = false});
  }

  // As it is spelled behind the question where the tokenizer leaves the question's tokens as they
  // are.
  std::vector<int32_t> encode_answer(const std::string& question, const std::string& answer) const {
    const std::vector<int32_t> asked = encode(question);
    const std::vector<int32_t> both = encode(question + " " + answer);
    if (both.size() > asked.size() && std::equal(asked.begin(), asked.end(), both.begin()))
      return {both.begin() + std::ssize(asked), both.end()};
    return encode(" " + answer);
  }

  // Those that are of as many tokens behind the question as most of them, in their order.
  std::vector<std::string> alike(const std::vector<std::string>& answers,
                                 const std::string& question) const {
    std::map<size_t, std::vector<std::string>> by_tokens;
    for (const std::string& answer : answers)
      by_tokens[encode_answer(question, answer).size()].push_back(answer);
    std::vector<std::string> most;
    for (auto& [tokens, own] : by_tokens) {
      if (own.size() > most.size()) most = std::move(own);
    }
    return most;
  }

  // Numbers of five digits that the text has not, all of as many tokens; nothing where there are
  // not as many.
  std::vector<std::string> draw_codes(size_t count, const std::string& question) {
    constexpr size_t kDrawn = 16;  // for each, so that enough are alike
    std::set<std::string> drawn;
    std::vector<std::string> codes;
    for (size_t tries = 0; tries < 4 * kDrawn * count && codes.size() < kDrawn * count; ++tries) {
      std::string code = std::to_string(10000 + pick(generator_, 90000));
      if (!numbers_.contains(code) && drawn.insert(code).second) codes.push_back(std::move(code));
    }
    codes = alike(codes, question);
    codes.resize(codes.size() < count ? 0 : count);
    return codes;
  }

  // Names in any order; of as many tokens as each other, where they are answers. Nothing where
  // there are not as many.
  std::vector<std::string> draw_names(size_t count, bool equal_tokens) {
    std::vector<std::string> names = names_;
    for (size_t k = names.size(); k > 1; --k) std::swap(names[k - 1], names[pick(generator_, k)]);
    if (equal_tokens) names = alike(names, "was");
    names.resize(names.size() < count ? 0 : count);
    return names;
  }

  std::vector<Draft> drafts(RecallTask task, int64_t length, int64_t trial) {
    // Two trials share their names, in reverse: who favours a name gains nothing by it.
    seed(task, length, task == RecallTask::kOrder ? trial / 2 : trial);
    std::vector<Draft> all;
    switch (task) {
      case RecallTask::kPasskey:
        for (const double depth : plan_.depths) all.push_back(passkey(depth));
        break;
      case RecallTask::kNeedles:
        all.push_back(needles());
        break;
      case RecallTask::kLatest:
        all.push_back(latest());
        break;
      case RecallTask::kOrder:
        all.push_back(order(trial % 2 == 1));
        break;
    }
    return all;
  }

  Draft passkey(double depth) {
    const std::string question = "\nWhat is the pass key? The pass key is";
    const std::vector<std::string> codes = draw_codes(kChoices, question);
    if (codes.empty()) return without_words();
    return {.depths = {depth},
            .needles = {"\nThe pass key is " + codes[0] + ". Remember it.\n"},
            .questions = {{.text = question, .choices = codes, .place = percent(depth)}},
            .said_over = true,
            .free = true};
  }

  static std::string code_sentence(const std::string& name, const std::string& code) {
    return "\nThe code of " + name + " is " + code + ".\n";
  }

  static Draft without_words() {
    return {.not_run = "the text has too many of the names or numbers that needles would have"};
  }

  Draft needles() {
    const size_t count = plan_.depths.size();
    const std::vector<std::string> names = draw_names(count, false);
    if (names.empty()) return without_words();
    const auto question = [](const std::string& name) {
      return "\nWhat is the code of " + name + "? The code of " + name + " is";
    };
    const std::vector<std::string> codes =
        draw_codes(std::max(count, kChoices), question(names[0]));
    if (codes.empty()) return without_words();
    Draft draft{.depths = plan_.depths, .free = true};
    for (size_t k = 0; k < count; ++k) {
      draft.needles.push_back(code_sentence(names[k], codes[k]));
      std::vector<std::string> choices = codes;
      std::swap(choices[0], choices[k]);
      choices.resize(kChoices);
      draft.questions.push_back({.text = question(names[k]),
                                 .choices = std::move(choices),
                                 .place = percent(plan_.depths[k]),
                                 .needle = k});
    }
    return draft;
  }

  Draft latest() {
    const size_t count = plan_.depths.size();
    const std::vector<std::string> names = draw_names(1, false);
    if (names.empty()) return without_words();
    if (count < 2) return {.not_run = "needs two depths"};
    const std::string question =
        "\nWhat is the code of " + names[0] + " now? The code of " + names[0] + " is";
    std::vector<std::string> codes = draw_codes(count, question);
    if (codes.empty()) return without_words();
    Draft draft{.depths = plan_.depths, .free = true};
    for (const std::string& code : codes) draft.needles.push_back(code_sentence(names[0], code));
    std::swap(codes.front(), codes.back());
    draft.questions.push_back({.text = question,
                               .choices = codes,
                               .place = fmt::format("last of {}", count),
                               .needle = count - 1});
    return draft;
  }

  Draft order(bool reversed) {
    const size_t count = plan_.depths.size();
    if (count < 2) return {.not_run = "needs two depths"};
    std::vector<std::string> names = draw_names(count, true);
    if (names.empty()) return without_words();
    if (reversed) std::ranges::reverse(names);
    Draft draft{.depths = plan_.depths};
    for (const std::string& name : names)
      draft.needles.push_back("\n" + name + " came to the gate.\n");
    const auto compare = [&](size_t a, size_t b) {
      for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
        draft.questions.push_back(
            {.text = "\nOf " + names[one] + " and " + names[other] +
                     ", the first to come to the gate was",
             .choices = {names[a], names[b]},
             .place = percent(plan_.depths[a]) + " and " + percent(plan_.depths[b]),
             .needle = a});
      }
    };
    for (size_t k = 0; k + 1 < count; ++k) compare(k, k + 1);
    if (count > 2) compare(0, count - 1);
    return draft;
  }

  void add_questions(const Draft& draft, Haystack& haystack) const {
    for (const DraftQuestion& asked : draft.questions) {
      Question question{.ids = encode(asked.text)};
      for (const std::string& choice : asked.choices)
        question.choices.push_back(encode_answer(asked.text, choice));
      if (draft.free) question.free_tokens = std::ssize(question.choices[0]) + kFreeTokens;
      haystack.questions.push_back(std::move(question));
      haystack.probes.push_back({.place = asked.place, .answer = asked.choices[0]});
    }
  }

  // Tokens of the user's text in a row, or fewer where no document has as many.
  std::vector<int32_t> cut_filler(int64_t count) {
    std::vector<const Document*> enough;
    for (const Document& document : documents_) {
      if (std::ssize(document.ids) >= count) enough.push_back(&document);
    }
    if (enough.empty()) return {};
    const std::vector<int32_t>& ids = enough[pick(generator_, enough.size())]->ids;
    const auto first =
        static_cast<int64_t>(pick(generator_, static_cast<size_t>(std::ssize(ids) - count + 1)));
    return {ids.begin() + first, ids.begin() + first + count};
  }

  std::vector<int32_t> filler(int64_t count, bool said_over) {
    const int64_t passage = said_over ? std::min(count, kSaidOver) : count;
    const std::vector<int32_t> once = cut_filler(passage);
    std::vector<int32_t> all;
    for (int64_t t = 0; t < count && !once.empty(); ++t)
      all.push_back(once[static_cast<size_t>(t % passage)]);
    return all;
  }

  Haystack assemble(const Draft& draft, RecallTask task, int64_t length, int64_t trial) {
    Haystack haystack{.task = task, .length = length, .trial = trial, .not_run = draft.not_run};
    if (!haystack.not_run.empty()) return haystack;
    add_questions(draft, haystack);
    std::vector<std::vector<int32_t>> needles;
    int64_t taken = tokens_of({}, haystack.questions);
    if (tokenizer_.adds_bos()) haystack.text.push_back(*tokenizer_.bos());
    taken += std::ssize(haystack.text);
    for (const std::string& needle : draft.needles)
      taken += std::ssize(needles.emplace_back(encode(needle)));
    const int64_t room = length - taken;
    if (room < taken) {
      haystack.not_run = fmt::format("needles and question take {} of {} tokens", taken, length);
      return haystack;
    }
    seed(task, length, -1 - trial);
    const std::vector<int32_t> around = filler(room, draft.said_over);
    if (around.empty()) {
      haystack.not_run = fmt::format("no document has {} tokens", room);
      return haystack;
    }
    lay(draft, needles, around, haystack);
    return haystack;
  }

  static void lay(const Draft& draft, const std::vector<std::vector<int32_t>>& needles,
                  const std::vector<int32_t>& around, Haystack& haystack) {
    std::vector<int64_t> positions;
    int64_t used = 0;
    for (size_t k = 0; k < needles.size(); ++k) {
      const auto upto = static_cast<int64_t>(draft.depths[k] * static_cast<double>(around.size()));
      haystack.text.insert(haystack.text.end(), around.begin() + used, around.begin() + upto);
      used = upto;
      positions.push_back(std::ssize(haystack.text));
      haystack.text.insert(haystack.text.end(), needles[k].begin(), needles[k].end());
    }
    haystack.text.insert(haystack.text.end(), around.begin() + used, around.end());
    for (size_t q = 0; q < haystack.probes.size(); ++q)
      haystack.probes[q].position = positions[draft.questions[q].needle];
  }

  const Tokenizer& tokenizer_;
  const std::vector<Document>& documents_;
  const RecallPlan& plan_;
  std::set<std::string> numbers_;   // of five digits that the documents have
  std::vector<std::string> names_;  // that they have not
  std::mt19937_64 generator_;
};

// ---- measuring

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The share of the right choice among those of the lowest loss.
double found(const std::vector<std::vector<double>>& losses) {
  const double right = sum(losses[0]);
  int64_t as_low = 0;
  for (const auto& choice : losses) {
    if (sum(choice) < right) return 0;
    if (sum(choice) == right) ++as_low;
  }
  return 1 / static_cast<double>(as_low);
}

struct Collected {
  RecallCell cell;
  int64_t trial = -1;  // the last one added
  Tally depth;
  std::vector<Tally> found, gain, loss, strict, loose;  // (trials)
};

void add(const Haystack& haystack, size_t q, const Answer& answer, const Tokenizer& tokenizer,
         Collected& into) {
  const Question& question = haystack.questions[q];
  const int64_t length = achieved_length(haystack);
  into.cell.achieved_length =
      into.found.empty() ? length : std::min(into.cell.achieved_length, length);
  into.cell.chance = 1 / static_cast<double>(question.choices.size());
  into.depth.add(static_cast<double>(haystack.probes[q].position) / static_cast<double>(length));
  if (into.trial != haystack.trial) {
    into.trial = haystack.trial;
    for (auto* tallies : {&into.found, &into.gain, &into.loss, &into.strict, &into.loose})
      tallies->emplace_back();
  }
  const auto tokens = static_cast<double>(question.choices[0].size());
  double wrong = 0;
  for (size_t c = 1; c < answer.losses.size(); ++c) wrong += sum(answer.losses[c]);
  wrong /= static_cast<double>(answer.losses.size() - 1);
  into.found.back().add(found(answer.losses));
  into.gain.back().add((wrong - sum(answer.losses[0])) / tokens);
  into.loss.back().add(sum(answer.losses[0]) / tokens);
  if (question.free_tokens == 0) return;
  const std::vector<int32_t>& right = question.choices[0];
  into.strict.back().add(std::equal(right.begin(), right.end(), answer.free.begin()) ? 1 : 0);
  const std::string said = tokenizer.decode(answer.free);
  into.loose.back().add(said.find(haystack.probes[q].answer) != std::string::npos ? 1 : 0);
}

RecallCell finished(Collected collected) {
  RecallCell cell = std::move(collected.cell);
  cell.achieved_depth = collected.depth.sum / static_cast<double>(collected.depth.count);
  cell.found = *estimate(collected.found);
  cell.gain = *estimate(collected.gain);
  cell.loss = *estimate(collected.loss);
  cell.strict = estimate(collected.strict);
  cell.loose = estimate(collected.loose);
  return cell;
}

Collected& cell_of(std::vector<Collected>& cells, const Haystack& haystack,
                   const std::string& place) {
  for (Collected& known : cells) {
    if (known.cell.task == haystack.task && known.cell.length == haystack.length &&
        known.cell.place == place)
      return known;
  }
  cells.emplace_back().cell = {.task = haystack.task, .length = haystack.length, .place = place};
  return cells.back();
}

}  // namespace

std::string to_string(RecallTask task) {
  switch (task) {
    case RecallTask::kPasskey:
      return "passkey";
    case RecallTask::kNeedles:
      return "needles";
    case RecallTask::kLatest:
      return "latest";
    case RecallTask::kOrder:
      break;
  }
  return "order";
}

int64_t achieved_length(const Haystack& haystack) {
  return tokens_of(haystack.text, haystack.questions);
}

std::vector<Haystack> make_haystacks(const Tokenizer& tokenizer,
                                     const std::vector<Document>& documents,
                                     const RecallPlan& plan) {
  return Maker(tokenizer, documents, plan).make();
}

std::vector<RecallCell> measure_recall(const Scorer& scorer, const Tokenizer& tokenizer,
                                       const std::vector<Haystack>& haystacks,
                                       const Progress& progress) {
  double planned = 0;
  double done = 0;
  for (const Haystack& haystack : haystacks) planned += static_cast<double>(haystack.text.size());
  std::vector<Collected> cells;
  for (const Haystack& haystack : haystacks) {
    if (!haystack.not_run.empty()) {
      cell_of(cells, haystack, "").cell.not_run = haystack.not_run;
      continue;
    }
    const auto size = static_cast<double>(haystack.text.size());
    const std::vector<Answer> answers = scorer.ask(haystack.text, haystack.questions,
                                                   part_of_progress(progress, done, size, planned));
    done += size;
    for (size_t q = 0; q < answers.size(); ++q) {
      add(haystack, q, answers[q], tokenizer, cell_of(cells, haystack, haystack.probes[q].place));
    }
  }
  std::vector<RecallCell> results;
  for (Collected& collected : cells) {
    results.push_back(collected.cell.not_run.empty() ? finished(std::move(collected))
                                                     : std::move(collected.cell));
  }
  return results;
}

}  // namespace ropewalk
