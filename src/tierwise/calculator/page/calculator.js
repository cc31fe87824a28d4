// The calculator: what calculator/answer.py, grid.py and shape.py do, number for number, on the grid and the markets in DATA.
(() => {
  "use strict";
  const { grid, markets, bands, fixed } = DATA, GIB = 2 ** 30, TABLE = 1, INDEX = 2, LOG = 4;
  const place = (name) => document.getElementById(`calculator-${name}`), form = document.querySelector("#calculator form");
  const found = place("answer"), chart = place("chart");

  // --- shape.py
  const entriesOf = (ratio) => Math.min(fixed.entries, fixed.rows / ratio);
  function harmonic(count, skew) {
    const first = Math.min(32, Math.floor(count));
    let total = 0;
    for (let i = 1; i <= first; i++) total += i ** -skew;
    if (count <= first) return total;
    const power = 1 - skew;
    const area = Math.abs(power) > 1e-6 ? (count ** power - first ** power) / power : Math.log(count / first);
    return total + area + (count ** -skew - first ** -skew) / 2;
  }
  const hotShare = (skew, rows) => harmonic(Math.max(1, fixed.hot * rows), skew) / harmonic(rows, skew);
  function equivalentSkew(skew, rows, others) {
    if (!skew) return 0;
    const share = hotShare(skew, rows);
    let low = 0, high = 4;
    for (let i = 0; i < 50; i++) {
      const middle = (low + high) / 2;
      if (hotShare(middle, others) < share) low = middle; else high = middle;
    }
    return (low + high) / 2;
  }
  function levels(pages, entries) {
    let count = 1, level = Math.max(1, Math.round(pages * (1 - 1 / entries)));
    for (; level > 1; count++) level = Math.ceil(level / entries);
    return count;
  }

  // --- grid.py
  const rightOf = (nodes, at) => nodes.filter((node) => node <= at).length;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  function weights(nodes, at) {
    const first = clamp(rightOf(nodes, at) - 2, 0, nodes.length - 4), four = [0, 1, 2, 3].map((step) => first + step);
    return four.map((one) => [one, four.reduce((w, o) => (o === one ? w : w * (at - nodes[o]) / (nodes[one] - nodes[o])), 1)]);
  }
  function between(axis, row, at) {
    const above = clamp(rightOf(axis, at), 1, axis.length - 1);
    return row[above - 1] + (at - axis[above - 1]) / (axis[above] - axis[above - 1]) * (row[above] - row[above - 1]);
  }
  const leastShare = Math.max(...Object.values(grid.ram).map((shares) => shares[0]));
  const ramsOf = (pages) => Array.from({ length: fixed.steps }, (_, i) => Math.floor(pages * leastShare ** (1 - i / (fixed.steps - 1)) + 0.5));
  function evenSkew(load) {
    const entries = entriesOf(load.index / load.table);
    return equivalentSkew(load.skew, load.index * (1 - 1 / entries) * entries, fixed.reference_rows);
  }
  function outside(load) {
    const pages = load.table + load.index, ratio = load.index / load.table, [least, most] = [grid.ratios[0], grid.ratios.at(-1)];
    if (!(load.table > 0 && load.index > 0 && load.requests > 0 && load.clients >= 1)) return "sizes, requests and clients must be above zero";
    if (pages < fixed.least_pages) return `table and index must have at least ${gib(fixed.least_pages)}`;
    if (ratio < least || ratio > most) return `the index must have ${number(least)} to ${number(most)} times the size of the table`;
    if (!(load.writes >= 0 && load.writes <= 1)) return "the share of writes must be 0 to 1";
    if (!(load.skew >= 0) || evenSkew(load) > grid.skews.at(-1)) {
      const most = Array.from({ length: 400 }, (_, i) => i / 100).findLast((skew) => evenSkew({ ...load, skew }) <= grid.skews.at(-1));
      return `the skew must be 0 to ${number(most)}`;
    }
    if (load.ram && load.ram < ramsOf(pages)[0]) return `RAM for the cache must have at least ${gib(ramsOf(pages)[0])}`;
    return "";
  }
  function pointOf(load) {
    const pages = load.table + load.index, ratio = load.index / load.table, even = evenSkew(load);
    const [small, large] = grid.sizes.map(Math.log2), size = Math.min(1, (Math.log2(pages) - small) / (large - small));
    const nodes = [];
    for (const [skewAt, one] of weights(grid.skews, even)) {
      for (const [ratioAt, other] of weights(grid.ratios.map(Math.log), Math.log(ratio))) {
        const name = `${grid.skews[skewAt] ? load.layout : "strewn"} ${grid.skews[skewAt]} ${grid.ratios[ratioAt]}`;
        nodes.push([name, String(grid.ratios[ratioAt]), one * other]);
      }
    }
    const ends = [...grid.writes, 1], at = clamp(rightOf(ends, load.writes) - 1, 0, ends.length - 2);
    const part = clamp(Math.log(Math.max(load.writes, ends[0]) / ends[at]) / Math.log(ends[at + 1] / ends[at]), 0, 1);
    const blended = (row, where, axis, sizes) => {
      let total = 0;
      for (const [name, share, weight] of nodes) {
        sizes.forEach((w, s) => { total += weight * w * between(axis || grid.ram[share], grid.nodes[`${name} ${s}`][row], where); });
      }
      return Math.max(0, total / fixed.whole);
    };
    const sizes = [1 - size, size], intervals = grid.intervals, logs = intervals.map(Math.log2);
    return {
      pages,
      counts(ramPages) {
        const ram = Math.min(1, ramPages / pages), table = blended(0, ram, null, sizes), index = blended(1, ram, null, sizes);
        let backs = 0;
        for (const [row, weight] of [[at, 1 - part], [at + 1, part]]) {
          backs += weight * (row < grid.writes.length ? blended(3 + row, ram, null, [1]) : 1);
        }
        return { table, index, backs: load.writes * backs * table };
      },
      changed(perPage) {
        const most = Math.max(perPage, intervals[0]);
        return blended(2, Math.min(Math.log2(most), logs.at(-1)), logs, sizes) * Math.min(1, intervals.at(-1) / most);
      },
    };
  }

  // --- answer.py
  const above = (steps, amount, prices) => steps.reduce((sum, step, i) =>
    sum + prices[step.item] * Math.max(0, Math.min(amount, steps[i + 1]?.above ?? Infinity) - step.above), 0);
  const billed = (bill, prices) => Object.entries(bill).reduce((sum, [item, amount]) => sum + amount * prices[item], 0);
  const placed = (choice) => choice && choice.on.join();
  function solver(load, market) {
    const point = pointOf(load), kept = new Map(), names = Object.keys(market.devices), rams = ramsOf(point.pages);
    const counts = (ram) => kept.get(ram) || kept.set(ram, point.counts(ram)).get(ram);
    const prices = (end) => Object.fromEntries(Object.entries(market.items).map(([name, item]) => [name, item[end]]));
    const changed = (rate) => (load.writes ? point.changed(rate * load.writes * fixed.checkpoint_s / load.table) : 0);
    const logBytes = (rate) => load.writes * (fixed.update_bytes + fixed.page_bytes * changed(rate));
    function loads(ram, rate) {
      const c = counts(ram), bytes = fixed.page_bytes, logRate = rate * logBytes(rate), reads = rate * c.index;
      const pages = rate * (c.table + Math.max(c.backs, load.writes * changed(rate)));
      return [
        [TABLE, [load.table * bytes, pages, pages * bytes, pages, 0]],
        [INDEX, [load.index * bytes, reads, reads * bytes, reads, 0]],
        [LOG, [fixed.log_intervals * fixed.checkpoint_s * logRate, rate * load.writes, logRate, 0, rate * load.writes]],
      ];
    }
    function month(device, parts, held, price) {
      const sums = together(parts, held);
      return device.volume ? volumesOf(device.volume, sums, price)[1] : billed(device.bill, price) * Math.max(...shareOf(device, sums));
    }
    function shareOf(device, [bytes, , , pages, commits]) {
      return [bytes / device.capacity, pages * device.busy_s[rightOf(fixed.depths, load.clients) - 1] + commits * device.times[2] / load.clients];
    }
    function together(parts, held) {
      const sums = [0, 0, 0, 0, 0];
      for (const [part, own] of parts) if (held & part) own.forEach((value, i) => { sums[i] += value; });
      return sums;
    }
    function volumesOf(sold, sums, price) {
      let found = [[], Infinity];
      for (let count = 1; count <= fixed.pieces; count++) {
        const [size, iops, rate] = eachOf(count, sold, sums);
        if (size > sold.largest || iops > sold.iops || rate > sold.rate) continue;
        const cost = count * (size * price[sold.size] + above(sold.iops_steps, iops, price) + above(sold.rate_steps, rate, price));
        if (cost < found[1]) found = [[count, size, iops, rate], cost];
      }
      return found;
    }
    function eachOf(count, sold, [bytes, requests, byteRate]) {
      const rate = Math.max(sold.least_rate, byteRate / count), per = sold.iops_per_byte;
      const needed = Math.max(requests / count, sold.bytes_per_request ? rate / sold.bytes_per_request : 0);
      const byIops = per && (sold.floor_by_size || needed > sold.least_iops) ? needed / per : 0;
      const size = Math.ceil(Math.max(sold.smallest, bytes / count, byIops) / GIB * (1 - 1e-12)) * GIB;
      return [size, Math.max(needed, per && sold.floor_by_size ? Math.min(sold.least_iops, per * size) : sold.least_iops), rate];
    }
    const heldBy = (on, name) => on.reduce((sum, device, i) => sum + (device === name ? 2 ** i : 0), 0);
    const memory = (ram, price) => billed(market.ram, price) * ram * fixed.page_bytes;
    const timeOf = (c, [table, index, log]) => c.table * table[0] + c.index * index[0] + c.backs * table[1] + load.writes * log[2];
    function choices(ram, rate, price) {
      const c = counts(ram), parts = loads(ram, rate), cost = {}, all = [];
      for (const name of names) for (let held = 1; held < 8; held++) cost[`${name} ${held}`] = month(market.devices[name], parts, held, price);
      for (const t of names) for (const i of names) for (const l of names) {
        const on = [t, i, l], time = timeOf(c, on.map((name) => market.devices[name].times));
        if (time * rate > load.clients) continue;
        const sum = [...new Set(on)].reduce((so, name) => so + cost[`${name} ${heldBy(on, name)}`], memory(ram, price));
        if (sum < Infinity) all.push({ on, ram, time, cost: sum });
      }
      return all;
    }
    const least_of = (all) => all.reduce((best, each) => (best && each.cost >= best.cost * (1 - fixed.tie) ? best : each), null);
    const price = prices("each"), cheapest = (ram, rate, other) => least_of(choices(ram, rate, price).filter((each) => placed(each) !== other));
    const best = (rate, other) => least_of((load.ram ? [load.ram] : rams).map((ram) => cheapest(ram, rate, other)).filter(Boolean));
    function turn(factor) {
      let near = load.requests;
      const own = placed(best(near));
      for (let i = 0; i < fixed.doublings; i++) {
        let far = near * factor, other = best(far);
        if (placed(other) === own) { near = far; continue; }
        for (let j = 0; j < fixed.bisections; j++) {
          const middle = (near * far) ** 0.5, there = best(middle);
          if (placed(there) === own) near = middle; else { far = middle; other = there; }
        }
        return { requests: far, choice: other };
      }
      return null;
    }
    const part = { low: 1 - fixed.error, each: 1, high: 1 + fixed.error };
    const at = (choice, end) => [...new Set(choice.on)].reduce((sum, name) => sum
      + month(market.devices[name], loads(choice.ram, load.requests * part[end]), heldBy(choice.on, name), prices(end)), memory(choice.ram, prices(end)));
    function borne(choice, rented, of) {
      const parts = loads(choice.ram, load.requests), own = [...new Set(choice.on)].filter((name) => Boolean(market.devices[name].volume) === rented);
      return own.map((name) => [name, of(market.devices[name], together(parts, heldBy(choice.on, name)))]);
    }
    const shares = (choice) => borne(choice, false, shareOf).map(([name, share]) => [name, ...share]);
    const volumes = (choice) => Object.fromEntries(borne(choice, true, ({ volume }, sums) => volumesOf(volume, sums, price)[0]));
    const timeAt = (choice, end) => part[end] * timeOf(counts(choice.ram), choice.on.map((name) => bands[name][end === "low" ? 0 : 1]));
    const found = best(load.requests), next = best(load.requests, placed(found));
    return { rams, counts, choices: (ram) => choices(ram, load.requests, price), best: found, next, at, timeAt, shares, volumes, turns: [turn(0.5), turn(2)].filter(Boolean) };
  }

  // --- the page
  const pages = (gib) => Math.floor(gib * GIB / fixed.page_bytes + 0.5);
  const number = (value, digits = 3) => value.toLocaleString("en", { maximumSignificantDigits: digits });
  const gib = (count) => `${number(count * fixed.page_bytes / GIB)} GiB`;
  const where = (on) => new Set(on).size === 1 ? `all on ${on[0]}` : `table on ${on[0]}, index on ${on[1]}, log on ${on[2]}`;
  const money = (value) => value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  const OWN_RAM = "own-ram";

  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"], LEFT = 60, RIGHT = 485, TOP = 30, BOTTOM = 200;

  function ticks(low, high) {
    const inside = (values) => values.filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
    const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, i) => 10 ** (Math.floor(Math.log10(low)) + i));
    const all = inside(powers.flatMap((power) => [power, 2 * power, 5 * power]));
    if (all.length > 2) return all.length > 8 ? inside(powers) : all;
    const power = 10 ** Math.floor(Math.log10(high - low || high)), step = [0.2, 0.5, 1, 2].map((part) => part * power).find((one) => high - low <= 8 * one);
    return inside(Array.from({ length: 12 }, (_, i) => (Math.ceil(low / step) + i) * step));
  }

  function draw(solved, currency, fixedRam) {
    const lines = new Map();
    for (const ram of solved.rams) {
      const own = new Map();
      for (const each of solved.choices(ram)) {
        const name = `table on ${each.on[0]}, index on ${each.on[1]}`;
        if (!own.has(name) || own.get(name).cost > each.cost) own.set(name, each);
      }
      for (const [name, each] of own) lines.set(name, [...(lines.get(name) || []), each]);
    }
    const marked = [solved.best, solved.next].filter(Boolean).map(({ on }) => `table on ${on[0]}, index on ${on[1]}`);
    const least = (line) => Math.min(...line.map((each) => each.cost)), rank = (name) => (marked.includes(name) ? 0 : 1);
    const shown = [...lines].sort((a, b) => rank(a[0]) - rank(b[0]) || least(a[1]) - least(b[1])).slice(0, COLOURS.length), all = shown.flatMap(([, line]) => line);
    if (!all.length) return chart.replaceChildren();
    const scale = (values, from, to) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [ticks(low, high), (value) => from + (to - from) * (Math.log(value / low) / (Math.log(high / low) || 1))];
    };
    const [ramTicks, x] = scale(solved.rams.map((ram) => ram * fixed.page_bytes / GIB), LEFT, RIGHT), [costTicks, y] = scale(all.map((each) => each.cost), BOTTOM, TOP);
    const at = (each) => [x(each.ram * fixed.page_bytes / GIB), y(each.cost)].map((place) => place.toFixed(1));
    const path = (line) => line.map((each, i) => `${i ? "L" : "M"}${at(each)}`).join("");
    const text = (atX, atY, words, anchor) => `<text x="${atX}" y="${atY}" text-anchor="${anchor}">${words}</text>`;
    const rule = (x1, y1, x2, y2) => `<path class="rule" d="M${x1},${y1}L${x2},${y2}"/>`;
    chart.innerHTML = `<svg viewBox="0 0 500 240" role="img" aria-label="Cost per month against RAM">${
      ramTicks.map((value) => rule(x(value), TOP, x(value), BOTTOM) + text(x(value), BOTTOM + 16, number(value), "middle")).join("")}${
      costTicks.map((value) => rule(LEFT, y(value), RIGHT, y(value)) + text(LEFT - 4, y(value) + 4, number(value, 5), "end")).join("")}${
      text(0, 14, `${currency} per month`, "start") + text((LEFT + RIGHT) / 2, BOTTOM + 34, `RAM for the cache, GiB (dot: ${fixedRam ? "your RAM" : "the cheapest"})`, "middle")}${
      shown.map(([, line], i) => `<path d="${path(line)}" fill="none" stroke="${COLOURS[i]}" stroke-width="2"/>`).join("")}${
      solved.best ? `<circle cx="${at(solved.best)[0]}" cy="${at(solved.best)[1]}" r="5"/>` : ""}</svg>`;
    const logs = (line) => [...new Set(line.map((each) => each.on[2]))].join(" or ");
    const legend = shown.map(([name, line], i) => Object.assign(element("li", `${name}, log on ${logs(line)}`), { style: `border-left: 1rem solid ${COLOURS[i]}` }));
    const list = document.createElement("ul");
    list.append(...legend);
    chart.append(list);
  }

  function answered(solved, load, market) {
    const { best, next } = solved, both = next ? [best, next] : [best], high = 1e3 * solved.timeAt(best, "high");
    const cost = (end) => (choice) => {
      const own = solved.at(choice, end), least = solved.at(best, end), more = 100 * own / least - 100, sign = more < 0 ? "" : "+";
      return `${money(own)}${choice === best ? "" : ` (${sign}${money(own - least)}, ${sign}${more.toFixed(1)}\u00a0%)`}`;
    };
    const rows = [
      ["", (choice) => (choice === best ? "Cheapest" : "Next")],
      ...["Table", "Index", "Log"].map((what, i) => [`${what} on`, (choice) => choice.on[i]]),
      ["RAM for the cache", (choice) => gib(choice.ram) + (!load.ram && choice.ram === solved.rams[0] ? ", the least that we simulated" : "")],
      ["Time of a request in the storage", (choice) => {
        const [low, own, top] = [solved.timeAt(choice, "low"), choice.time, solved.timeAt(choice, "high")].map((time) => number(1e3 * time));
        return `${own} ms (${low} to ${top} ms)`;
      }],
      [`Cost without the machine, ${market.currency} per month`, cost("each")],
      ["with all prices low", cost("low")],
      ["with all prices high", cost("high")],
    ];
    const table = document.createElement("table");
    for (const [name, of] of rows) {
      const row = table.insertRow(), head = name ? "td" : "th";
      row.append(name ? Object.assign(element("th", name), { scope: "row" }) : element("td", ""), ...both.map((choice) => element(head, of(choice))));
    }
    const said = [
      ...solved.shares(best).map(([name, space, busy]) => `${name}: the data take ${number(100 * space, 2)} % of its space, and the requests ${
        number(100 * busy, 2)} % of its time. The cost has the larger of both.`),
      ...Object.entries(solved.volumes(best)).map(([name, [count, size, iops, rate]]) => `${name}: ${count} volume${
        count > 1 ? "s, each" : ""} with ${number(size / GIB)} GiB, ${number(iops)} IOPS and ${number(rate / 1e6)} MB/s.`),
      `With ${load.clients} clients, ${number(1e3 * best.time)} ms a request allow at most ${
        number(load.clients / best.time)} requests per second. More requests need more clients, more RAM or faster devices.`,
      ...(load.ram > load.table + load.index ? ["The RAM is larger than table and index together."] : []),
      ...(high * load.requests > 1e3 * load.clients ? [`If a request takes ${number(high)} ms, ${load.clients} clients are too few for the requests.`] : []),
      ...(best.on.some((name) => market.local_ssds.includes(name)) ? ["A local SSD loses its data when the machine stops."] : []),
      ...solved.turns.map((turn) => `${turn.requests > load.requests ? "From" : "Below"} about ${number(turn.requests)} requests per second, ${
        turn.choice ? `another placement is the cheapest: ${where(turn.choice.on)}, with ${gib(turn.choice.ram)} of RAM for ${money(turn.choice.cost)} ${market.currency} per month`
          : "no placement is fast enough"}.`),
    ];
    return [table, ...said.map((words) => element("p", words))];
  }

  function priced(market, given, ramPrice, local) {
    const items = Object.entries(market.items).map(([name, item]) => {
      const factor = given[name] > 0 ? given[name] / item.price : null, each = factor && item.each * factor;
      return [name, factor ? { ...item, each, low: each, high: each } : item];
    });
    const own = { each: ramPrice / GIB, low: ramPrice / GIB, high: ramPrice / GIB };
    const ram = ramPrice === null ? {} : { ram: { [OWN_RAM]: 1 } };
    const devices = Object.fromEntries(Object.entries(market.devices).filter(([name]) => local || !market.local_ssds.includes(name)));
    return { ...market, ...ram, devices, items: { ...Object.fromEntries(items), [OWN_RAM]: own } };
  }

  function show(kept = true) {
    const values = Object.fromEntries(new FormData(form)), market = markets[values.market], given = {};
    for (const [name, value] of Object.entries(values)) if (name.startsWith("price-") && value) given[name.slice(6)] = Number(value);
    const load = {
      table: pages(values.table_gib), index: pages(values.index_gib), ram: values.ram_gib ? pages(values.ram_gib) : 0,
      requests: Number(values.requests), writes: Number(values.writes), skew: Number(values.skew), layout: values.layout, clients: Number(values.clients),
    };
    const refused = outside(load), sold = priced(market, given, values.ram_price ? Number(values.ram_price) : null, values.local_ssd);
    const solved = refused ? null : solver(load, sold), best = solved && solved.best;
    const options = Object.entries(values).filter(([name, value]) => value && !name.startsWith("price-"));
    const command = ["tierwise map --synthetic", ...options.map(([name, value]) => (name === "local_ssd" ? "--local-ssd" : `--${name.replace("_", "-")} ${value}`)),
      ...Object.entries(given).map(([name, value]) => `--price ${name}=${value}`), `--on ${market.on}`].join(" ");
    if (kept) {
      const hash = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
      hash.set("grid", grid.version);
      hash.set("on", market.on);
      history.replaceState(null, "", `#${hash}`);
    }
    found.dataset.answer = JSON.stringify(best && { ...best, low: solved.at(best, "low"), high: solved.at(best, "high"), times: [solved.timeAt(best, "low"), solved.timeAt(best, "high")], volumes: solved.volumes(best), shares: solved.shares(best), next: solved.next, turns: solved.turns });
    place("summary").textContent = !solved ? `Not computed: ${refused}.` : !best ? "No placement serves this rate with this number of clients."
      : `Cheapest: ${where(best.on)}, ${gib(best.ram)} of RAM${!load.ram && best.ram === solved.rams[0] ? " (the least simulated)" : ""}, ${number(1e3 * best.time)} ms a request, ${
        money(best.cost)} ${market.currency} per month for RAM and ${values.market === "server" ? "shares of drives" : "volumes"}.`;
    found.replaceChildren(...(best ? answered(solved, load, sold) : []));
    if (solved) draw(solved, market.currency, load.ram); else chart.replaceChildren();
    place("command").textContent = refused ? "" : command;
    place("dates").textContent = `Grid ${grid.version}; prices of ${market.on}.`;
  }

  function askPrices() {
    const market = markets[form.elements.market.value], listed = Object.entries(market.devices).filter(([name]) => !market.local_ssds.includes(name));
    place("devices").textContent = `To choose from: ${listed.map(([name, one]) => `${name} (${one.label})`).join("; ")}.`;
    place("currency").textContent = market.currency;
    form.elements.local_ssd.closest("label").hidden = !market.local_ssds.length;
    const own = Object.keys(market.ram);
    const items = Object.entries(market.items).filter(([name]) => !own.includes(name) || Object.values(market.devices).some((one) => name in one.bill));
    const each = Object.fromEntries(Object.entries(market.items).map(([name, item]) => [name, item.each]));
    form.elements.ram_price.placeholder = number(billed(market.ram, each) * GIB);
    place("prices").replaceChildren(...items.map(([name, item]) => {
      const label = element("label", `${item.name}, ${market.currency} per ${item.unit.replace("-", " and ")} `);
      label.append(Object.assign(document.createElement("input"), { name: `price-${name}`, type: "number", min: 0, step: "any", placeholder: item.price }));
      return label;
    }));
  }

  function restore() {
    const kept = new URLSearchParams(location.hash.slice(1));
    if (kept.get("market") in markets) form.elements.market.value = kept.get("market");
    askPrices();
    form.elements.local_ssd.checked = kept.has("local_ssd");
    for (const [name, value] of kept) if (form.elements[name] && name !== "local_ssd") form.elements[name].value = value;
    show(false);
    if (kept.has("market")) form.scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("input", (event) => { if (event.target.name === "market") { form.elements.ram_price.value = ""; askPrices(); } show(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", restore);
  restore();
})();
