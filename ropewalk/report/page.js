// The page's behaviour: pictures, the choice of series, sorting, saving, printing. The tables and
// words are in the page without it.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const shown = new Set(data.series.filter((s) => s.shown).map((s) => s.name));
  const views = [];     // of all pictures
  const choosing = [];  // of those that show the chosen series

  // What the specifications say for paper is said in the page's own colours, which follow its theme.
  const themed = (spec) => {
    // Where there is a choice of series, it is the legend.
    let text = JSON.stringify(spec, (key, part) => (key === "legend" && spec.params ? null : part));
    data.colors.forEach((color, k) => { text = text.replaceAll(color, `var(--s${k})`); });
    text = text.replaceAll(data.rule, "var(--muted)");
    return JSON.parse(text);
  };
  const config = {
    background: null,
    font: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
    view: { stroke: null },
    legend: { labelColor: "var(--ink)", titleColor: "var(--ink)", labelLimit: Math.min(560, innerWidth - 120), labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, titleLimit: 290, symbolSize: 60 },
    axis: {
      labelColor: "var(--ink)", titleColor: "var(--ink)", gridColor: "var(--grid)",
      domainColor: "var(--edge)", tickColor: "var(--edge)", labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: 500, labelOverlap: "greedy", labelSeparation: 4,
    },
    text: { color: "var(--ink)", fontSize: 12 },
  };

  // A picture has all its data here; a study from elsewhere must not make the page ask for more.
  const refuse = () => Promise.reject(new Error("nothing is loaded"));
  const nowhere = { load: refuse, sanitize: refuse, http: refuse, file: refuse };

  const draw = async (id, picture) => {
    const host = document.querySelector(`#${id} .picture`);
    const spec = themed(picture.spec);
    spec.data = { values: data.tables[picture.table] };
    for (const param of spec.params || []) {
      if (picture.series && param.name === "shown") param.value = [...shown];
    }
    try {
      const drawn = await vegaEmbed(host, spec, { renderer: "svg", actions: false, config, loader: nowhere });
      host.querySelectorAll("svg, svg *").forEach((part) => {
        for (const name of ["role", "aria-roledescription", "aria-label"]) part.removeAttribute(name);
      });
      host.style.minHeight = "0";  // held the place until now
      views.push(drawn.view);
      if (picture.series) choosing.push(drawn.view);
    } catch (error) {
      host.textContent = `This picture could not be drawn (${error.message}); its numbers are below.`;
      host.classList.add("no-picture");
    }
  };

  const show = (name, on) => {
    if (on) shown.add(name); else shown.delete(name);
    for (const box of document.querySelectorAll("input[data-series]")) {
      if (box.dataset.series !== name) continue;
      box.checked = on;
      box.closest("label").classList.toggle("unchosen", !on);
    }
    for (const view of choosing) {
      if ("shown" in view.getState().signals) view.signal("shown", [...shown]).runAsync();
    }
  };
  document.addEventListener("change", (event) => {
    const name = event.target.dataset.series;
    if (name !== undefined) show(name, event.target.checked);
  });

  const value = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.v === undefined) return cell.textContent;
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  // Ascending, but what is missing comes last both ways.
  const sort = (head) => {
    const table = head.closest("table");
    const column = head.cellIndex;
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      return sign * String(a).localeCompare(String(b), "en", { numeric: true });
    });
    body.append(...rows.map(([, row]) => row));
  };

  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const field = (cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (rows) => {
    const names = Object.keys(rows[0] || {});
    return [names, ...rows.map((row) => names.map((name) => row[name]))]
      .map((line) => line.map(field).join(",") + "\r\n").join("");
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.csv) save(`${button.dataset.csv}.csv`, "text/csv", csv(data.tables[button.dataset.csv]));
    if (button.dataset.spec) {
      const picture = data.pictures[button.dataset.spec];
      const spec = { ...picture.spec, data: { values: data.tables[picture.table] } };
      save(`${button.dataset.spec}.vl.json`, "application/json", JSON.stringify(spec, null, 1));
    }
    if (button.closest("thead")) sort(button.closest("th"));
  });

  // Paper has no lids, of long tables what is shown, and pictures as wide as itself, whatever the window is.
  const paperWidth = 700;  // pixels between the margins of A4
  let opened = [];
  let widths = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.numbers:not([open])")];
    for (const lid of opened) lid.open = true;
    for (const row of document.querySelectorAll("tr[data-s]")) row.classList.toggle("unchosen", !shown.has(row.dataset.s));
    widths = views.map((view) => view.width());
    for (const view of views) view.width(paperWidth).run();
  });
  addEventListener("afterprint", () => {
    for (const lid of opened) lid.open = false;
    views.forEach((view, k) => view.width(widths[k]).run());
  });

  if (typeof vegaEmbed === "function") {
    Promise.all(Object.entries(data.pictures).map(([id, picture]) => draw(id, picture)))
      .then(() => { document.documentElement.dataset.drawn = "yes"; });
  }
})();
