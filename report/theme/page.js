// The plain engine's pages: contents, search in BOOK (assets/search.js), and the choice between light and dark. Quarto brings its own.
(() => {
  "use strict";
  const SCHEMES = { auto: "", light: "quarto-light", dark: "quarto-dark" };
  const MOST = 12; // results
  const AROUND = 70; // characters of text, about, before a hit and after it
  const tools = document.getElementById("tools"), found = document.getElementById("found"), field = document.getElementById("search");

  // On a small screen the contents start folded; on a large one the section in view is marked.
  function contents() {
    const nav = document.getElementById("contents");
    nav.open = matchMedia("(min-width: 66rem)").matches;
    const chapter = nav.querySelector("[aria-current]")?.parentNode;
    if (chapter) nav.scrollTop = chapter.offsetTop + chapter.offsetHeight - nav.clientHeight;
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

  // Where `words` stand in `text`, whole or as beginnings of words: [place, length, which], in order.
  function places(text, words, whole) {
    return words.flatMap((word, which) => {
      const letters = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), edge = "[\\p{L}\\p{N}]";
      const pattern = `(?<!${edge})${letters}${whole ? `(?!${edge})` : ""}`;
      return [...text.matchAll(new RegExp(pattern, "giu"))].map((hit) => [hit.index, hit[0].length, which]);
    }).sort(([one], [other]) => one - other);
  }

  // How well a section answers: all words whole before beginnings of words, then in the title before the text, then side by side before apart; 0: not at all.
  function grade({ title, text }, words) {
    const has = (part, whole) => new Set(places(part, words, whole).map(([, , which]) => which)).size === words.length;
    const all = `${title} ${text}`, lower = all.toLowerCase();
    if (!words.every((word) => lower.includes(word))) return 0;
    const whole = has(all, true);
    return 1 + 4 * whole + 2 * has(title, whole) + (places(all, [words.join(" ")], whole).length > 0);
  }

  // The part of a text that has most of the words, as close together as they come, each of them marked.
  function around(text, words) {
    const whole = places(text, words, true), hits = new Set(whole.map(([, , which]) => which)).size === words.length ? whole : places(text, words, false);
    const near = ([begin]) => {
      const first = new Map(hits.filter(([at]) => at >= begin && at < begin + AROUND).reverse().map(([at, , which]) => [which, at]));
      return AROUND * first.size - Math.max(...first.values()) + begin;
    };
    const [begin] = hits.reduce((best, hit) => (near(hit) > near(best) ? hit : best), hits[0] ?? [0]);
    const from = begin < AROUND ? 0 : text.indexOf(" ", begin - AROUND) + 1, end = begin + 2 * AROUND;
    const line = document.createElement("small");
    line.append(from ? "\u2026" : "");
    let last = from;
    for (const [at, length] of hits.filter(([place]) => place >= from && place < end)) {
      if (at < last) continue;
      line.append(text.slice(last, at), Object.assign(document.createElement("mark"), { textContent: text.slice(at, at + length) }));
      last = at + length;
    }
    line.append(text.slice(last, end), end < text.length ? "\u2026" : "");
    return line;
  }

  function searching() {
    field.addEventListener("input", () => {
      const words = [...new Set(field.value.toLowerCase().split(/\s+/).filter(Boolean))];
      const graded = words.length ? BOOK.sections.map((section) => ({ section, grade: grade(section, words) })) : [];
      const hits = graded.filter((each) => each.grade).sort((one, other) => other.grade - one.grade).slice(0, MOST);
      found.replaceChildren(...hits.map(({ section: { url, title, text } }) => {
        const item = document.createElement("li");
        const link = item.appendChild(Object.assign(document.createElement("a"), { href: url, textContent: title }));
        link.append(around(text, words));
        return item;
      }));
      if (words.length && !hits.length) found.replaceChildren(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
    });
  }

  // The report was one page once: an address of that time, like index.html#sec-cost, leads to the page that has the place now.
  // One that has gone leads to the place whose name begins with most of its words: sec-wal-cost to sec-wal-placement.
  function follow() {
    const label = decodeURIComponent(location.hash.slice(1));
    if (!label || document.getElementById(label)) return;
    const place = BOOK.places[label] ? label : nearest(label.split("-"));
    if (place) location.replace(`${BOOK.places[place]}#${place}`);
  }

  function nearest(words) {
    let best = "", most = 1;
    for (const place of Object.keys(BOOK.places)) {
      const own = place.split("-");
      let same = 1; // the kind, sec or tbl, may differ
      while (same < words.length && own[same] === words[same]) same += 1;
      if (same > most) [best, most] = [place, same];
    }
    return best;
  }

  follow();
  addEventListener("hashchange", follow);
  contents();
  scheme(document.getElementById("scheme"));
  searching();
  tools.hidden = false;
})();
