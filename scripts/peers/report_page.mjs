// peers: browser
// The report's page in Chromium, at three widths, light and dark: what it asks for, whether it fits, what axe-core finds,
// whether every picture is drawn and shows its words whole, sorts and opens by keyboard, switches series, and saves what
// can be read. Of two studies that it makes from the project's own documents, a full one with every picture there is, and
// a poor one (one window, one setting, no copy test); or of --study FILE.
//
// report_page [--study FILE] [--shots FOLDER] [--json OUT]
//   --shots  keeps a picture of each page and section, also as the colour-blind see it, and the page on paper
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
const documents = ["docs/DESIGN.md", "docs/schemes.md"];
const studies = options.study ? { given: resolve(options.study) } : {
  full: study("full", "models/ropewalk-kjv-1m.gguf", "--to", "1024", "--windows", "3", "--search", "6",
    "--text", ...documents),
  poor: study("poor", "tests/fixtures/tiny_llama.gguf", "--to", "512", "--windows", "1", "--copy-windows", "0",
    "--scheme", "declared", "--text", "docs/DESIGN.md"),
};
if (studies.full) {
  const given = ["models/ropewalk-kjv-1m.gguf", "--text", ...documents, "--into", studies.full];
  ropewalk("bands", ...given);
  ropewalk("recall", ...given, "--to", "1024", "--trials", "2", "--windows", "2", "--scheme", "declared", "yarn,factor=4",
    "self_extend,group=4,window=128+temperature,factor=1.05");
}
const pictures = ["loss", "recall", "cost", "search", "distances", "spectrum", "table-bias_curve", "table-copy_by_position",
  "table-pair_usage", "table-relations", "table-recall_latest", "table-recall_needles", "table-recall_order",
  "table-recall_passkey"];

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

// Words of pictures that leave their picture or are cut short, and labels of an axis that lie on one another.
const faultsOfWords = (page) => page.evaluate(() => {
  const faults = [];
  for (const svg of document.querySelectorAll(".picture svg")) {
    const id = svg.closest("section").id;
    const all = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.width === 0 || getComputedStyle(text).opacity === "0") continue;
      const out = Math.max(all.left - box.left, box.right - all.right, all.top - box.top, box.bottom - all.bottom);
      if (out > 1) faults.push(`${id}: ${text.textContent} leaves the picture by ${Math.round(out)} px`);
      if (innerWidth > 400 && text.textContent.includes("\u2026")) faults.push(`${id}: ${text.textContent} is cut`);
    }
    for (const axis of svg.querySelectorAll(".role-axis-label")) {
      const boxes = [...axis.querySelectorAll("text")].filter((one) => getComputedStyle(one).opacity !== "0")
        .map((one) => [one.textContent, one.getBoundingClientRect()]);
      boxes.forEach(([name, a], k) => boxes.slice(k + 1).forEach(([other, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 4) faults.push(`${id}: ${name} lies on ${other}`);
      }));
    }
  }
  return faults;
});

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
      const words = await faultsOfWords(page);
      check(`${at}: words of pictures cut or on one another`, words.length === 0 ? 0 : words.slice(0, 4).join("; "), 0, words.length === 0);
      await page.$$eval("details", (all) => all.forEach((lid) => { lid.open = true; }));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(`${at}: wider with all lids open by`, wide, 0, wide <= 0);
      // Shades are no ground that contrast can be told against.
      const plain = await page.addStyleTag({ content: ".scroll { background: none !important; }" });
      await page.evaluate(axe);
      const found = (await page.evaluate(() => window.axe.run())).violations;
      const serious = found.filter((one) => ["serious", "critical"].includes(one.impact));
      check(`${at}: axe, all lids open`, serious.length === 0 ? `${found.length} lesser` : serious.map((one) => `${one.id} ${one.nodes[0].target}`).join("; "),
        0, serious.length === 0);
      await plain.evaluate((style) => style.remove());
      await page.$$eval("details", (all) => all.forEach((lid) => { lid.open = false; }));
      if (options.shots) await shoot(page, `${name}-${colorScheme}-${width}`);
      await page.context().close();
    }
  }
};

