#include "cli/map_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/math/map_reach.h"
#include "ropewalk/math/rotary.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

struct Options {
  std::string scheme;
  int64_t n = 4096;
  int64_t trained = 0;
  double base = 10000;
  int64_t rotary_dim = 128;
  bool json = false;
};

// What the last query of n tokens sees at one distance.
struct Row {
  int64_t distance = 0;
  bool seen = false;
  double effective = 0;  // of the pairs that the map moves
  int64_t heard = 0;     // pairs that are heard there
};

Row look(const Rotary& rotary, const Spectrum& spectrum, int64_t n, int64_t distance) {
  const std::optional<DoubleDouble> effective = effective_distance(rotary, n, distance);
  Row row{.distance = distance, .seen = effective.has_value()};
  if (!row.seen) return row;
  row.effective = static_cast<double>(*effective);
  for (const DoubleDouble& speed : spectrum.turns_per_token) {
    row.heard +=
        rotary.mask.past == PairMask::Past::kHeard || distance <= rotary.mask.last_heard(speed) ? 1
                                                                                                : 0;
  }
  return row;
}

// 0, 1, 2, 3, 5, 10, 20, 30, 50, ... and n - 1.
std::vector<int64_t> round_distances(int64_t n) {
  std::vector<int64_t> distances = {0};
  for (int64_t decade = 1; decade < n; decade *= 10) {
    for (const int64_t digit : {1, 2, 3, 5, 7}) {
      if (digit * decade < n) distances.push_back(digit * decade);
    }
  }
  if (distances.back() != n - 1) distances.push_back(n - 1);
  return distances;
}

// Whether a text of this length fits into the distances that training showed.
struct Reach {
  int64_t tokens = 0;  // looked at: n, or the first of them where that would take too long
  DoubleDouble farthest;
  int64_t longest = 0;  // tokens for which all distances are below the trained length, up to those

  bool knows_all(int64_t n) const { return tokens == n; }
  bool fits() const { return longest == tokens; }
};

// The tokens after which rows see no other distances than the rows before them.
int64_t telling_tokens(const Rotary& rotary, int64_t n) {
  const Visibility& seen = rotary.visibility;
  const bool goes_by_distance = rotary.distance.is_identity() || rotary.distance.is_curve();
  if (!goes_by_distance || seen.window >= n || (seen.sinks > 0 && seen.sinks_stay)) return n;
  return seen.sinks >= n - seen.window ? n : seen.window + seen.sinks;
}

Reach reach_of(const Options& options, const Rotary& rotary) {
  const int64_t most = int64_t{1} << (rotary.distance.is_curve() ? 16 : 20);
  const int64_t telling = telling_tokens(rotary, options.n);
  const int64_t tokens = std::min(telling, most);
  const DoubleDouble trained(rotary.source.trained_length);
  Reach reach{.tokens = tokens == telling ? options.n : tokens,
              .farthest = farthest_distance(rotary.distance, tokens, rotary.visibility)};
  reach.longest = reach.farthest < trained
                      ? reach.tokens
                      : longest_within(rotary.distance, trained, tokens, rotary.visibility);
  return reach;
}

void print_json(const Options& options, const Rotary& rotary, const Spectrum& spectrum,
                const Reach& reach) {
  nlohmann::ordered_json out;
  out["scheme"] = parse_scheme(options.scheme).text();
  out["query"] = options.n - 1;
  out["farthest"] = nullptr;
  out["longest_within_trained"] = nullptr;
  const bool knows_all = reach.knows_all(options.n);
  if (knows_all) out["farthest"] = static_cast<double>(reach.farthest);
  if (knows_all || !reach.fits()) out["longest_within_trained"] = reach.longest;
  for (const char* key : {"distance", "effective", "seen", "heard_pairs"})
    out[key] = nlohmann::ordered_json::array();
  for (int64_t d = 0; d < options.n; ++d) {
    const Row row = look(rotary, spectrum, options.n, d);
    out["distance"].push_back(d);
    out["effective"].push_back(row.seen ? nlohmann::ordered_json(row.effective)
                                        : nlohmann::ordered_json(nullptr));
    out["seen"].push_back(row.seen);
    out["heard_pairs"].push_back(row.heard);
  }
  fmt::print("{}\n", dump_json(out));
}

