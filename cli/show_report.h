// What `ropewalk show` says of a file, worked out: cli/show_text.cc, show_json.cc and show_csv.cc
// put it into words and tables.
#ifndef ROPEWALK_CLI_SHOW_REPORT_H_
#define ROPEWALK_CLI_SHOW_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/declared_file.h"
#include "ropewalk/config/engine_views.h"
#include "ropewalk/math/radix.h"
#include "ropewalk/math/spectrum.h"

namespace ropewalk {

struct ShowOptions {
  std::string path;
  std::vector<std::string> overrides;
  int64_t context = 0;  // 0: as the file says
  std::vector<int64_t> positions;
  std::optional<int64_t> digits;
  bool pairs = false;
  bool json = false;
  bool csv = false;
  std::string npy;
};

struct ShownPair {
  double inv_freq = 0;    // radians per token
  double wavelength = 0;  // tokens for one turn; infinite where it does not turn
  double turns = 0;       // within the trained length
  double decay = 0;       // natural log, per token of distance, of what its scores are times
  std::string band;       // the decade of distances around one radian
  std::string axis;       // "time", "height"; empty where the model has one
};

// One pair at one position: of the exact angle.
struct ShownAngle {
  double cos = 1;
  double sin = 0;
  double turns = 0;  // all of them, whole ones too
};

// A spectrum in a sequence of some length.
struct ShownSpectrum {
  int64_t length = 0;
  std::string when;  // "up to 4096 tokens: the short list"; empty where it holds for any length
  Spectrum spectrum;
  double base = 0;  // of the spectrum, where it is another than the file's; 0 else
  std::vector<ShownPair> pairs;
  std::vector<std::vector<ShownAngle>> angles;  // (positions, n_pairs)
  std::vector<Digit> digits;                    // (n_pairs), where asked for
};

// A rule of thumb about how far the spectrum reaches.
struct ShownReach {
  std::string name;  // "effective reach"
  std::string key;   // "effective_reach", in JSON
  double value = 0;
  std::string text;  // value and meaning, one sentence
};

struct ShownGroup {
  const LayerGroup* group = nullptr;
  std::string layers;  // "all 30 layers", "layers 5, 11, 17", "layers 0-4"
  std::string about;   // what the scheme is: its formula
  // Coordinates of a query head before the rotated part, which carry no position (DeepSeek's MLA:
  // 128); the rotated part of a key is then shared by all heads.
  int64_t passed_before = 0;
  std::vector<ShownSpectrum> spectra;  // none where the layers are not rotated
  std::vector<Digit> plain_digits;     // under plain RoPE, where asked for
  std::vector<ShownReach> reach;       // of the last spectrum
};

struct ShowReport {
  DeclaredFile file;
  int64_t context = 0;
  std::vector<int64_t> positions;
  std::optional<int64_t> digits;
  std::vector<ShownGroup> groups;  // point into `file`
  std::vector<EngineView> engines;
};

// Throws Error.
ShowReport make_show_report(const ShowOptions& options);

// ---- words that the printers share

// "0-4, 6-10, 12"
std::string layer_list(const std::vector<int64_t>& layers);

// The same, where every n-th layer is meant "1, 3, ..., 23".
std::string short_layer_list(const std::vector<int64_t>& layers);

// Which rows of the projections make up a pair.
//   passed_before  as ShownGroup has it
std::string rows_text(const PairLayout& layout, int64_t passed_before);

// What has to be done to the rows of q and k before a kernel of the other kind may be used.
std::string reorder_text(const PairLayout& layout);

// "learned table of 1024 rows, position p is row p + 2".
std::string mechanism_text(const PositionMechanism& mechanism);
std::string mechanism_name(const PositionMechanism& mechanism);

// "times 1 + 0.1 ln(1 + floor((p + 1) / 8192)), query p"; empty where there is none.
std::string temperature_text(const QueryTemperature& temperature);

void print_show_text(const ShowReport& report, bool every_pair);
void print_show_json(const ShowReport& report);
void print_show_csv(const ShowReport& report);

// inv_freq of each group, (groups, n_pairs), or with positions cos and sin of each exact angle,
// (groups, positions, n_pairs, 2), amplitude left out. A single group's axis is left out. Throws
// Error where groups have different numbers of pairs, or several spectra.
void write_show_npy(const ShowReport& report, const std::string& path);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_SHOW_REPORT_H_
