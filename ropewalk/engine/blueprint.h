// Blueprint: what tells one family of decoders from another. Knobs, not classes: engine/arch has one
// file a family that sets them, and Transformer does what they say.
//
// What is plain from the file itself is no knob: a bias that is there is used.
#ifndef ROPEWALK_ENGINE_BLUEPRINT_H_
#define ROPEWALK_ENGINE_BLUEPRINT_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/config/model_config.h"
#include "ropewalk/engine/weights.h"
#include "ropewalk/kernels/vector_ops.h"

namespace ropewalk {

enum class NormKind {
  kRms,    // Zhang, Sennrich 2019, arXiv 1910.07467
  kLayer,  // Ba et al. 2016, arXiv 1607.06450
};

// Keys and values from one narrow vector a token; a part of each head is rotated, and shared by all
// heads' keys. Source: DeepSeek-V2, arXiv 2405.04434.
struct LatentKnobs {
  int64_t query_rank = 0;  // 0: queries are no product of two
  int64_t key_value_rank = 0;
  int64_t rotary_dim = 0;  // of a head; the rest of head_dim passes through
  int64_t value_dim = 0;
};

// A router and experts in place of one feed-forward part.
struct ExpertKnobs {
  enum class Gate {
    kSoftmax,        // of all experts, then the largest are taken
    kSoftmaxOfUsed,  // of those that were taken
    kSigmoid,        // of each
  };
  int64_t count = 0;
  int64_t used = 0;
  int64_t ffn = 0;           // width of one
  int64_t shared_ffn = 0;    // width of the part that every token goes through; 0: none
  bool shared_gate = false;  // a sigmoid of the token's own multiplies that part
  Gate gate = Gate::kSoftmax;
  bool normalised = false;   // the weights of the used ones are made to sum to 1
  float scale = 1;           // then multiplies them
  bool weigh_input = false;  // the weights multiply what goes in, not what comes out (Llama-4)
  int64_t groups = 1;        // the used ones come from the best `used_groups` groups alone
  int64_t used_groups = 1;
  int64_t group_best = 2;  // a group is as good as so many of its best together
};

enum class Presence { kNever, kIfThere, kAlways };

struct Blueprint {
  std::string family;  // for messages
  TensorNames names;
  ModelShape shape;
  int64_t value_dim = 0;  // of a head, at most head_dim; 0: head_dim

  NormKind norm = NormKind::kRms;
  bool bare_norms = false;  // norms without weights where the file has none
  float norm_offset =
      0;  // added to every norm's weight: 1 in checkpoints that store the difference

  // The file says that the output matrix is not the embedding. Where it does not, it is wherever
  // there is no other.
  bool own_output = false;

  float embedding_scale = 1;
  float residual_scale = 1;  // of what each half adds
  float logit_scale = 1;
  float logit_softcap = 0;  // c tanh(x / c); 0: none

  // Attention and feed-forward both read the residual as it was before either.
  bool parallel = false;

  float score_scale = 0;  // 0: 1 / sqrt(head_dim); see score_factor()
  float score_softcap = 0;
  float clip = 0;                       // q, k and v are kept within [-clip, clip]; 0: not
  Presence qk_norm = Presence::kNever;  // norms of q and k, before they are rotated
  bool qk_norm_whole = false;           // over all heads at once, not head by head
  bool qk_unit_length = false;          // q and k of rotated layers are normed, without weights
  bool sinks = false;                   // a learned logit for each head that gives nothing
  int64_t chunk = 0;  // rotated layers see the query's own chunk of so many tokens; 0: all
  std::optional<LatentKnobs> latent;

  Activation activation = Activation::kSilu;
  bool gated = true;                  // feed-forward of three products, not two
  std::optional<Activation> ungated;  // of two, with this one, where the file has no gate
  float clamp = 0;       // of gpt-oss's gate: min(gate, clamp), up within +-clamp; 0: none
  float gate_slope = 1;  // x sigmoid(slope x)
  float up_offset = 0;   // added to `up`
  std::optional<ExpertKnobs> experts;

  // Norms by GGUF's names; empty: the family has none.
  std::string attention_norm = "attn_norm";
  std::string attention_post_norm;
  std::string ffn_norm = "ffn_norm";  // of a parallel layer only where it is there
  std::string ffn_post_norm;

  // A learned row for each position, added to the embedding; and one for the first token type.
  std::optional<LearnedTable> position_table;
  bool token_types = false;
  std::vector<double> alibi_slopes;  // (n_heads), empty: none

  // ---- of encoders, and of the decoders that look at one

  // The post norms are of the residual after the sum, not of what is added to it.
  bool norms_sums = false;
  bool bare_first = false;  // the first layer has no norm before attention where the file has none
  std::vector<int64_t> side_window;  // (n_layers), tokens seen on each side; empty: all
  // A learned bias for each bucket of distance, in tensors attn_rel_b of the first layer or of each.
  std::optional<T5Buckets> buckets;
  // Of the head that guesses masked tokens, in parts head_dense, head_norm, output and output_bias;
  // nothing: the family has none.
  std::optional<Activation> head_activation;

  // Multiplies every score.
  float score_factor() const {
    return score_scale != 0 ? score_scale : 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_BLUEPRINT_H_
