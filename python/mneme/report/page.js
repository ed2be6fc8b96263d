// Draws the charts with the theme's colours, sorts the table, copies.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  // A figure with what is left to the page put in: colours by their names in the style, and what trials say.
  const filled = (value, style) => {
    if (typeof value === "string") return value.replace(/var\((--[a-z]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    if (Array.isArray(value)) return value.some((each) => typeof each !== "number") ? value.map((each) => filled(each, style)) : value;
    if (value === null || typeof value !== "object") return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, style)]));
    if (Array.isArray(copy.customdata)) copy.text = copy.customdata.map((number) => data.trials[number]);
    return copy;
  };

  // One chart after the other, and the page answers in between; a later call ends an earlier one.
  let drawing = 0;
  const draw = async () => {
    const mine = ++drawing;
    const style = getComputedStyle(root);
    const family = getComputedStyle(document.body).fontFamily;
    for (const place of document.querySelectorAll("[data-figure]")) {
      await new Promise((proceed) => setTimeout(proceed));
      if (mine !== drawing) return;
      const figure = filled(data.figures[place.dataset.figure], style);
      figure.layout.font.family = family;
      figure.layout.autosize = true;
      Plotly.react(place, figure.data, figure.layout, { displaylogo: false, responsive: true, displayModeBar: false, doubleClick: "reset" });
    }
  };

  const themes = ["", "light", "dark"];
  const button = document.getElementById("theme");
  const show = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    button.textContent = theme || "system";
    draw();
  };
  button.addEventListener("click", () => show(themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length]));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  const table = document.getElementById("table");
  for (const [column, head] of table ? [...table.tHead.rows[0].cells].entries() : []) {
    if (!head.dataset.kind) continue;
    head.tabIndex = 0;
    const key = (row) => {
      const cell = row.cells[column];
      if (head.dataset.kind === "text") return cell.textContent.trim();
      const number = parseFloat(cell.dataset.value ?? cell.textContent);
      return Number.isNaN(number) ? Infinity : number;
    };
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
      const rows = [...table.tBodies[0].rows].sort((a, b) => compare(key(a), key(b)));
      table.tBodies[0].append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  }

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const each of document.querySelectorAll("[data-copy]")) {
    each.addEventListener("click", async () => {
      await copy(each.dataset.copy || each.parentElement.querySelector("pre").textContent);
      each.textContent = "copied";
      setTimeout(() => (each.textContent = "copy"), 1500);
    });
  }

  show("");
})();
