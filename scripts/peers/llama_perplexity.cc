// Losses as llama.cpp's own perplexity tool computes them: its options, read by its own parser, one process for
// each setting, windows one after the other.
//
//   llama_perplexity all|halves OPTION... < WINDOWS > LOGPROBS
//
// A line of WINDOWS is one window's ids, at most -c of them; its line of LOGPROBS has ln p(id[t + 1] | id[0..t]) for
// every t, or, as the tool has it, for the second half of -c alone. A batch's distributions are used where they lie;
// the tool copies those of a whole window together first. The last line of standard error is the JSON
// {"load": seconds, "passes": seconds}. Made by scripts/peers.sh against the libraries that node-llama-cpp brings.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "arg.h"
#include "common.h"
#include "llama_peer.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// ln softmax(logits)[id]: exponentials in float, as the tool has them.
double logprob(const float* logits, int n_vocab, llama_token id) {
  const float best = *std::max_element(logits, logits + n_vocab);
  double sum = 0;
  for (int v = 0; v < n_vocab; ++v) sum += std::exp(logits[v] - best);
  return logits[id] - best - std::log(sum);
}

struct Job {
  llama_context* context;
  int n_vocab;
  int batch;
  int threads;
  size_t first;  // position of the first loss
};

// Those of ids[t + 1] for t from `begin` on, the logits of which lie one after the other.
void add_logprobs(const Job& job, const float* logits, const llama_token* next, size_t count,
                  std::vector<double>& out) {
  const size_t old = out.size();
  out.resize(old + count);
  std::vector<std::thread> workers;
  for (int w = 0; w < job.threads; ++w) {
    workers.emplace_back([&, w] {
      for (size_t t = static_cast<size_t>(w); t < count; t += static_cast<size_t>(job.threads))
        out[old + t] = logprob(logits + t * static_cast<size_t>(job.n_vocab), job.n_vocab, next[t]);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void score(const Job& job, const std::vector<llama_token>& ids) {
  llama_memory_clear(llama_get_memory(job.context), true);
  llama_batch batch = llama_batch_init(job.batch, 0, 1);
  std::vector<double> logprobs;
  for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(job.batch)) {
    const size_t end = std::min(begin + static_cast<size_t>(job.batch), ids.size());
    common_batch_clear(batch);
    for (size_t t = begin; t < end; ++t) {
      const bool scored = t >= job.first && t + 1 < ids.size();
      common_batch_add(batch, ids[t], static_cast<llama_pos>(t), {0}, scored);
    }
    if (llama_decode(job.context, batch) != 0) fail("llama_decode failed");
    const size_t from = std::max(begin, job.first), to = std::min(end, ids.size() - 1);
    if (from < to) {
      add_logprobs(job, llama_get_logits(job.context), ids.data() + from + 1, to - from, logprobs);
    }
  }
  llama_synchronize(job.context);
  llama_batch_free(batch);
  for (const double value : logprobs) std::printf("%.9g ", value);
  std::printf("\n");
  std::fflush(stdout);
}

std::vector<std::vector<llama_token>> read_windows(size_t longest) {
  std::vector<std::vector<llama_token>> windows;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream numbers(line);
    std::vector<llama_token> ids;
    for (llama_token id; numbers >> id;) ids.push_back(id);
    if (ids.size() < 2 || ids.size() > longest) fail("a window must have 2 tokens up to -c");
    windows.push_back(ids);
  }
  return windows;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "all" && what != "halves") fail("arguments: all|halves OPTION... < WINDOWS");
  const auto start = std::chrono::steady_clock::now();
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all_from_path(PEER_LIBRARIES);

  common_params params;
  if (!common_params_parse(argc - 1, argv + 1, params, LLAMA_EXAMPLE_PERPLEXITY)) return 1;
  const auto length = static_cast<size_t>(params.n_ctx);
  const std::vector<std::vector<llama_token>> windows = read_windows(length);
  params.n_batch = std::min(params.n_batch, params.n_ctx);
  params.n_gpu_layers = 0;
  llama_model* model =
      llama_model_load_from_file(params.model.path.c_str(), common_model_params_to_llama(params));
  if (model == nullptr) fail("cannot load " + params.model.path);
  llama_context* context = llama_init_from_model(model, common_context_params_to_llama(params));
  if (context == nullptr) fail("cannot make a context");
  const Job job{context, llama_vocab_n_tokens(llama_model_get_vocab(model)), params.n_batch,
                std::max(1, params.cpuparams.n_threads), what == "all" ? 0 : length / 2};
  const double load = seconds_since(start);
  for (const auto& ids : windows) score(job, ids);
  std::fprintf(stderr, "{\"load\": %.3f, \"passes\": %.3f}\n", load, seconds_since(start) - load);
  llama_free(context);
  llama_model_free(model);
}
