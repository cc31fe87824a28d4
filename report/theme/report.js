// Draw every chart of the page from the specification that lies in it, as wide as its place, in the page's colours.
(() => {
  "use strict";
  const LEAST_PLOT_PX = 120;
  const ON_DARK = { '"#0072b2"': '"#56b4e9"' }; // Okabe and Ito's lighter blue
  const preferred = matchMedia("(prefers-color-scheme: dark)");

  // Quarto's page has a switch, which sets a class; the plain page follows the reader's system.
  function dark() {
    const chosen = document.body.classList;
    return chosen.contains("quarto-dark") || (preferred.matches && !chosen.contains("quarto-light"));
  }

  const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();

  // A view's width is what the place leaves beside the axis labels; a chart that says nothing of it stays as it is.
  function fit(view, width) {
    if (typeof view.width === "number") view.width = width;
    for (const part of [...(view.layer ?? []), ...(view.vconcat ?? [])]) fit(part, width);
  }

  function paint(config) {
    const ink = colour("--ink"), quiet = colour("--quiet"), line = colour("--line");
    Object.assign(config.axis, { labelColor: ink, titleColor: quiet, gridColor: line });
    Object.assign(config.legend, { labelColor: ink, titleColor: quiet });
    Object.assign(config.header, { labelColor: ink, titleColor: quiet });
    config.title.color = ink;
    config.text.color = ink;
  }

  async function draw(place) {
    const source = Object.entries(dark() ? ON_DARK : {}).reduce((text, pair) => text.replaceAll(...pair), place.source);
    const spec = JSON.parse(source);
    if (spec.usermeta?.chrome_px) fit(spec, Math.max(LEAST_PLOT_PX, place.clientWidth - spec.usermeta.chrome_px));
    paint(spec.config);
    place.classList.remove("drawn");
    const made = await vegaEmbed(place, spec, { renderer: "svg", actions: false, tooltip: { theme: dark() ? "dark" : "light" } });
    accessible(place);
    await join(place, made.view, spec);
    offer(place, made.view);
    spell(place, made.view);
    place.dataset.scheme = dark() ? "dark" : "light";
    place.classList.add("drawn");
  }

  // PNG is drawn when it is requested, on the page's ground; all else in a figure's menu is a file.
  function offer(place, view) {
    const button = place.parentNode.querySelector(":scope > .figure-menu .png");
    if (!button) return;
    button.hidden = false;
    button.onclick = async () => {
      await view.background(colour("--ground")).runAsync();
      const link = Object.assign(document.createElement("a"), { href: await view.toImageURL("png", 2), download: button.dataset.file });
      await view.background("transparent").runAsync();
      link.click();
    };
  }

  // What the pointer reads from the marks, for who has none: for each panel and kind of mark a table, made when it is opened.
  function spell(place, view) {
    const fold = place.parentNode.querySelector(":scope > .figure-marks");
    if (!fold) return;
    const fill = () => {
      if (!fold.open) return;
      const tables = new Map(); // panel and columns -> the rows, each once
      for (const [panel, tip] of tips(view.scenegraph().root, "")) {
        const key = JSON.stringify([panel, Object.keys(tip)]);
        if (!tables.has(key)) tables.set(key, new Set());
        tables.get(key).add(JSON.stringify(Object.values(tip)));
      }
      fold.replaceChildren(fold.firstElementChild, ...[...tables].map(([key, rows]) => tableOf(...JSON.parse(key), [...rows].map(JSON.parse))));
      reachable();
    };
    fold.hidden = false;
    fold.ontoggle = place.oninput = fill;
    fill();
  }

  // The tooltip of every mark below `node`, with the title of the panel that it is in.
  function* tips(node, panel) {
    const title = node.items?.find((mark) => mark.role === "title")?.items[0]?.items[0]?.items[0]?.text;
    for (const item of node.items ?? []) {
      if (item.tooltip && typeof item.tooltip === "object") yield [panel, item.tooltip];
      yield* tips(item, title ?? panel);
    }
  }

  function tableOf(panel, heads, rows) {
    const box = Object.assign(document.createElement("div"), { className: "table-box" });
    const table = box.appendChild(document.createElement("table"));
    if (panel) table.createCaption().textContent = [panel].flat().join(" ");
    const head = table.createTHead().insertRow();
    for (const name of heads) head.appendChild(Object.assign(document.createElement("th"), { scope: "col", textContent: name }));
    const body = table.createTBody();
    for (const cells of rows) {
      const row = body.insertRow();
      for (const cell of cells) row.insertCell().textContent = cell;
    }
    return box;
  }

  // The drawing has its own text for who does not see it; a group without marks has none, and is none.
  function accessible(place) {
    for (const name of ["role", "aria-label"]) place.removeAttribute(name);
    place.querySelectorAll("g[role='graphics-symbol']:empty").forEach((group) => group.removeAttribute("role"));
  }

  // On a phone a row of a table becomes a card, each cell under its column's name; a matrix, whose columns but the first are numbers, scrolls.
  function cards() {
    for (const table of document.querySelectorAll("main table")) {
      const heads = [...table.querySelectorAll("thead th")];
      if (heads.length < 3 || heads.slice(1).every((head) => head.style.textAlign === "right")) continue;
      table.classList.add("cards");
      const above = []; // what a row that leaves its first cells empty has in common with the one above
      for (const row of table.querySelectorAll("tbody tr")) {
        const first = [...row.cells].findIndex((cell) => cell.textContent);
        [...row.cells].forEach((cell, at) => {
          cell.dataset.column = heads[at].textContent;
          if (at < first && above[at]) cell.dataset.above = above[at];
          else above[at] = cell.textContent;
        });
      }
    }
  }

  // What scrolls sideways can be reached, and then scrolled, by keys.
  function reachable() {
    for (const box of document.querySelectorAll(".table-box, figure.quarto-float > div, math[display='block'], pre")) {
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    }
  }

  // Selections on the same field are one selection, in every figure of the page.
  const HINT = "Click a mark or a legend entry to highlight it in all figures of this page.";
  const picked = new Map(); // field -> the values that are picked
  const joined = new Map(); // place -> its view, its selections (field -> name), the values that each has, its status line

  function valuesOf(spec, field) {
    return new Set(Object.values(spec.datasets ?? {}).flatMap((rows) => rows.map((row) => row[field])));
  }

  async function join(place, view, spec) {
    const selections = new Map((spec.params ?? []).filter((param) => param.select?.fields?.length === 1).map((param) => [param.select.fields[0], param.name]));
    if (selections.size === 0) return;
    const known = new Map([...selections.keys()].map((field) => [field, valuesOf(spec, field)]));
    const said = place.parentNode.querySelector(":scope > .picked") ?? place.parentNode.insertBefore(document.createElement("div"), place.nextSibling);
    said.className = "picked";
    said.setAttribute("aria-live", "polite");
    joined.set(place, { view, selections, known, said });
    for (const [field, name] of selections) {
      view.addDataListener(`${name}_store`, (_, tuples) => {
        const values = [...new Set(tuples.map((tuple) => tuple.values[0]))];
        if (String(values) !== String(mine(place, field))) pick(field, values);
      });
    }
    await show(place);
  }

  // What is picked of `field`, as far as the chart in `place` has it.
  function mine(place, field) {
    return (picked.get(field) ?? []).filter((value) => joined.get(place).known.get(field).has(value));
  }

  function pick(field, values) {
    picked.set(field, values);
    for (const place of joined.keys()) if (joined.get(place).selections.has(field)) show(place);
  }

  async function show(place) {
    const { view, selections, said } = joined.get(place);
    for (const [field, name] of selections) {
      const tuples = mine(place, field).map((value) => ({ unit: "", fields: [{ type: "E", field }], values: [value] }));
      if (String(tuples.map((tuple) => tuple.values[0])) !== String(view.data(`${name}_store`).map((tuple) => tuple.values[0]))) view.data(`${name}_store`, tuples);
    }
    await view.runAsync();
    const shown = [...selections.keys()].flatMap((field) => mine(place, field));
    said.textContent = shown.length ? `Highlighted: ${shown.join(", ")}. ` : HINT;
    if (shown.length === 0) return;
    const all = said.appendChild(document.createElement("button"));
    all.textContent = "Show all";
    all.onclick = () => [...picked.keys()].forEach((each) => pick(each, []));
  }

  // The cases of a statement are folded behind its row, and a button there shows them.
  function fold() {
    const rows = [...document.querySelectorAll("#tbl-ledger-cases tbody tr")];
    const groups = Map.groupBy ? Map.groupBy(rows, (row) => row.cells[0].textContent.trim()) : new Map();
    for (const [claim, [first, ...cases]] of groups) {
      if (!cases.length) continue;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "fold", textContent: `${cases.length} cases` });
      const turn = (open) => {
        cases.forEach((row) => (row.hidden = !open));
        button.setAttribute("aria-expanded", open);
      };
      button.setAttribute("aria-label", `${cases.length} cases of ${claim}`);
      button.onclick = () => turn(cases[0].hidden);
      first.cells[2].append(button);
      turn(false);
    }
  }

  async function start() {
    fold();
    cards();
    reachable();
    await document.fonts.ready;
    await Promise.allSettled(["400 11px Inter", "600 12px Inter"].map((font) => document.fonts.load(font)));
    const places = [...document.querySelectorAll(".vl-chart")];
    for (const place of places) {
      place.source = place.querySelector('script[type="application/json"]').textContent;
      await draw(place);
    }
    preferred.addEventListener("change", () => places.forEach(draw));
    let shown = dark();
    new MutationObserver(() => {
      if (dark() !== shown) places.forEach(draw);
      shown = dark();
    }).observe(document.body, { attributeFilter: ["class"] });
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) places.forEach(draw);
      width = innerWidth;
      reachable();
    });
  }

  start();
})();
