// Source: llama.cpp: load_hparams, set_swa_pattern and the loaders and graphs of src/models.
#include "ropewalk/config/gguf_layers.h"

#include <algorithm>
#include <optional>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using Kind = GgufLayer::Kind;
using Sight = GgufSliding::Sight;
using Unrotated = GgufArchitecture::Unrotated;
using When = GgufSliding::When;

constexpr std::string_view kWindow = "attention.sliding_window";
constexpr std::string_view kPattern = "attention.sliding_window_pattern";
constexpr std::string_view kRatios = "attention.compress_ratios";

// Every period of every architecture is met below this many layers.
constexpr int64_t kEnoughLayers = 48;

class LayerReader {
 public:
  LayerReader(GgufKeys& keys, const GgufArchitecture& architecture, int64_t n_layers,
              GgufReport& report)
      : keys_(keys),
        architecture_(architecture),
        sliding_(architecture.sliding),
        n_layers_(n_layers),
        report_(report) {}

  GgufLayers read();

 private:
  bool read_slide();
  bool slides_for_llama_cpp(std::optional<int64_t> window) const;
  void read_window();
  std::vector<bool> read_sliding(int64_t n);
  std::vector<bool> by_list(const std::vector<int64_t>& list, int64_t n);
  std::vector<bool> by_period(int64_t period, int64_t n) const;
  std::vector<bool> read_compressed(int64_t n);
  std::vector<bool> read_recurrent(int64_t n);
  std::vector<bool> read_rotated(const std::vector<bool>& sliding);
  bool read_finetuned();

  // Layers at the end that predict further tokens do not slide.
  int64_t main_layers(int64_t n) const { return n - std::min(n, further_); }

  GgufKeys& keys_;
  const GgufArchitecture& architecture_;
  const GgufSliding& sliding_;
  const int64_t n_layers_;
  GgufReport& report_;
  int64_t further_ = 0;
  GgufLayers found_;
};

GgufLayers LayerReader::read() {
  further_ = keys_.count("nextn_predict_layers").value_or(0);
  const int64_t n = n_layers_ != 0 ? n_layers_ : kEnoughLayers;
  found_.told = n_layers_ != 0;
  found_.slide = read_slide();
  const std::vector<bool> sliding = architecture_.compressed ? read_compressed(n) : read_sliding(n);
  const std::vector<bool> recurrent = read_recurrent(n);
  const std::vector<bool> rotated = read_rotated(sliding);
  for (size_t layer = 0; layer < sliding.size(); ++layer) {
    found_.layers.push_back(
        recurrent[layer]
            ? GgufLayer{Kind::kRecurrent, false}
            : GgufLayer{sliding[layer] ? Kind::kSliding : Kind::kFull, rotated[layer]});
  }
  if (!found_.told) {  // one of each kind, full ones first
    std::vector<GgufLayer> each;
    for (const GgufLayer& layer : found_.layers) {
      if (std::ranges::find(each, layer) == each.end()) each.push_back(layer);
    }
    std::ranges::stable_sort(each, {}, &GgufLayer::kind);
    found_.layers = std::move(each);
  }
  return std::move(found_);
}

// ---- sliding

bool LayerReader::slides_for_llama_cpp(std::optional<int64_t> window) const {
  switch (sliding_.when) {
    case When::kNever:
      return false;
    case When::kAlways:
      return true;
    case When::kWithWindow:
      return sliding_.only_layers != 0 ? n_layers_ == sliding_.only_layers
                                       : window.value_or(0) != 0;
    case When::kUnlessZero:
      return window != 0;
  }
  return false;
}

bool LayerReader::read_slide() {
  const std::optional<int64_t> window = keys_.count(kWindow);
  const bool theirs = slides_for_llama_cpp(window);
  if (architecture_.compressed) {
    found_.window = window.value_or(0);
    read_window();
    return true;
  }
  if (sliding_.when == When::kNever) {
    if (window.value_or(0) != 0) {
      report_.info(keys_.key(kWindow), keys_.key(kWindow) +
                                           " is not used: llama.cpp's layers of this architecture "
                                           "see everything");
    }
    return false;
  }
  const bool slide = window ? theirs || *window != 0 : theirs;
  if (slide != theirs) {
    report_.warn(FaultKind::kInconsistent, keys_.key(kWindow),
                 keys_.key(kWindow) + " = " + std::to_string(*window) + " with " +
                     std::to_string(n_layers_) +
                     " layers: llama.cpp lets layers slide in the model of " +
                     std::to_string(sliding_.only_layers) + " only");
  }
  if (slide) {
    found_.window = window.value_or(0);
    read_window();
  }
  return slide;
}

