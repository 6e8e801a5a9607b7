// Charts of a live view (ui/live.py) follow its slider: a line at its value, and a dot on each curve that can be
// hovered. All of it is drawn here, so that it follows while the slider is dragged, and no chart is drawn anew.
const VIEW = '[class*="st-key-live-"]', SVG = 'http://www.w3.org/2000/svg';

const add = (parent, name, attributes) => {
  const made = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
};

const between = ({x, y}, at) => {
  let right = 0;
  while (right < x.length && x[right] < at) right += 1;
  if (x[right] === at) return y[right];
  if (right === 0 || right === x.length) return undefined;
  const share = (at - x[right - 1]) / (x[right] - x[right - 1]);
  return y[right - 1] + share * (y[right] - y[right - 1]);
};

const isCurve = trace =>
  trace.visible === true && trace.type === 'scatter' && trace.mode?.includes('lines') && trace.hoverinfo !== 'skip';

const draw = (chart, at) => {
  const {xaxis, yaxis, width, height} = chart._fullLayout;
  const over = chart.querySelector('.svg-container');
  let drawn = over.querySelector('.live-cursor');
  if (!drawn) {
    drawn = over.appendChild(document.createElementNS(SVG, 'svg'));
    drawn.setAttribute('class', 'live-cursor');
    drawn.setAttribute('aria-hidden', 'true');
    drawn.style.cssText = 'position:absolute;inset:0;pointer-events:none';
  }
  drawn.replaceChildren();
  drawn.dataset.at = at;
  drawn.setAttribute('width', width);
  drawn.setAttribute('height', height);
  const x = xaxis._offset + xaxis.d2p(at), top = yaxis._offset;
  add(drawn, 'line', {x1: x, x2: x, y1: top, y2: top + yaxis._length, stroke: 'gray', 'stroke-dasharray': '2 3'});
  for (const trace of chart._fullData.filter(isCurve)) {
    const y = between(trace, at);
    if (y == null) continue;
    add(drawn, 'circle', {cx: x, cy: top + yaxis.d2p(y), r: 5, fill: trace.line.color, stroke: 'white'});
  }
};

const follow = view => {
  const slider = view.querySelector('input[type=range]');
  if (!slider) return;
  for (const chart of view.querySelectorAll('.js-plotly-plot')) {
    if (chart._fullLayout?.xaxis?.d2p) draw(chart, +slider.value);
  }
};

// Once the page has changed, or a slider in it has moved; a chart that is drawn anew makes its layers anew.
new MutationObserver(changes => {
  const views = new Set();
  for (const {type, target} of changes) {
    const isMove = type === 'attributes' && target.type === 'range';
    const isChart = type === 'childList' && target.closest?.('.js-plotly-plot') && !target.closest('.live-cursor');
    const view = (isMove || isChart) && target.closest(VIEW);
    if (view) views.add(view);
  }
  views.forEach(follow);
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['aria-valuetext']});
