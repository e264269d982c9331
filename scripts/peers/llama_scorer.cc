// Log-probabilities of token ids as llama.cpp computes them, by its C interface: what llama_cpp.mjs
// answers to "logprobs", for vocabularies whose every distribution would cost JavaScript 50 ms.
//
//   llama_scorer MODEL.gguf f16|f32|states THREADS [FIRST [EMBEDDED]] < WINDOWS > LOGPROBS
//
// The second argument is the type of the key and value cache; or states, of an encoder: then a line
// of the answer has the final states of the window's tokens, one after the other. A line of WINDOWS is one window's
// ids; its line of LOGPROBS has ln p(id[t + 1] | id[0..t]). A model with an encoder encodes the
// same ids first. FIRST is the position of a window's first token, 0 unless given. EMBEDDED is a
// file with the embeddings and the positions on four axes of one window, n tokens but for its
// last: int32 (4, n), then float32 (n, n_embd). Made by scripts/peers.sh against the libraries
// that node-llama-cpp brings.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "llama_peer.h"

namespace {

constexpr int kBatch = 512;

std::vector<std::vector<llama_token>> read_windows() {
  std::vector<std::vector<llama_token>> windows;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream numbers(line);
    std::vector<llama_token> ids;
    for (llama_token id; numbers >> id;) ids.push_back(id);
    windows.push_back(ids);
  }
  return windows;
}

// ln softmax(logits)[id], in double.
double logprob(const float* logits, int n_vocab, llama_token id) {
  const float best = *std::max_element(logits, logits + n_vocab);
  double sum = 0;
  for (int v = 0; v < n_vocab; ++v) sum += std::exp(static_cast<double>(logits[v]) - best);
  return logits[id] - best - std::log(sum);
}

// What stands in place of ids; empty where nothing does.
struct Embedded {
  std::vector<llama_pos> positions;  // (4, n)
  std::vector<float> rows;           // (n, n_embd)
};

Embedded read_embedded(const char* path, size_t n, size_t n_embd) {
  Embedded read{std::vector<llama_pos>(4 * n), std::vector<float>(n * n_embd)};
  std::ifstream file(path, std::ios::binary);
  const auto fill = [&file](auto& values) {
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(values[0])));
  };
  fill(read.positions);
  fill(read.rows);
  if (!file) fail("too short: " + std::string(path));
  return read;
}

struct Job {
  llama_context* context;
  int n_vocab;
  int n_embd;
  llama_pos first;
  int batch;  // most tokens at once; an encoder's are all of them
};

llama_batch batch_of(const Job& job, const std::vector<llama_token>& ids, size_t first, int n,
                     const Embedded& embedded) {
  const bool by_rows = !embedded.rows.empty();
  llama_batch batch = llama_batch_init(4 * n, by_rows ? job.n_embd : 0, 1);
  batch.n_tokens = n;
  for (int t = 0; t < n; ++t) {
    if (!by_rows) {
      batch.token[t] = ids[first + t];
      batch.pos[t] = job.first + static_cast<llama_pos>(first) + t;
    }
    batch.n_seq_id[t] = 1;
    batch.seq_id[t][0] = 0;
    batch.logits[t] = 1;
  }
  if (by_rows) {
    const size_t length = ids.size() - 1;
    for (int axis = 0; axis < 4; ++axis) {
      for (int t = 0; t < n; ++t) {
        batch.pos[axis * n + t] = embedded.positions[axis * length + first + t];
      }
    }
    std::copy_n(embedded.rows.begin() + static_cast<std::ptrdiff_t>(first * job.n_embd),
                static_cast<size_t>(n) * job.n_embd, batch.embd);
  }
  return batch;
}

void score(const Job& job, const std::vector<llama_token>& ids, const Embedded& embedded) {
  llama_memory_clear(llama_get_memory(job.context), true);
  const size_t length = ids.size() - 1;
  if (llama_model_has_encoder(llama_get_model(job.context))) {
    const llama_batch batch = batch_of(job, ids, 0, static_cast<int>(length), {});
    if (llama_encode(job.context, batch) != 0) fail("llama_encode failed");
    llama_batch_free(batch);
  }
  for (size_t first = 0; first < length; first += job.batch) {
    const int n = static_cast<int>(std::min<size_t>(job.batch, length - first));
    const llama_batch batch = batch_of(job, ids, first, n, embedded);
    if (llama_decode(job.context, batch) != 0) fail("llama_decode failed");
    for (int t = 0; t < n; ++t) {
      std::printf("%.9g ",
                  logprob(llama_get_logits_ith(job.context, t), job.n_vocab, ids[first + t + 1]));
    }
    llama_batch_free(batch);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print_states(const Job& job, const std::vector<llama_token>& ids) {
  const int n = static_cast<int>(ids.size());
  const llama_batch batch = batch_of(job, ids, 0, n, {});
  if (llama_encode(job.context, batch) != 0) fail("llama_encode failed");
  for (int t = 0; t < n; ++t) {
    const float* state = llama_get_embeddings_ith(job.context, t);
    if (state == nullptr) fail("no state of token " + std::to_string(t));
    for (int x = 0; x < job.n_embd; ++x) std::printf("%.9g ", state[x]);
  }
  llama_batch_free(batch);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    fail("arguments: MODEL.gguf f16|f32|states THREADS [FIRST [EMBEDDED]] < WINDOWS");
  }
  const std::string kv = argv[2];
  const bool states = kv == "states";
  if (kv != "f16" && kv != "f32" && !states) {
    fail("the cache's type must be f16 or f32, or states, got " + kv);
  }
  const std::vector<std::vector<llama_token>> windows = read_windows();
  size_t longest = 0;
  for (const auto& ids : windows) longest = std::max(longest, ids.size());

  llama_model* model = load_model(argv[1]);
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  for (const auto& ids : windows) {
    for (const llama_token id : ids) {
      if (id < 0 || id >= n_vocab) fail("an id outside the vocabulary: " + std::to_string(id));
    }
  }

  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(longest);
  const bool at_once = states || llama_model_has_encoder(model);
  const int batch = at_once ? std::max(kBatch, static_cast<int>(longest)) : kBatch;
  params.n_batch = params.n_ubatch = static_cast<uint32_t>(batch);
  params.embeddings = states;
  if (states) params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  params.n_threads = params.n_threads_batch = std::atoi(argv[3]);
  params.type_k = params.type_v = kv != "f16" ? GGML_TYPE_F32 : GGML_TYPE_F16;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("cannot make a context");
  const Job job{context, n_vocab, llama_model_n_embd(model), argc > 4 ? std::atoi(argv[4]) : 0,
                batch};
  for (size_t w = 0; w < windows.size(); ++w) {
    if (windows[w].empty()) fail("an empty window");
    const Embedded embedded =
        argc > 5 ? read_embedded(argv[5], windows[w].size() - 1, job.n_embd) : Embedded{};
    if (states) {
      print_states(job, windows[w]);
    } else {
      score(job, windows[w], embedded);
    }
    std::fprintf(stderr, "llama.cpp: %zu of %zu windows\n", w + 1, windows.size());
  }
  llama_free(context);
  llama_model_free(model);
}