void LayerReader::read_window() {
  if (found_.window != 0) {
    report_.field_of_key(keys_, "window", kWindow);
  } else if (sliding_.window != 0) {
    found_.window = sliding_.window;
    report_.field("window", std::to_string(sliding_.window), Provenance::kFamilyDefault,
                  keys_.key(kWindow) + " is absent: llama.cpp's for this architecture");
  } else {
    report_.warn(FaultKind::kMissingKey, keys_.key(kWindow),
                 keys_.key(kWindow) +
                     " is absent: layers slide in a window that the file does not tell, and "
                     "llama.cpp refuses it");
  }
}

std::vector<bool> LayerReader::read_sliding(int64_t n) {
  if (!found_.slide) {
    return std::vector<bool>(static_cast<size_t>(n), false);
  }
  if (keys_.is_list(kPattern)) return by_list(*keys_.counts(kPattern, n_layers_), n);
  if (const std::optional<int64_t> period = keys_.count(kPattern)) {
    report_.field_of_key(keys_, "sliding_pattern", kPattern);
    return by_period(*period, n);
  }
  if (sliding_.period != 0) {
    report_.field("sliding_pattern",
                  sliding_.period == GgufSliding::kEveryLayer ? "every layer"
                                                              : std::to_string(sliding_.period),
                  Provenance::kFamilyDefault,
                  keys_.key(kPattern) + " is absent: llama.cpp's for this architecture");
    return by_period(sliding_.period, n);
  }
  found_.told = false;
  report_.warn(FaultKind::kMissingKey, keys_.key(kPattern),
               keys_.key(kPattern) +
                   " is absent: it is not told which layers slide, and llama.cpp refuses the file");
  return by_period(2, n);
}

std::vector<bool> LayerReader::by_list(const std::vector<int64_t>& list, int64_t n) {
  std::vector<bool> sliding(static_cast<size_t>(n), false);
  int64_t count = 0;
  for (int64_t layer = 0; layer < std::min<int64_t>(n, std::ssize(list)); ++layer) {
    sliding[layer] = list[layer] != 0;
    count += list[layer] != 0 ? 1 : 0;
  }
  report_.field("sliding_pattern",
                std::to_string(count) + " of " + std::to_string(std::min<int64_t>(n, list.size())) +
                    " layers",
                Provenance::kFile, keys_.key(kPattern));
  if (sliding_.period_only && n_layers_ != 0 && sliding != by_period(sliding_.period, n)) {
    report_.warn(FaultKind::kInconsistent, keys_.key(kPattern),
                 keys_.key(kPattern) +
                     " lists other layers than llama.cpp takes: it does not look "
                     "at the list and goes by a period of " +
                     std::to_string(sliding_.period));
  }
  return sliding;
}

std::vector<bool> LayerReader::by_period(int64_t period, int64_t n) const {
  std::vector<bool> sliding(static_cast<size_t>(n), false);
  for (int64_t layer = 0; layer < main_layers(n); ++layer) {
    const bool every = period <= 0;
    sliding[layer] =
        every || (sliding_.full_first ? layer % period != 0 : layer % period < period - 1);
  }
  return sliding;
}

// DeepSeek-V4: layers without compression are the ones that turn unscaled.
std::vector<bool> LayerReader::read_compressed(int64_t n) {
  std::vector<bool> plain(static_cast<size_t>(n), false);
  const std::optional<std::vector<int64_t>> ratios = keys_.counts(kRatios, n_layers_);
  if (!ratios) {
    throw Error(keys_.place(kRatios), "must be present: layers of ratio 0 have a base of their own")
        .of(FaultKind::kMissingKey);
  }
  for (int64_t layer = 0; layer < std::min<int64_t>(n, std::ssize(*ratios)); ++layer) {
    plain[layer] = (*ratios)[layer] == 0;
  }
  report_.field("compress_ratios", keys_.spelled(kRatios), Provenance::kFile, keys_.key(kRatios));
  return plain;
}

// ---- layers without attention

std::vector<bool> LayerReader::read_recurrent(int64_t n) {
  std::vector<bool> recurrent(static_cast<size_t>(n), false);
  for (const std::string_view heads : {"attention.head_count", "attention.head_count_kv"}) {
    if (!keys_.is_list(heads)) continue;
    const std::vector<int64_t> list = *keys_.counts(heads, n_layers_);
    for (int64_t layer = 0; layer < std::min<int64_t>(n, std::ssize(list)); ++layer) {
      if (list[layer] == 0) recurrent[layer] = true;
    }
  }
  if (architecture_.recurrent != GgufArchitecture::Recurrent::kByInterval) return recurrent;

  const std::string_view list_key = "attention.recurrent_layers";
  if (const auto list = keys_.counts(list_key, n_layers_)) {
    report_.field("recurrent_layers", keys_.spelled(list_key), Provenance::kFile,
                  keys_.key(list_key));
    for (int64_t layer = 0; layer < std::min<int64_t>(n, std::ssize(*list)); ++layer) {
      recurrent[layer] = (*list)[layer] != 0;
    }
    return recurrent;
  }
  const std::string_view interval_key = "full_attention_interval";
  const std::optional<int64_t> interval = keys_.size(interval_key);
  if (interval) {
    report_.field_of_key(keys_, "attention_interval", interval_key);
  } else {
    report_.field("attention_interval", std::to_string(architecture_.attention_interval),
                  Provenance::kFamilyDefault,
                  keys_.key(interval_key) + " is absent: llama.cpp's for this architecture");
  }
  const int64_t period = interval.value_or(architecture_.attention_interval);
  for (int64_t layer = 0; layer < main_layers(n); ++layer) {
    recurrent[layer] = (layer + 1) % period != 0;
  }
  return recurrent;
}

