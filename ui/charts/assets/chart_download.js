// Two buttons that save the chart before them, as plotly's own button does; that one knows a single format.

const DRAWN = ".js-plotly-plot";
const PLOTLYS_BUTTON = '.modebar-btn[data-attr="toImage"], .modebar-btn[data-title^="Download plot"]';

function save(chart, format, filename) {
  const plot = document.querySelector(`.st-key-${CSS.escape(chart)} ${DRAWN}`);
  const button = plot && plot.querySelector(PLOTLYS_BUTTON);
  if (!button) return;
  // A picture for a page or a talk: as wide as a laptop's, whatever the screen is, and twice as fine.
  plot._context.toImageButtonOptions = { format, filename, scale: format === "png" ? 2 : 1 };
  button.click();
}

export default function draw({ data, parentElement }) {
  const box = document.createElement("div");
  box.className = "profet-chart-download";
  for (const format of ["png", "svg"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = format.toUpperCase();
    button.setAttribute("aria-label", `${data.name} as ${format.toUpperCase()}`);
    button.onclick = () => save(data.chart, format, data.stem);
    box.append(button);
  }
  parentElement.querySelector(".profet-chart-download")?.remove();
  parentElement.append(box);
}