void print_reach(const Options& options, const Rotary& rotary, const Reach& reach) {
  const PairRange& pairs = rotary.distance.pairs();
  const bool moves_all = pairs.first == 0 && pairs.last >= rotary.layout.n_pairs() - 1;
  fmt::print("farthest distance among {}{} tokens{}: {:.10g}",
             reach.knows_all(options.n) ? "" : "the first ", reach.tokens,
             moves_all ? "" : ", of those pairs", static_cast<double>(reach.farthest));
  if (!reach.fits()) {
    fmt::print("; below the trained length for up to {} tokens", reach.longest);
  } else if (!reach.knows_all(options.n)) {
    fmt::print("; longer texts are not looked at");
  }
  fmt::print("\n");
}

void print_table(const Options& options, const Rotary& rotary, const Spectrum& spectrum,
                 const Reach& reach) {
  const PairRange& pairs = rotary.distance.pairs();
  fmt::print("scheme {}; what query {} of {} tokens sees; {} pairs, base {}, trained length {}\n",
             parse_scheme(options.scheme).text(), options.n - 1, options.n, spectrum.n_pairs(),
             options.base, rotary.source.trained_length);
  if (pairs.first > 0 || pairs.last < spectrum.n_pairs() - 1) {
    fmt::print("the map moves pairs {} to {}; the others see the true distance\n", pairs.first,
               std::min(pairs.last, spectrum.n_pairs() - 1));
  }
  print_reach(options, rotary, reach);
  fmt::print("{:>12}  {:>14}  {:>12}\n", "distance", "effective", "heard pairs");
  for (const int64_t d : round_distances(options.n)) {
    const Row row = look(rotary, spectrum, options.n, d);
    if (row.seen) {
      fmt::print("{:>12}  {:>14.10g}  {:>12}\n", d, row.effective, row.heard);
    } else {
      fmt::print("{:>12}  {:>14}\n", d, "not seen");
    }
  }
}

void run(const Options& options) {
  if (!std::isfinite(options.base))
    throw Error("--base", "must be finite", std::to_string(options.base));
  if (options.rotary_dim % 2 != 0)
    throw Error("--rotary-dim", "must be even", std::to_string(options.rotary_dim));
  const FrequencySource source{.base = options.base,
                               .frequency_dim = options.rotary_dim,
                               .trained_length = options.trained > 0 ? options.trained : options.n};
  const PairLayout layout{.head_dim = options.rotary_dim, .rotary_dim = options.rotary_dim};
  const Rotary rotary =
      at_length(apply_scheme(options.scheme, plain_rotary(source, layout)), options.n);
  const Spectrum spectrum = rotary.spectrum.at(options.n);
  constexpr int64_t kMostRows = int64_t{1} << 24;
  if (options.json && options.n > kMostRows) {
    throw Error("--n",
                "must be at most " + std::to_string(kMostRows) +
                    " with --json, which prints every distance",
                std::to_string(options.n));
  }
  const Reach reach = reach_of(options, rotary);
  if (options.json) {
    print_json(options, rotary, spectrum, reach);
  } else {
    print_table(options, rotary, spectrum, reach);
  }
  if (options.trained == 0 || reach.fits()) return;
  throw Error("--n",
              fmt::format("must be at most {}, the longest text whose distances all stay below the "
                          "trained length of {}",
                          reach.longest, options.trained),
              std::to_string(options.n),
              "a larger group, divisor or factor reaches farther; without --trained-length nothing "
              "is refused");
}

}  // namespace

void add_map_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("map", "The distances that a scheme lets the rotation see");
  command
      ->add_option("SCHEME", options->scheme,
                   "part[+part...], part = name[,key=value...]; see docs/schemes.md")
      ->required();
  command->add_option("-n,--n", options->n, "Tokens; the last one is the query")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  command
      ->add_option("--trained-length", options->trained,
                   "L, which some schemes refer to; n where not given. Where it is, a text with "
                   "distances of L or more is an error, told after the table; of very long texts "
                   "the first 1048576 tokens are looked at (65536 under a curve)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_option("--base", options->base, "Base of the spectrum (rope_theta)")
      ->check(CLI::Range(1e-3, 1e18))
      ->capture_default_str();
  command->add_option("--rotary-dim", options->rotary_dim, "Rotated coordinates of a head")
      ->check(CLI::Range(2, 65536))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Every distance from 0 to n - 1");
  command->callback([options] { run(*options); });
}

}  // namespace ropewalk
