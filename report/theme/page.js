// The plain engine's page: contents, search, and the choice between light and dark. Quarto brings its own.
(() => {
  "use strict";
  const SCHEMES = { auto: "", light: "quarto-light", dark: "quarto-dark" };
  const MOST = 12; // results
  const AROUND = 70; // characters of text on each side of a hit
  const tools = document.getElementById("tools"), found = document.getElementById("found"), field = document.getElementById("search");

  // On a small screen the contents start folded; on a large one the chapter in view is marked.
  function contents() {
    const nav = document.getElementById("contents");
    nav.open = matchMedia("(min-width: 66rem)").matches;
    const links = new Map([...nav.querySelectorAll("nav a[href^='#']")].map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        links.forEach((link, id) => link.classList.toggle("here", id === entry.target.id));
      }
    }, { rootMargin: "0px 0px -75% 0px" });
    for (const id of links.keys()) seen.observe(document.getElementById(id));
  }

  // A choice lasts for the visit; a browser that keeps nothing for files forgets it with the page.
  function scheme(button) {
    const kept = () => { try { return sessionStorage.getItem("scheme"); } catch { return null; } };
    const set = (name) => {
      for (const each of Object.values(SCHEMES).filter(Boolean)) document.body.classList.toggle(each, each === SCHEMES[name]);
      button.textContent = `Colours: ${name === "auto" ? "as the system" : name}`;
      try { sessionStorage.setItem("scheme", name); } catch { /* a page that is opened from a file may keep nothing */ }
      button.onclick = () => set({ auto: "light", light: "dark", dark: "auto" }[name]);
    };
    set(kept() in SCHEMES ? kept() : "auto");
  }

  // Every section with the text that is its own, without that of the sections within and of the charts.
  function index() {
    return [...document.querySelectorAll("main section[id]")].map((section) => {
      const own = section.cloneNode(true);
      own.querySelectorAll("section, .vl-chart, .figure-menu, .picked, annotation").forEach((part) => part.remove());
      own.querySelectorAll("td, th, p, li, figcaption, h1, h2, h3").forEach((part) => part.append(" "));
      const heading = own.querySelector("h1, h2, h3");
      const title = heading.textContent.trim();
      heading.remove();
      const text = own.textContent.replace(/\s+/g, " ").trim();
      return { id: section.id, title, text, plain: `${title} ${text}`.toLowerCase() };
    });
  }

  function around(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word));
    const from = Math.max(0, at - AROUND);
    const line = document.createElement("small");
    const mark = Object.assign(document.createElement("mark"), { textContent: text.slice(at, at + word.length) });
    line.append(from ? "\u2026" : "", text.slice(from, at), mark, text.slice(at + word.length, at + word.length + AROUND), "\u2026");
    return line;
  }

  // Sections that have every word, those with all of them in the title first.
  function search(sections, words) {
    const hits = sections.filter((section) => words.every((word) => section.plain.includes(word)));
    const titled = (section) => words.every((word) => section.title.toLowerCase().includes(word));
    return [...hits.filter(titled), ...hits.filter((section) => !titled(section))];
  }

  function searching() {
    let sections;
    field.addEventListener("input", () => {
      sections ??= index();
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const hits = words.length ? search(sections, words) : [];
      found.replaceChildren(...hits.slice(0, MOST).map(({ id, title, text }) => {
        const item = document.createElement("li");
        const link = item.appendChild(Object.assign(document.createElement("a"), { href: `#${id}`, textContent: title }));
        link.append(around(text, words.find((word) => text.toLowerCase().includes(word)) ?? ""));
        return item;
      }));
      if (words.length && !hits.length) found.replaceChildren(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
    });
  }

  contents();
  scheme(document.getElementById("scheme"));
  searching();
  tools.hidden = false;
})();
