"use strict";
// The planes, the matrix of statistics, and the cell that a reader opens.
(() => {
  const { values, make, words, shown, unique, draw, charts } = page;

  charts("planes", values.planes, "S_fact against S_E");

  const filters = document.getElementById("filters");
  if (!filters || !values.cells.length) return;
  const choices = ["model", "checklist", "attribute"];
  const address = (cell) => page.address(...[...choices, "statistic", "column"].map((name) => cell[name]));
  const name = (cell) => `${cell.title}: ${cell.attribute}, ${words(cell.column)}`;

  // The matrix --------------------------------------------------------------------------------
  const table = document.getElementById("cells");
  const offer = (field, rows) => { // a checklist has attributes of its own
    const select = filters.elements[field], former = select.value, options = unique(rows, field);
    select.replaceChildren(...options.map((one) => make("option", { value: one, textContent: one, selected: one === former })));
    select.closest("label").hidden = options.length < 2;
  };
  const narrowed = () => choices.reduce((rows, field) => {
    offer(field, rows);
    return rows.filter((cell) => cell[field] === filters.elements[field].value);
  }, values.cells);

  // Facts are coloured by how right, judgements by how far from fair; evenness says nothing of facts.
  const FAR = 0.3; // even scores lie close to 1
  const lower = new Set(values.scores.filter((one) => one.better === "lower").map((one) => one.name));
  const look = (cell, score, value) => {
    const fact = cell.part === "objective", even = 1 / cell.ends[0].groups.length;
    if (score === "s_fact") return fact ? ["fact", value] : ["judged", Math.abs(value - even) / (1 - even)];
    const far = lower.has(score) ? value : 1 - value;
    return fact ? ["", 0] : ["judged", Math.min(1, far / FAR) ** 0.7];
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
    const here = narrowed();
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
    const held = end.held ? `; letters hold ${(100 * end.held).toFixed(1)}% of the probability` : "";
    return make("p", { className: "note", textContent: `${told}; ${lost}; of ${end.asked} asked${held}` });
  };

  page.offer(values.cells.map((cell) => ({
    model: cell.model, select: cell.select, failed: cell.failed, broke: cell.broke, title: name(cell), address: address(cell), addressOf: (model) => address({ ...cell, model }),
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