const shoot = async (page, name) => {
  const folder = join(options.shots, name);
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}.png`, fullPage: true });
  for (const section of await page.$$("section"))
    await section.screenshot({ path: join(folder, `${await section.getAttribute("id")}.png`) });
};

// As seen without one of the three kinds of cones.
const shootColourBlind = async (browser, name, html) => {
  for (const type of ["deuteranopia", "protanopia", "tritanopia"]) {
    const page = await visit(browser, html, 1280, "light", []);
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setEmulatedVisionDeficiency", { type });
    await shoot(page, `${name}-${type}-1280`);
    await page.context().close();
  }
};

// Tab alone comes to all that can be clicked, opens every lid, and shows where it is.
const goesByKeyboard = async (browser, name, html) => {
  const page = await visit(browser, html, 1280, "light", []);
  await page.evaluate(() => {
    globalThis.seen = new Set();
    globalThis.unmarked = [];
  });
  for (let k = 0; k < 5000; ++k) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const here = document.activeElement;
      if (here === document.body || seen.has(here)) return "round";
      seen.add(here);
      const style = getComputedStyle(here);
      if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) unmarked.push(here.outerHTML.slice(0, 80));
      return here.matches("details:not([open]) > summary") ? "lid" : "";
    });
    if (at === "round") break;
    if (at === "lid") await page.keyboard.press("Enter");
  }
  const missed = await page.evaluate(() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
    .filter((one) => !seen.has(one)).map((one) => one.outerHTML.slice(0, 80)));
  const [count, unmarked, closed] = await page.evaluate(() =>
    [seen.size, unmarked, document.querySelectorAll("details:not([open])").length]);
  check(`${name}: places that Tab misses, of ${count}`, missed.length === 0 ? 0 : missed[0], 0, missed.length === 0);
  check(`${name}: places without a mark of focus`, unmarked.length === 0 ? 0 : unmarked[0], 0, unmarked.length === 0);
  check(`${name}: lids that Enter leaves closed`, closed, 0, closed === 0);
  const sorts = await page.$$eval("table", (all) => all.filter((table) =>
    [...table.tHead.rows[0].cells].some((cell) => !cell.querySelector("button"))).length);
  check(`${name}: tables with a column that cannot be sorted`, sorts, 0, sorts === 0);
  await page.context().close();
};

const works = async (browser, name, html) => {
  const page = await visit(browser, html, 1280, "light", []);
  // Sorting, by keyboard alone.
  const head = page.locator("#settings th", { hasText: "loss beyond" }).first();
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
  ropewalk("report", studies[name], "--json", join(folder, `${name}.json`));
  const given = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const drawn = await page.$$eval("section", (all) => all.filter((one) => one.querySelector(".picture")).map((one) => one.id));
  const unsaved = drawn.filter((id) => !given.pictures[id]?.data.values.length);
  check(`${name}: specifications in --json`, `${drawn.length - unsaved.length} of ${drawn.length}`, null, drawn.length > 0 && unsaved.length === 0);
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
    if (name === "full") {
      const missing = pictures.filter((id) => !readFileSync(html, "utf8").includes(`<section id="${id}">`));
      check("full: pictures that are missing", missing.length === 0 ? 0 : missing.join(), 0, missing.length === 0);
    }
    await looks(browser, name, html);
    await goesByKeyboard(browser, name, html);
    await works(browser, name, html);
    if (options.shots) await shootColourBlind(browser, name, html);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
if (options.json) writeFileSync(options.json, JSON.stringify(rows, null, 1));
const failed = rows.filter((row) => !row.holds).length;
console.log(`${rows.length} checks, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
