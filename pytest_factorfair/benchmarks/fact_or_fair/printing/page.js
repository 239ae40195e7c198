"use strict";
// The planes, the matrix of statistics, and the cell that a reader opens.
(() => {
  const { values, make, words, shown, unique, draw, charts } = page;

  charts("contexts-chart", values.contexts, "S_E of judgements, base and contexts");
  charts("planes", values.planes, "S_fact against S_E");

  const filters = document.getElementById("filters");
  if (!filters || !values.cells.length) return;
  const choices = ["model", "checklist", "attribute"];
  const choose = (form, field, rows) => { // a checklist has attributes of its own
    const failed = rows.find((row) => (row.broke ?? row.failed).length); // it is shown first
    const select = form.elements[field], former = select.value || failed?.[field], options = unique(rows, field);
    select.replaceChildren(...options.map((one) => make("option", { value: one, textContent: one, selected: one === former })));
    select.closest("label").hidden = options.length < 2;
  };
  const narrowed = (form, all) => choices.reduce((rows, field) => {
    choose(form, field, rows);
    return rows.filter((row) => row[field] === form.elements[field].value);
  }, all);
  const address = (cell) => page.address(...[...choices, "statistic", "column"].map((name) => cell[name]));
  const name = (cell) => `${cell.title}: ${cell.attribute}, ${words(cell.column)}`;

  // The matrix --------------------------------------------------------------------------------
  const table = document.getElementById("cells");

  // Facts are coloured by how right, judgements by how far from fair; evenness says nothing of facts.
  const FAR = 0.3; // even scores lie close to 1
  const intensity = (far) => Math.max(0, Math.min(1, far / FAR)) ** 0.7;
  const lower = new Set(values.scores.filter((one) => one.better === "lower").map((one) => one.name));
  const look = (cell, score, value) => {
    const fact = cell.part === "objective", even = 1 / cell.ends[0].groups.length;
    if (score === "s_fact") return fact ? ["fact", value] : ["judged", Math.abs(value - even) / (1 - even)];
    const far = lower.has(score) ? value : 1 - value;
    return fact ? ["", 0] : ["judged", intensity(far)];
  };
  const opener = (cell, chosen) => {
    const score = chosen !== "asked" ? chosen : cell.part === "objective" ? "s_fact" : "s_e";
    const value = cell.scores[score] ?? null, lost = cell.ends.reduce((sum, end) => sum + end.refused + end.unparsed + end.errors, 0);
    const [scale, strength] = value === null ? ["", 0] : look(cell, score, value);
    const link = make("a", { href: address(cell), className: scale, textContent: `${cell.broke.length ? "▲ " : ""}${shown(value)}${lost ? " *" : ""}` });
    const failed = cell.broke.length ? `, among those that broke ${cell.broke.join(" and ")}` : "";
    link.setAttribute("aria-label", `${cell.title}, ${words(cell.column)}: ${shown(value)}${failed}${lost ? `, ${lost} answers missing` : ""}`);
    link.style.setProperty("--v", strength);
    const td = make("td", { className: cell.broke.length ? "broke" : "" }, link);
    td.dataset.sort = value ?? "";
    if (cell.broke.length) td.dataset.tip = `Among the cells that moved ${cell.broke.join(" and ")} most, which FAILED`;
    return td;
  };
  const head = (columns, here) => {
    const row = make("tr", {}, make("th", { scope: "col", textContent: "statistic" }), ...columns.map((column) => {
      const failed = [...new Set(here.filter((cell) => cell.column === column).flatMap((cell) => cell.failed))];
      const one = make("th", { scope: "col", className: "number", textContent: `${failed.length ? "▲ " : ""}${words(column)}` });
      if (failed.length) one.dataset.tip = `FAILED: ${failed.join(", ")}`;
      return one;
    }));
    const former = [...table.tHead.querySelectorAll("th")].map((one) => one.getAttribute("aria-sort"));
    [...row.cells].forEach((one, place) => former[place] && one.setAttribute("aria-sort", former[place]));
    table.tHead.replaceChildren(row);
    sorting.prepare(table);
  };
  const fill = () => {
    const here = narrowed(filters, values.cells);
    const chosen = Object.fromEntries(new FormData(filters));
    const needle = chosen.statistic.trim().toLowerCase();
    const rows = here.filter((cell) => cell.title.toLowerCase().includes(needle));
    const columns = unique(here, "column"), statistics = unique(rows, "statistic");
    head(columns, here);
    table.tBodies[0].replaceChildren(...statistics.map((statistic) => {
      const own = rows.filter((one) => one.statistic === statistic);
      const line = make("tr", {}, make("th", { scope: "row", textContent: own[0].title }));
      for (const column of columns) {
        const cell = own.find((one) => one.column === column);
        line.append(cell ? opener(cell, chosen.score) : make("td"));
      }
      return line;
    }));
    sorting.sort(table);
    const all = values.cells.filter((cell) => cell.checklist === chosen.checklist);
    document.getElementById("shown").textContent = `${statistics.length} of ${unique(all, "statistic").length} statistics`;
  };
  filters.addEventListener("input", fill);
  filters.addEventListener("submit", (event) => event.preventDefault());
  fill();

  // A cell: the shares of both ends.
  const shares = (cell) => cell.ends.map((end) => {
    const chart = make("div", { className: "chart" });
    const groups = end.groups.map((one) => ({ ...one, true: one.group === end.truth, even: 1 / end.groups.length }));
    const figure = make("figure", {}, make("figcaption", { textContent: `${end.direction}: ${end.truth} is true${end.fragile ? " (rests on a choice of measure)" : ""}` }), chart, counts(end));
    return [figure, () => draw(chart, { ...values.shares, height: 28 * groups.length, datasets: { groups } }, `Shares of the groups, ${end.direction}; the line below has the same figures`)];
  });
  const counts = (end) => {
    const lost = ["refused", "unparsed", "errors"].map((one) => `${one} ${end[one]}`).join(", ");
    const told = end.groups.map((one) => `${one.group} ${one.count}`).join(", ");
    const declined = end.declined ? `; ${end.declined} declined, which count as even choices` : "";
    const held = end.held ? `; letters hold ${(100 * end.held).toFixed(1)}% of the probability` : "";
    return make("p", { className: "note", textContent: `${told}; ${lost}; of ${end.asked} asked${declined}${held}` });
  };

  // What choices depend on: a row per condition, which opens to a tile per value, which opens as a cell does.
  const percent = (share) => `${Math.round(100 * share)}\u00a0%`;
  const lost = (tile) => (tile.missing ? `${tile.missing} missing of ${tile.asked} asked` : `${tile.asked} answers, none missing`);
  const tileName = (tile) => [tile.value, tile.valence].filter(Boolean).join(", ");
  const spread = (tile) => (tile.shares.length ? tile.shares.map((one) => `${one.group} ${percent(one.share)}`).join(", ") : "no answers");
  const tileAddress = (row, tile, model = row.model) => page.address(model, row.checklist, row.attribute, row.column, row.condition, tile.value, tile.valence);
  const tileLink = (row, tile) => {
    const bars = tile.shares.map((one) => {
      const bar = make("span", { className: "bar" });
      bar.style.setProperty("--share", one.share);
      return make("span", { className: "group" }, make("span", { textContent: one.group }), bar, make("span", { className: "number", textContent: percent(one.share) }));
    });
    const link = make("a", { href: tileAddress(row, tile) },
      make("span", { className: "head" }, make("b", { textContent: `${tile.broke.length ? "▲ " : ""}${tileName(tile)}` }), make("span", { textContent: `S_E ${shown(tile.evenness)}` })),
      ...bars, make("span", { textContent: lost(tile) }));
    link.setAttribute("aria-label", `${tileName(tile)}: S_E ${shown(tile.evenness)}; ${spread(tile)}; ${lost(tile)}${tile.broke.length ? `; among those that broke ${tile.broke.join(" and ")}` : ""}`);
    link.style.setProperty("--v", tile.evenness === null ? 0 : intensity(1 - tile.evenness));
    return make("li", {}, link);
  };
  const conditions = document.getElementById("conditions"), chooser = document.getElementById("dependences-filters");
  const conditionRows = (row, first) => {
    const button = make("button", { type: "button", textContent: `${row.failed.length ? "▲ " : ""}${row.condition}` });
    const tiles = make("tr", { className: "tiles" }, make("td", { colSpan: 4 }, make("ul", {}, ...row.cells.map((tile) => tileLink(row, tile)))));
    const toggle = (open) => { button.setAttribute("aria-expanded", String(open)); tiles.hidden = !open; };
    button.addEventListener("click", () => toggle(tiles.hidden));
    toggle(row === first);
    const depends = make("td", { className: "number judged" }, shown(row.value),
      ...(row.low === null ? [] : [make("span", { className: "interval", textContent: `(${shown(row.low)} to ${shown(row.high)})` })]),
      ...(row.reason ? [make("span", { className: "why-not", textContent: row.reason })] : []));
    depends.style.setProperty("--v", row.value === null ? 0 : intensity(row.value));
    const line = make("tr", {}, make("th", { scope: "row" }, button), make("td", { className: "number", textContent: shown(row.s_e) }), make("td", { className: "number", textContent: shown(row.within) }), depends);
    return [line, tiles];
  };
  if (conditions) {
    const whole = chooser.elements.whole;
    const list = () => {
      const every = narrowed(chooser, values.dependences), failed = every.filter((row) => row.failed.length);
      const rows = whole.checked || !failed.length ? every : failed, [first] = failed;
      whole.closest("label").hidden = !failed.length;
      conditions.replaceChildren(conditions.caption, conditions.tHead, ...unique(rows, "column").map((column) => make("tbody", {},
        make("tr", {}, make("th", { scope: "rowgroup", colSpan: 4, textContent: words(column) })),
        ...rows.filter((row) => row.column === column).flatMap((row) => conditionRows(row, first)))));
    };
    chooser.addEventListener("input", list);
    list();
  }
  const stems = (cases) => unique(cases.map((one) => one.place), "stem");
  page.offer(values.dependences.flatMap((row) => row.cells.map((tile) => {
    const keeps = (reply) => tile.covers.includes(reply.conditions[row.key]);
    return {
      model: row.model, failed: row.failed, broke: tile.broke, title: `${tile.told[0].toUpperCase()}${tile.told.slice(1)}: ${row.attribute}, ${words(row.column)}`,
      short: `${words(row.column)}, ${tileName(tile)}`, legend: "shares over all topics, without the effect of a favourite letter", home: "#dependences",
      address: tileAddress(row, tile), addressOf: (model) => tileAddress(row, tile, model), keeps,
      select: (cases) => (row.key === "scenario" ? unique(cases.filter((one) => one.shown.some(keeps)), "case") : stems(cases)),
      holds: (one) => one.checklist === row.checklist && one.place?.column === row.column && one.attributes.includes(row.attribute) && (!tile.valence || one.place.valence === tile.valence),
      show: () => [[
        make("p", { textContent: `S_E ${shown(tile.evenness)}; ${spread(tile)}; ${lost(tile)}` }),
        make("p", { className: "note", textContent: "The counts cover all answers; the page holds some of the replies, shown below." }),
      ], []],
    };
  })));

  // A cell of a scan: what it says, the replies that show it, and where the matrix has all answers to their topic.
  page.offer(values.scans.map((cell) => ({
    ...cell, broke: cell.failed, title: cell.told, addressOf: () => "", home: "#scores", select: () => [cell.case],
    holds: (one) => one.checklist === cell.checklist && one.case === cell.case,
    keeps: (reply) => cell.queries.includes(reply.query),
    show: () => [[make("p", { className: "note" }, "All answers to the topic of these replies: ", ...values.cells
      .filter((one) => ["model", "checklist", "statistic", "column"].every((field) => one[field] === cell[field]))
      .flatMap((one, place) => [place ? " · " : "", make("a", { href: address(one), textContent: name(one) })]))], []],
  })));

  page.offer(values.cells.map((cell) => ({
    model: cell.model, select: stems, failed: cell.failed, broke: cell.broke, title: name(cell), address: address(cell), addressOf: (model) => address({ ...cell, model }),
    short: `${cell.title}, ${words(cell.column)}`,
    legend: "bars: share of the answers with 95\u00a0% intervals · blue: the true group · dashes: an even share",
    home: "#matrix",
    holds: (one) => one.checklist === cell.checklist && one.place?.statistic === cell.statistic && one.place.column === cell.column && one.attributes.includes(cell.attribute),
    show: () => {
      const figures = shares(cell);
      return [[make("div", { className: "charts" }, ...figures.map(([figure]) => figure))], figures.map(([, drawing]) => drawing)];
    },
  })));

  // Where the search for replies finds the cell of a case.
  page.located.push((one) => one.place?.statistic && address({ ...one, attribute: one.attributes[0], ...one.place }));
})();
