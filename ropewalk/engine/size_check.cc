#include "ropewalk/engine/size_check.h"

#include <algorithm>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/engine/weights.h"

namespace ropewalk {
namespace {

class SizeCheck {
 public:
  SizeCheck(const ModelFile& file, const Blueprint& blueprint)
      : file_(file),
        blueprint_(blueprint),
        shape_(blueprint.shape),
        weights_(*file.tensors, blueprint.names) {}

  void run() const {
    check_embedding();
    check_layer_count();
    check_attention();
    require("ffn", shape_.ffn, "ffn_down", 0, shape_.ffn * shape_.hidden, "hidden x ffn");
    if (blueprint_.experts) check_experts(*blueprint_.experts);
  }

 private:
  void check_embedding() const {
    const std::string name = weights_.name_of("token_embd");
    const TensorInfo* const info = find(name);
    if (info == nullptr || !is_decodable(info->type)) return;
    const auto width = static_cast<int64_t>(row_length(*info));
    const auto rows = static_cast<int64_t>(row_count(*info));
    if (width != shape_.hidden) refuse("hidden", shape_.hidden, name, "vocabulary x hidden");
    if (rows != shape_.vocabulary) {
      refuse("vocabulary", shape_.vocabulary, name, "vocabulary x hidden");
    }
  }

  void check_layer_count() const {
    const auto there = [&](int64_t layer) {
      return weights_.has(weights_.name_of("attn_output", layer));
    };
    if (!there(0) || there(shape_.n_layers - 1)) return;
    int64_t found = 0;
    while (there(found)) ++found;
    throw Error(key_of("layers"), "must be " + std::to_string(found) + ", as tensors are of",
                std::to_string(shape_.n_layers), kMend)
        .of(FaultKind::kInconsistent);
  }

  void check_attention() const {
    const int64_t head_dim = shape_.head_dim, hidden = shape_.hidden;
    const int64_t value_dim = blueprint_.value_dim != 0 ? blueprint_.value_dim : head_dim;
    require("heads", shape_.n_heads, "attn_output", 0, hidden * shape_.n_heads * value_dim,
            "hidden x heads x " + std::to_string(value_dim) + " of each");
    if (blueprint_.latent) return check_latent(*blueprint_.latent);
    const std::string of_keys = "heads of keys x " + std::to_string(head_dim) + " of each x hidden";
    require("kv_heads", shape_.n_kv_heads, "attn_k", 0, hidden * shape_.n_kv_heads * head_dim,
            of_keys);
    require("kv_heads", shape_.n_kv_heads, "attn_qkv", 0,
            hidden * (shape_.n_heads * head_dim + shape_.n_kv_heads * (head_dim + value_dim)),
            "heads and twice the " + of_keys);
  }

  void check_latent(const LatentKnobs& latent) const {
    require("kv_lora_rank", latent.key_value_rank, "attn_kv_a_mqa", 0,
            shape_.hidden * (latent.key_value_rank + latent.rotary_dim),
            "rank and rotated part x hidden");
    require("q_lora_rank", latent.query_rank, "attn_q_a", 0, shape_.hidden * latent.query_rank,
            "rank x hidden");
  }

  // The first layers may have none.
  void check_experts(const ExpertKnobs& experts) const {
    for (int64_t n = 0; n < shape_.n_layers; ++n) {
      if (!weights_.has(weights_.name_of("ffn_gate_inp", n))) continue;
      require("experts", experts.count, "ffn_gate_inp", n, experts.count * shape_.hidden,
              "experts x hidden");
      const double all = static_cast<double>(experts.count) * static_cast<double>(experts.ffn) *
                         static_cast<double>(shape_.hidden);
      require("width of an expert", experts.ffn, "ffn_down_exps", n,
              all < 0x1p62 ? experts.count * experts.ffn * shape_.hidden : -1,
              "experts x hidden x width");
      return;
    }
  }

  // That a part, where it is there, holds so many numbers.
  void require(const std::string& field, int64_t value, const std::string& part, int64_t layer,
               int64_t count, const std::string& meaning) const {
    const std::string name = weights_.name_of(part, layer);
    const int64_t found = weights_.count_of(name);
    if (found == 0 || found == count) return;
    const TensorInfo* const info = find(name);
    const bool packed = info != nullptr && !is_decodable(info->type);  // which is said of it later
    if (!packed) refuse(field, value, name, meaning);
  }

  [[noreturn]] void refuse(const std::string& field, int64_t value, const std::string& name,
                           const std::string& meaning) const {
    const TensorInfo* const info = find(name);
    throw Error(key_of(field),
                "must fit tensor " + name + (info == nullptr ? "" : " " + shape_text(info->shape)) +
                    ", which is " + meaning,
                std::to_string(value), kMend)
        .of(FaultKind::kInconsistent);
  }

  const TensorInfo* find(const std::string& name) const { return file_.tensors->find_tensor(name); }

  // As the file spells it.
  std::string key_of(const std::string& field) const {
    const auto found = std::ranges::find(file_.config.fields, field, &DeclaredField::name);
    const bool told = found != file_.config.fields.end() && found->provenance == Provenance::kFile;
    return told ? found->from : field;
  }

  static constexpr const char* kMend =
      "the configuration or the weights are of another model, or damaged: fetch both anew";

  const ModelFile& file_;
  const Blueprint& blueprint_;
  const ModelShape& shape_;
  Weights weights_;
};

}  // namespace

void refuse_other_sizes(const ModelFile& file, const Blueprint& blueprint) {
  SizeCheck(file, blueprint).run();
}

}  // namespace ropewalk