// ---- layers without rotation

bool LayerReader::read_finetuned() {
  const std::string_view suffix = "rope.scaling.finetuned";
  const std::optional<bool> finetuned = keys_.flag(suffix);
  report_.field("finetuned", finetuned.value_or(true) ? "true" : "false",
                finetuned ? Provenance::kFile : Provenance::kFamilyDefault,
                keys_.key(suffix) + (finetuned ? "" : " is absent: rotated"));
  if (finetuned.value_or(true)) return true;
  report_.info(keys_.key(suffix), keys_.key(suffix) + " = false: queries and keys are not rotated");
  if (architecture_.rotates_all) {
    report_.warn(FaultKind::kInconsistent, keys_.key(suffix),
                 keys_.key(suffix) +
                     " = false means no rotation, but llama.cpp of September 2026 "
                     "rotates all the same");
  }
  return false;
}

std::vector<bool> LayerReader::read_rotated(const std::vector<bool>& sliding) {
  const auto n = std::ssize(sliding);
  std::vector<bool> rotated(sliding.size(), true);
  const auto every_fourth = [&](int64_t first) {
    for (int64_t layer = first; layer < n; layer += 4) rotated[layer] = false;
    report_.field("unrotated_layers",
                  std::to_string(first) + ", " + std::to_string(first + 4) + ", ...",
                  Provenance::kFamilyDefault, "implied by architecture " + keys_.architecture());
  };
  switch (architecture_.unrotated) {
    case Unrotated::kNone:
      break;
    case Unrotated::kFull:
    case Unrotated::kFullAfterDense: {
      int64_t dense = 0;
      if (architecture_.unrotated == Unrotated::kFullAfterDense) {
        dense = keys_.count("leading_dense_block_count").value_or(0);
      }
      for (int64_t layer = dense; layer < n; ++layer) {
        rotated[layer] = sliding[layer] || !found_.slide;
      }
      if (found_.slide) {
        report_.field("unrotated_layers", "those that do not slide", Provenance::kFamilyDefault,
                      "implied by architecture " + keys_.architecture());
      }
      break;
    }
    case Unrotated::kFourth:
      every_fourth(3);
      break;
    case Unrotated::kFourthIfChunks:
      if (found_.slide) {
        every_fourth(3);
      } else if (n_layers_ != 0) {
        report_.info(keys_.key(kWindow),
                     keys_.key(kWindow) +
                         " = 0: every layer is rotated; llama.cpp leaves out the "
                         "last one, by its count of layers");
      }
      break;
    case Unrotated::kFromFirstFourth:
      if (found_.slide) every_fourth(0);
      break;
    case Unrotated::kFinetuned:
      if (!read_finetuned()) rotated.assign(rotated.size(), false);
      break;
    case Unrotated::kPattern: {
      const std::string_view suffix = "attention.rope_pattern";
      const auto list = keys_.counts(suffix, n_layers_);
      if (!list) break;
      report_.field("rotated_layers", keys_.spelled(suffix), Provenance::kFile, keys_.key(suffix));
      for (int64_t layer = 0; layer < std::min<int64_t>(n, std::ssize(*list)); ++layer) {
        rotated[layer] = (*list)[layer] != 0;
      }
      break;
    }
  }
  return rotated;
}

}  // namespace

GgufLayers read_gguf_layers(GgufKeys& keys, const GgufArchitecture& architecture, int64_t n_layers,
                            GgufReport& report) {
  return LayerReader(keys, architecture, n_layers, report).read();
}

std::string layer_name(const GgufArchitecture& architecture, const GgufLayer& layer) {
  std::string name = "full_attention";
  if (layer.kind == Kind::kRecurrent) return "recurrent";
  if (layer.kind == Kind::kSliding) {
    name =
        architecture.sliding.sight == Sight::kChunked ? "chunked_attention" : "sliding_attention";
  } else if (architecture.compressed) {
    name = "compressed_attention";
  }
  return layer.rotated ? name : name + ", not rotated";
}

}  // namespace ropewalk
