// What llama.cpp answers, through node-llama-cpp on the CPU: one job in, one JSON answer out.
//
//   node llama_cpp.mjs JOB.json ANSWER.json        with ROPEWALK_PEERS_DIR naming the peers' folder
//
// The answer goes to a file because llama.cpp prints the overrides it takes on standard output.
//
// JOB, as {task, model, ...}:
//   model     a GGUF file
//   threads   1 unless given
//   kv        "f16" (llama.cpp's default) or "f32": the type of the key and value cache
//   rope      overrides of the file's keys under <architecture>.rope: {freq_base, scaling: {type, factor,
//             original_context_length}}; architecture: "llama" unless given
//   task      "tokenize"  texts: [string]         -> {ids: [[id]]}, special tokens as plain text, nothing added
//             "logprobs"  windows: [[id]]         -> {logprobs: [[ln p(ids[t + 1] | ids[0..t])]]}
//             "greedy"    prompts: [[id]], count  -> {added: [[id]], gaps: [[nat]]}, gap: the best logit less the
//                                                    second best; stops before an end-of-generation token
import fs from "node:fs";
import path from "node:path";
import {pathToFileURL} from "node:url";

const peers = process.env.ROPEWALK_PEERS_DIR;
if (!peers) throw new Error("ROPEWALK_PEERS_DIR is not set: run this by scripts/peers.sh");
const {getLlama} = await import(pathToFileURL(path.join(peers, "node_modules/node-llama-cpp/dist/index.js")));

// Distributions come as a JavaScript map over the whole vocabulary: no more of them at once than this.
const kMostDistributions = 64;

// Temperature 0 leaves the logits as they are, so that the probabilities are their softmax.
const kAsTheyAre = {probabilities: true, options: {temperature: 0}};

// An integral number goes to llama.cpp as an integer, which it ignores where a key is a float: a nudge of less than
// half a float32 ulp keeps it a float and is rounded away. Counts and names stay.
const kFloatKeys = ["freq_base", "factor", "attn_factor"];
function nudged(keys) {
  return Object.fromEntries(
      Object.entries(keys).map(([key, value]) => {
        if (value !== null && typeof value === "object") return [key, nudged(value)];
        return [key, kFloatKeys.includes(key) && Number.isInteger(value) ? value * (1 + 2 ** -40) : value];
      }));
}

async function openModel(job, options = {}) {
  const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
  const metadataOverrides = job.rope ? {[job.architecture ?? "llama"]: {rope: nudged(job.rope)}} : undefined;
  return llama.loadModel({modelPath: job.model, gpuLayers: 0, metadataOverrides, ...options});
}

async function openContext(job, model, length) {
  const type = (job.kv ?? "f16").toUpperCase();
  return model.createContext({
    contextSize: length + 1,
    batchSize: Math.min(512, length),
    threads: job.threads ?? 1,
    flashAttention: false,
    ignoreMemorySafetyChecks: true,
    experimentalKvCacheKeyType: type,
    experimentalKvCacheValueType: type,
  });
}

async function tokenize(job) {
  const model = await openModel(job, {vocabOnly: true});
  return {ids: job.texts.map((text) => Array.from(model.tokenize(text, false)))};
}

async function logprobs(job) {
  const model = await openModel(job);
  const context = await openContext(job, model, Math.max(...job.windows.map((ids) => ids.length)));
  const sequence = context.getSequence();
  const answer = [];
  for (const ids of job.windows) {
    await sequence.clearHistory();
    const scored = [];
    for (let first = 0; first + 1 < ids.length; first += kMostDistributions) {
      const fed = ids.slice(first, Math.min(first + kMostDistributions, ids.length - 1));
      const output = await sequence.controlledEvaluate(fed.map((id) => [id, {generateNext: kAsTheyAre}]));
      fed.forEach((_, t) => scored.push(Math.log(output[t].next.probabilities.get(ids[first + t + 1]))));
    }
    answer.push(scored);
    process.stderr.write(`llama.cpp: ${answer.length} of ${job.windows.length} windows\n`);
  }
  return {logprobs: answer};
}

async function greedy(job) {
  const model = await openModel(job);
  const longest = Math.max(...job.prompts.map((ids) => ids.length));
  const context = await openContext(job, model, longest + job.count);
  const sequence = context.getSequence();
  const added = [], gaps = [];
  for (const prompt of job.prompts) {
    await sequence.clearHistory();
    const chosen = [], gap = [];
    let fed = prompt;
    while (chosen.length < job.count) {
      const asked = fed.map((id, t) => (t + 1 < fed.length ? id : [id, {generateNext: kAsTheyAre}]));
      const output = await sequence.controlledEvaluate(asked);
      const [[best, p], [, q]] = output[fed.length - 1].next.probabilities.entries();  // the likeliest first
      if (model.isEogToken(best)) break;
      chosen.push(best);
      gap.push(Math.log(p) - Math.log(q));
      fed = [best];
    }
    added.push(chosen);
    gaps.push(gap);
  }
  return {added, gaps};
}

const job = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const tasks = {tokenize, logprobs, greedy};
if (!(job.task in tasks)) throw new Error(`task: must be one of ${Object.keys(tasks).join(", ")}, got ${job.task}`);
const answer = await tasks[job.task](job);
// JSON has no infinity: a probability that underflowed to 0 is written as null.
fs.writeFileSync(process.argv[3], JSON.stringify(answer) + "\n");
process.exit(0);
