// peers: browser
// The report's page in Chromium, at three widths, light and dark: what it asks for, whether it fits, what axe-core finds,
// whether it is drawn, sorts by keyboard, switches series, and saves what can be read. Of two studies that it makes from
// the project's own documents, a full one and a poor one (one window, one setting, no copy test), or of --study FILE.
//
// report_page [--study FILE] [--shots FOLDER] [--json OUT]
import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const require = createRequire(join(process.env.ROPEWALK_PEERS_DIR, "index.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const options = {};
for (let k = 2; k < process.argv.length; k += 2) {
  const name = process.argv[k].replace(/^--/, "");
  if (!["study", "shots", "json"].includes(name) || process.argv[k + 1] === undefined) {
    console.error("usage: report_page [--study FILE] [--shots FOLDER] [--json OUT]");
    process.exit(2);
  }
  options[name] = process.argv[k + 1];
}

const rows = [];
const check = (name, ours, bound, holds) => {
  rows.push({ name, ours, peer: null, difference: null, bound, holds });
  console.log(`${holds ? "ok  " : "FAIL"}  ${name}: ${ours}`);
};

const folder = mkdtempSync(join(tmpdir(), "ropewalk-page-"));
const ropewalk = (...words) => execFileSync(process.env.ROPEWALK_PROGRAM, words, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
const study = (name, ...words) => {
  const path = join(folder, `${name}.db`);
  ropewalk("extend", ...words, "--study", path);
  return path;
};
const studies = options.study ? { given: resolve(options.study) } : {
  full: study("full", "models/ropewalk-kjv-1m.gguf", "--to", "1024", "--windows", "4",
    "--text", "docs/DESIGN.md", "docs/schemes.md"),
  poor: study("poor", "tests/fixtures/tiny_llama.gguf", "--to", "512", "--windows", "1", "--copy-windows", "0",
    "--scheme", "declared", "--text", "docs/DESIGN.md"),
};

const visit = async (browser, html, width, colorScheme, faults) => {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(message.text()); });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) faults.push(`asks for ${request.url()}`); });
  await page.goto(pathToFileURL(html).href);
  await page.waitForFunction(() => document.documentElement.dataset.drawn === "yes", null, { timeout: 60000 });
  return page;
};

const looks = async (browser, name, html) => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 768, 1280]) {
      const at = `${name}, ${width} px, ${colorScheme}`;
      const faults = [];
      const page = await visit(browser, html, width, colorScheme, faults);
      check(`${at}: errors, warnings and requests`, faults.length === 0 ? 0 : faults[0].slice(0, 200), 0, faults.length === 0);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(`${at}: wider than the window by`, over, 0, over <= 0);
      const pictures = await page.$$eval(".picture", (all) => [all.length, all.filter((one) => one.querySelector("svg path, svg text")).length]);
      check(`${at}: pictures drawn`, `${pictures[1]} of ${pictures[0]}`, null, pictures[0] > 0 && pictures[0] === pictures[1]);
      await page.$$eval("details", (all) => all.forEach((lid) => { lid.open = true; }));
      await page.evaluate(axe);
      const found = (await page.evaluate(() => window.axe.run())).violations;
      const serious = found.filter((one) => ["serious", "critical"].includes(one.impact));
      check(`${at}: axe, all lids open`, serious.length === 0 ? `${found.length} lesser` : serious.map((one) => `${one.id} ${one.nodes[0].target}`).join("; "),
        0, serious.length === 0);
      await page.$$eval("details", (all) => all.forEach((lid) => { lid.open = false; }));
      if (options.shots) {
        mkdirSync(options.shots, { recursive: true });
        await page.screenshot({ path: join(options.shots, `${name}-${colorScheme}-${width}.png`), fullPage: true });
      }
      await page.context().close();
    }
  }
};

const works = async (browser, name, html) => {
  const page = await visit(browser, html, 1280, "light", []);
  // Sorting, by keyboard alone.
  const head = page.locator("#settings th", { hasText: "loss beyond" });
  await head.locator("button").focus();
  const column = await head.evaluate((cell) => cell.cellIndex);
  const values = () => page.$$eval("#settings tbody tr", (all, c) => all.map((row) => row.cells[c].dataset.v), column);
  for (const order of ["ascending", "descending"]) {
    await page.keyboard.press("Enter");
    const numbers = (await values()).filter((value) => value !== "").map(Number);
    const sorted = [...numbers].sort((a, b) => (order === "ascending" ? a - b : b - a));
    check(`${name}: ${order} by Enter`, await head.getAttribute("aria-sort"), null,
      (await head.getAttribute("aria-sort")) === order && numbers.join() === sorted.join());
  }
  // A series switched off in one picture is off in all.
  const boxes = page.locator("input[data-series='declared']");
  const lines = () => page.locator("#loss .picture svg .mark-line path").count();
  const before = await lines();
  await boxes.first().focus();
  await page.keyboard.press("Space");
  await page.waitForFunction((n) => document.querySelectorAll("#loss .picture svg .mark-line path").length < n, before, { timeout: 5000 }).catch(() => {});
  check(`${name}: lines of loss without declared`, `${before} to ${await lines()}`, null, (await lines()) === before - 1);
  const states = await boxes.evaluateAll((all) => all.map((box) => box.checked));
  check(`${name}: switched off everywhere`, states.join(), null, states.every((on) => !on));
  // What it saves.
  const saved = async (selector) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.$eval(selector, (button) => button.click())]);
    return readFileSync(await download.path(), "utf8");
  };
  const spec = JSON.parse(await saved("button[data-spec='loss']"));
  check(`${name}: saved specification`, `${spec.data.values.length} rows`, null, spec.data.values.length > 0 && /vega-lite/.test(spec.$schema));
  const csv = await saved("button[data-csv='ranking']");
  check(`${name}: saved numbers`, csv.split("\r\n")[0].slice(0, 60), null, csv.startsWith("number,scheme,"));
  // On paper: light, all numbers open.
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const paper = await page.evaluate(() => ({
    ground: getComputedStyle(document.body).backgroundColor,
    closed: document.querySelectorAll("details.numbers:not([open])").length,
  }));
  check(`${name}: on paper`, JSON.stringify(paper), null, paper.ground === "rgb(255, 255, 255)" && paper.closed === 0);
  if (options.shots) await page.pdf({ path: join(options.shots, `${name}.pdf`), format: "A4" });
  await page.context().close();
};

const browser = await chromium.launch({ executablePath: process.env.ROPEWALK_CHROMIUM, args: ["--no-sandbox"] });
try {
  for (const [name, path] of Object.entries(studies)) {
    const html = join(folder, `${name}.html`);
    ropewalk("report", path, "-o", html);
    await looks(browser, name, html);
    await works(browser, name, html);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
if (options.json) writeFileSync(options.json, JSON.stringify(rows, null, 1));
const failed = rows.filter((row) => !row.holds).length;
console.log(`${rows.length} checks, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
