// Draws the table of `data` and tells the server which column is to sort by and which row to open.
// All text goes in as text: nothing of it can be markup.

const made = (tag, text = "", name = "") => {
  const node = document.createElement(tag);
  node.textContent = text;
  if (name) node.className = name;
  return node;
};

const ARROWS = { ascending: "▲", descending: "▼", none: "↕" };

function headOf(column, ask) {
  const head = made("th");
  head.scope = "col";
  head.setAttribute("aria-sort", column.sorted);
  const button = made("button", column.title);
  button.type = "button";
  button.dataset.does = `sort ${column.key}`;
  if (column.tip) button.title = column.tip;
  const arrow = made("span", ARROWS[column.sorted], "arrow");
  arrow.setAttribute("aria-hidden", "true");
  button.append(arrow);
  button.onclick = () => ask("sort", column.key);
  head.append(button);
  return head;
}

function contentOf(cell) {
  const content = document.createDocumentFragment();
  if (cell.mark) {
    const mark = made("span", cell.mark, "mark");
    mark.setAttribute("aria-hidden", "true");
    content.append(mark);
  }
  content.append(made("span", cell.text, cell.mark ? "words" : ""));
  if (cell.beneath) content.append(made("small", cell.beneath));
  return content;
}

function rowOf(row, columns, ask) {
  const line = made("tr");
  if (row.open) line.className = "open";
  row.cells.forEach((cell, place) => {
    const first = place === 0;
    const box = made(first ? "th" : "td");
    if (first) {
      box.scope = "row";
      const button = made("button");
      button.type = "button";
      button.setAttribute("aria-expanded", String(row.open));
      button.dataset.does = `open ${row.key}`;
      button.append(contentOf(cell));
      box.append(button);
    } else {
      box.append(contentOf(cell));
    }
    columns.forEach((column, other) => {
      if (column.under === place) box.append(made("small", row.cells[other].text, "narrow"));
    });
    line.append(box);
  });
  // Who marks text to copy it opens nothing.
  line.onclick = () => String(window.getSelection()) || ask("open", row.key);
  return line;
}

export default function draw({ data, parentElement, setTriggerValue }) {
  const table = made("table");
  table.append(made("caption", data.title));
  const head = made("tr");
  head.append(...data.columns.map((column) => headOf(column, setTriggerValue)));
  table.append(made("thead"), made("tbody"));
  table.tHead.append(head);
  table.tBodies[0].append(...data.rows.map((row) => rowOf(row, data.columns, setTriggerValue)));
  data.columns.forEach((column, place) => {
    const classes = [column.numeric ? "number" : "", column.under >= 0 ? "wide" : ""].filter(Boolean);
    for (const line of table.rows) line.cells[place].classList.add(...classes);
  });
  // Who works with the keyboard stays on the button that was pressed.
  const focused = parentElement.contains(document.activeElement) ? document.activeElement.dataset.does : null;
  let box = parentElement.querySelector(".profet-table");
  if (!box) {
    box = made("div", "", "profet-table");
    parentElement.append(box);
  }
  box.replaceChildren(table);
  if (focused) {
    const again = [...box.querySelectorAll("button")].find((button) => button.dataset.does === focused);
    if (again) again.focus({ preventScroll: true });
  }
}
