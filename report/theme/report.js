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
    const actions = { export: { svg: true, png: true }, source: false, compiled: false, editor: false };
    await vegaEmbed(place, spec, { renderer: "svg", actions, tooltip: { theme: dark() ? "dark" : "light" } });
    place.classList.add("drawn");
  }

  async function start() {
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
    });
  }

  // On a small screen the contents start folded; on a large one the chapter in view is marked.
  function contents() {
    const nav = document.getElementById("contents");
    if (!nav) return;
    nav.open = matchMedia("(min-width: 66rem)").matches;
    const links = new Map([...nav.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        links.forEach((link, id) => link.classList.toggle("here", id === entry.target.id));
      }
    }, { rootMargin: "0px 0px -75% 0px" });
    for (const id of links.keys()) seen.observe(document.getElementById(id));
  }

  contents();
  start();
})();
