"use strict";
// The headings of tables become buttons that sort: numbers by their size, before text.
(() => {
  const key = (cell) => {
    const number = parseFloat(cell.textContent.replaceAll(",", ""));
    return Number.isNaN(number) ? cell.textContent : number;
  };
  const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (up ? 1 : -1) * compare(key(a.cells[column]), key(b.cells[column])));
        table.tBodies[0].append(...rows);
      });
    });
  }
})();
