"use strict";
// The planes, the matrix of statistics, and the topic that a cell opens.
(() => {
  const { values, make, words, shown, unique, draw, charts, replies, listed } = page;

  charts("planes", values.planes, "S_fact against S_E");

  // The matrix --------------------------------------------------------------------------------
  const filters = document.getElementById("filters");
  if (filters && values.cells.length) {
    const table = document.getElementById("cells");
    const choices = ["model", "checklist", "attribute"];
    const offer = (name, rows) => { // a checklist has attributes of its own
      const select = filters.elements[name], former = select.value, options = unique(rows, name);
      select.replaceChildren(...options.map((one) => make("option", { value: one, textContent: one, selected: one === former })));
      select.closest("label").hidden = options.length < 2;
    };
    const narrowed = () => choices.reduce((rows, name) => {
      offer(name, rows);
      return rows.filter((cell) => cell[name] === filters.elements[name].value);
    }, values.cells);
    const score = (cell, name) => cell.scores[name === "asked" ? (cell.part === "objective" ? "s_fact" : "s_e") : name];
    const fill = () => {
      const here = narrowed();
      const chosen = Object.fromEntries(new FormData(filters));
      const needle = chosen.statistic.trim().toLowerCase();
      const rows = here.filter((cell) => words(cell.statistic).toLowerCase().includes(needle));
      const columns = unique(here, "column");
      table.tHead.replaceChildren(make("tr", {}, ...["statistic", ...columns].map((one, place) => make("th", { scope: "col", className: place ? "number" : "", textContent: words(one) }))));
      const statistics = unique(rows, "statistic");
      table.tBodies[0].replaceChildren(...statistics.map((statistic) => {
        const line = make("tr", {}, make("th", { scope: "row", textContent: words(statistic) }));
        for (const column of columns) {
          const cell = rows.find((one) => one.statistic === statistic && one.column === column);
          line.append(cell ? opener(cell, score(cell, chosen.score)) : make("td"));
        }
        return line;
      }));
      const all = values.cells.filter((cell) => cell.checklist === chosen.checklist);
      document.getElementById("shown").textContent = `${statistics.length} of ${unique(all, "statistic").length} statistics`;
    };
    const opener = (cell, value) => {
      const lost = cell.ends.reduce((sum, end) => sum + end.refused + end.unparsed + end.errors, 0);
      const button = make("button", { type: "button", textContent: shown(value) + (lost ? " *" : "") });
      const label = `${words(cell.statistic)}, ${words(cell.column)}: ${shown(value)}`;
      button.setAttribute("aria-label", lost ? `${label}, ${lost} answers missing` : label);
      button.style.setProperty("--v", (value ?? 0) ** 4); // even scores lie close to 1
      button.addEventListener("click", () => open(cell));
      return make("td", {}, button);
    };
    filters.addEventListener("input", fill);
    filters.addEventListener("submit", (event) => event.preventDefault());
    fill();
  }

  // A topic: shares, then questions and replies -------------------------------------------------
  const open = async (cell) => {
    const dialog = document.getElementById("topic");
    const title = `${words(cell.statistic)}: ${cell.attribute}, ${words(cell.column)}`;
    document.getElementById("topic-title").textContent = title;
    const charts = make("div", { className: "charts" });
    const lists = make("div");
    document.getElementById("topic-body").replaceChildren(make("p", { className: "note", textContent: `${cell.model} · bars: share of the answers with 95 % intervals · blue: the true group · dashes: an even share` }), charts, lists);
    dialog.showModal();
    for (const end of cell.ends) {
      const chart = make("div", { className: "chart" });
      charts.append(make("figure", {}, make("figcaption", { textContent: `${end.direction}: ${end.truth} is true${end.fragile ? " (rests on a choice of measure)" : ""}` }), chart, counts(end)));
      const groups = end.groups.map((one) => ({ ...one, true: one.group === end.truth, even: 1 / end.groups.length }));
      draw(chart, { ...values.shares, height: 28 * groups.length, datasets: { groups } }, `Shares of the groups, ${end.direction}; the table below has the same figures`);
    }
    const cases = (await replies()).filter(
      (one) => one.model === cell.model && one.checklist === cell.checklist && one.place?.statistic === cell.statistic && one.place.column === cell.column && one.attributes.includes(cell.attribute),
    );
    lists.append(make("h3", { textContent: "Questions and replies" }), ...cases.map((one) => listed(one, words(one.case))));
  };
  const counts = (end) => {
    const lost = ["refused", "unparsed", "errors"].map((name) => `${name} ${end[name]}`).join(", ");
    const told = end.groups.map((one) => `${one.group} ${one.count}`).join(", ");
    const held = end.held ? `; letters hold ${(100 * end.held).toFixed(1)}% of the probability` : "";
    return make("p", { className: "note", textContent: `${told}; ${lost}; of ${end.asked} asked${held}` });
  };
})();
