// The script of the HTML report: draws the timeline and lets one move in it, zooms the memory curves along, sorts tables.
// Everything else is in the document already.
'use strict';

// ---- tables ---------------------------------------------------------------------------------------------------------

function sortTable(table, column, ascending) {
  const body = table.tBodies[0];
  const key = row => {
    const cell = row.cells[column];
    const value = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent;
    return cell.classList.contains('n') ? Number(value) : value;
  };
  const rows = Array.from(body.rows, row => [key(row), row]);
  rows.sort(([a], [b]) => (typeof a === 'number' ? a - b : a.localeCompare(b, 'en', {numeric: true})) * (ascending ? 1 : -1));
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll('table.sortable')) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.querySelector('button').addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      const ascending = now ? now === 'descending' : !head.classList.contains('n');
      heads.forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
      sortTable(table, column, ascending);
    });
  });
}

// ---- data -----------------------------------------------------------------------------------------------------------

const data = JSON.parse(document.getElementById('data').textContent);
const STAGE = 0, WAIT = 1, TRANSFER = 2;

// One object a stretch, by lane.
const segments = data.segments.map((flat, lane) => {
  const all = [];
  for (let i = 0, start = 0; i < flat.length; i += 6) {
    start += flat[i + 2];
    const [type, name, , length, busy, whole] = flat.slice(i, i + 6);
    all.push({lane, type, name, start, end: start + length, busy: busy || length, whole: whole || length});
  }
  return all;
});

const ops = data.lanes.map(() => []);
for (let i = 0, start = 0; i < data.ops.length; i += 11) {
  const [lane, name, zone, distance, length, kind, copy, read, written, site, module] = data.ops.slice(i, i + 11);
  start += distance;
  ops[lane].push({lane, op: true, name, zone, start, end: start + length, kind, copy, read, written, site, module});
}

// ---- texts ----------------------------------------------------------------------------------------------------------

function time(units) {
  const ns = units * data.unit_ns;
  if (!ns) return '0 s';
  if (Math.abs(ns) >= 999.5e6) return (ns / 1e9).toFixed(3) + ' s';
  if (Math.abs(ns) >= 999.5e3) return (ns / 1e6).toFixed(2) + ' ms';
  return (ns / 1e3).toFixed(1) + ' µs';
}

function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (n >= 1024 && i < 4) n /= 1024, i++;
  return (i ? n.toFixed(2) : n) + ' ' + units[i];
}

function laneName(lane) {
  const {group, name} = data.lanes[lane];
  return group === 'host' ? (name === 'main' ? 'main thread' : name) : group + ' · ' + name;
}

function describe(item) {
  const parts = [];
  const name = data.names[item.name] || 'no stage';
  if (item.op) {
    const kind = data.names[item.kind];
    parts.push(name + (kind !== 'kernel' && kind !== name ? ' (' + kind + ')' : ''), time(item.end - item.start));
    if (item.copy) parts.push((item.copy === 2 ? 'implicit' : 'asked') + ', ' + bytes(item.read) + ' read, ' + bytes(item.written) + ' written');
    if (data.names[item.zone]) parts.push('in ' + data.names[item.zone]);
    if (data.names[item.module]) parts.push('module ' + data.names[item.module]);
    if (data.names[item.site]) parts.push(data.names[item.site]);
  } else {
    const what = item.type === WAIT ? 'waits for ' + name : item.type === TRANSFER ? 'transfers, ' + name : name;
    const length = item.end - item.start;
    if (data.step) parts.push(what, time(item.busy) + ' of a step of ' + time(data.step));
    else parts.push(what, time(length) + (item.whole > length ? ' of ' + time(item.whole) + ', interrupted' : ''));
    if (!data.step && item.busy < length) parts.push('busy for ' + time(item.busy));
  }
  parts.push('at ' + time(item.start), laneName(item.lane));
  return parts.join(' · ');
}

// ---- timeline -------------------------------------------------------------------------------------------------------

const canvas = document.getElementById('tl');

function makeTimeline() {
  const AXIS = 24, LABEL = 18, STAGES = 18, OPS = 12, GAP = 10, ROW = LABEL + STAGES + OPS + GAP, PAD = 8;
  const context = canvas.getContext('2d');
  const detail = document.getElementById('tl-detail');
  const shortest = Math.min(data.length, 50);
  let from = 0, to = data.length, width = 0, lane = 0, selected = null, queued = false;
  let colors = {};

  const x = t => PAD + (t - from) / (to - from) * (width - 2 * PAD);
  const t = px => from + (px - PAD) / (width - 2 * PAD) * (to - from);
  const top = i => AXIS + i * ROW;

  function readColors() {
    const style = getComputedStyle(document.documentElement);
    const one = name => style.getPropertyValue('--' + name).trim();
    colors = {ink: one('ink'), soft: one('soft'), rule: one('rule'), wait: one('c-wait'), bad: one('c-bad'), accent: one('accent'), paper: one('paper')};
    colors.names = data.colors.map(name => one('c-' + name));
  }

  // First of the items, sorted by start, that may reach beyond time `begin`. Items of a lane hardly overlap; 64 back is enough.
  function firstAt(items, begin) {
    let low = 0, high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (items[middle].start < begin) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 64);
  }

  const colorOf = item => item.op ? (item.copy === 2 ? colors.bad : colors.names[item.zone]) : item.type === WAIT ? colors.wait : colors.names[item.name];

  // Draws a row. What is too narrow is added up a column of one pixel, which is filled by as much as was busy; where most is too narrow,
  // all of it, so that a column compares with its neighbours.
  function drawRow(items, y, height) {
    const columns = new Map(), first = firstAt(items, from);
    let last = first;
    while (last < items.length && items[last].start < to) last++;
    const narrow = (last - first) * 3 > width ? Infinity : 1.5;
    for (let i = first; i < last; i++) {
      const item = items[i], a = x(item.start), b = x(item.end), color = colorOf(item);
      if (b < PAD || a > width - PAD) continue;
      const share = item.op ? 1 : item.busy / (item.end - item.start || 1);
      if (b - a < narrow) {
        for (let px = Math.floor(Math.max(a, PAD)); px < Math.min(b, width - PAD); px++) {
          const key = color + px, column = columns.get(key) || {px, color, busy: 0};
          column.busy += Math.max(0, Math.min(b, px + 1) - Math.max(a, px)) * share;
          columns.set(key, column);
        }
        continue;
      }
      const left = Math.max(a, PAD), right = Math.min(b, width - PAD), filled = Math.max(height * share, 1);
      context.fillStyle = color;
      if (!item.op && item.type === WAIT) hatch(left, y, right - left, height);
      else context.fillRect(left, y + height - filled, Math.max(right - left - (right - left > 4 ? 0.75 : 0), 0.75), filled);
      if (item.op || right - left < 34 || data.step) continue;
      const name = data.names[item.name] || '';
      if (context.measureText(name).width > right - left - 8) continue;
      context.fillStyle = item.type === WAIT ? colors.ink : colors.paper;
      context.fillText(name, left + 4, y + height / 2 + 0.5);
    }
    const levels = new Map();
    const order = color => colors.names.indexOf(color);
    for (const {px, color, busy} of Array.from(columns.values()).sort((a, b) => order(a.color) - order(b.color))) {
      const level = levels.get(px) || 0, filled = Math.min(busy * height, height - level);
      context.fillStyle = color;
      context.fillRect(px, y + height - level - filled, 1, filled);
      levels.set(px, level + filled);
    }
  }

  function hatch(left, y, w, height) {
    context.save();
    context.beginPath();
    context.rect(left, y, w, height);
    context.clip();
    context.globalAlpha = 0.35;
    context.fillRect(left, y, w, height);
    context.globalAlpha = 1;
    context.strokeStyle = colors.wait;
    context.beginPath();
    for (let at = left - height - left % 6; at < left + w; at += 6) {
      context.moveTo(at, y + height);
      context.lineTo(at + height, y);
    }
    context.stroke();
    context.restore();
  }

  function drawAxis() {
    const rough = (to - from) / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const px = x(at);
      context.fillStyle = colors.rule;
      context.fillRect(Math.round(px), AXIS - 6, 1, canvas.clientHeight);
      context.fillStyle = colors.soft;
      const label = tick(at, step), half = context.measureText(label).width / 2;
      context.fillText(label, Math.min(Math.max(px - half, 2), width - 2 * half - 2), 10);
    }
  }

  // A label with as many digits as the distance of the ticks needs.
  function tick(at, step) {
    const [unit, name] = step * data.unit_ns >= 1e8 ? [1e9, 's'] : step * data.unit_ns >= 1e5 ? [1e6, 'ms'] : [1e3, 'µs'];
    const digits = Math.max(0, -Math.floor(Math.log10(step * data.unit_ns / unit) + 1e-9));
    return (at * data.unit_ns / unit).toFixed(digits) + ' ' + name;
  }

  function draw() {
    queued = false;
    const ratio = window.devicePixelRatio || 1, height = AXIS + data.lanes.length * ROW;
    width = canvas.parentElement.clientWidth - 2;
    canvas.style.height = height + 2 + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    drawAxis();
    data.lanes.forEach((_, i) => {
      const y = top(i);
      context.fillStyle = colors.ink;
      context.fillText((i === lane && document.activeElement === canvas ? '▸ ' : '') + laneName(i), PAD, y + LABEL / 2 + 1);
      context.globalAlpha = 0.5;
      context.fillStyle = colors.rule;
      context.fillRect(PAD, y + LABEL, width - 2 * PAD, STAGES);
      context.globalAlpha = 1;
      drawRow(segments[i], y + LABEL, STAGES);
      drawRow(ops[i], y + LABEL + STAGES + 2, OPS - 2);
    });
    if (selected) outline(selected);
    zoomCurves();
  }

  function outline(item) {
    const y = top(item.lane) + LABEL + (item.op ? STAGES + 2 : 0), a = x(item.start), b = Math.max(x(item.end), a + 2);
    context.strokeStyle = colors.ink;
    context.lineWidth = 2;
    context.strokeRect(a - 1, y - 1, b - a + 2, (item.op ? OPS - 2 : STAGES) + 2);
    context.lineWidth = 1;
  }

  function redraw() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(draw);
  }

  function show(a, b) {
    const length = Math.min(Math.max(b - a, shortest), data.length);
    from = Math.min(Math.max(a, 0), data.length - length);
    to = from + length;
    redraw();
  }
  function zoom(factor, at = (from + to) / 2) { show(at - (at - from) * factor, at + (to - at) * factor); }
  function move(share) { const d = (to - from) * share; show(from + d, to + d); }

  function select(item) {
    selected = item;
    if (item) {
      lane = item.lane;
      detail.textContent = describe(item);
    }
    redraw();
  }

  function itemAt(px, py) {
    const i = Math.floor((py - AXIS) / ROW), y = py - top(i) - LABEL;
    if (i < 0 || i >= data.lanes.length || y < 0) return null;
    const items = y > STAGES ? ops[i] : segments[i], slack = (to - from) / width * 3, at = t(px);
    let best = null, distance = slack;
    for (let k = firstAt(items, at - slack); k < items.length && items[k].start <= at + slack; k++) {
      const d = at < items[k].start ? items[k].start - at : at > items[k].end ? at - items[k].end : 0;
      if (d < distance || (d === 0 && best && items[k].start >= best.start)) best = items[k], distance = d;
    }
    return best;
  }

  // The next or previous item of the lane: operations when one can tell them apart, else stages.
  function step(direction) {
    const list = selected && selected.op && selected.lane === lane ? ops[lane] : segments[lane].length ? segments[lane] : ops[lane];
    let i = selected && selected.lane === lane ? list.indexOf(selected) + direction : list.findIndex(item => item.end >= from);
    if (i < 0 || i >= list.length) return;
    select(list[i]);
    const {start, end} = list[i];
    if (start < from || end > to) show((start + end) / 2 - (to - from) / 2, (start + end) / 2 + (to - from) / 2);
  }

  const keys = {
    ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
    0: () => show(0, data.length), Home: () => show(0, data.length), '.': () => step(1), ',': () => step(-1),
    ArrowUp: () => chooseLane(-1), ArrowDown: () => chooseLane(1),
    Enter: () => selected && show(selected.start - (selected.end - selected.start) / 2, selected.end + (selected.end - selected.start) / 2),
    Escape: () => select(null),
  };
  function chooseLane(d) {
    lane = Math.min(Math.max(lane + d, 0), data.lanes.length - 1);
    selected = null;
    detail.textContent = laneName(lane);
    redraw();
  }

  canvas.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener('focus', redraw);
  canvas.addEventListener('blur', redraw);
  canvas.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.shiftKey && !event.ctrlKey) move((event.deltaY || event.deltaX) / 1000);
    else zoom(1.0015 ** event.deltaY, t(event.offsetX));
  }, {passive: false});
  canvas.addEventListener('dblclick', event => zoom(0.4, t(event.offsetX)));

  // One pointer drags, two pinch.
  const pointers = new Map();
  let dragged = 0;
  canvas.addEventListener('pointerdown', event => {
    pointers.set(event.pointerId, event.offsetX);
    canvas.setPointerCapture(event.pointerId);
    dragged = 0;
  });
  canvas.addEventListener('pointermove', event => {
    if (!pointers.has(event.pointerId)) {
      const item = itemAt(event.offsetX, event.offsetY);
      if (item && item !== selected) select(item);
      return;
    }
    const before = Array.from(pointers.values());
    pointers.set(event.pointerId, event.offsetX);
    const after = Array.from(pointers.values());
    if (after.length === 1) {
      const d = after[0] - before[0];
      dragged += Math.abs(d);
      move(-d / (width - 2 * PAD));
    } else {
      const spread = list => Math.max(20, Math.abs(list[0] - list[1]));
      zoom(spread(before) / spread(after), t((after[0] + after[1]) / 2));
    }
  });
  const release = event => {
    if (pointers.delete(event.pointerId) && dragged < 4) select(itemAt(event.offsetX, event.offsetY));
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', event => pointers.delete(event.pointerId));

  function zoomCurves() {
    const steps = data.memory.length ? data.memory[0].allocated.length : 0;
    for (const figure of document.querySelectorAll('figure.memory')) {
      figure.querySelector('svg').setAttribute('viewBox', `${from / data.length * steps} 0 ${Math.max((to - from) / data.length * steps, 0.001)} 1000`);
      const [first, , last] = figure.querySelector('.axis').children;
      first.textContent = time(from);
      last.textContent = time(to);
    }
  }

  for (const figure of document.querySelectorAll('figure.memory')) {
    const curve = data.memory[figure.dataset.curve], plot = figure.querySelector('.plot');
    plot.addEventListener('pointermove', event => {
      const at = from + (event.clientX - plot.getBoundingClientRect().left) / plot.clientWidth * (to - from);
      const i = Math.min(curve.allocated.length - 1, Math.max(0, Math.floor(at / data.length * curve.allocated.length)));
      figure.querySelector('output').textContent = `${time(at)}: ${bytes(curve.allocated[i])} of ${bytes(curve.reserved[i])}`;
    });
    plot.addEventListener('pointerleave', () => { figure.querySelector('output').textContent = ''; });
  }

  const tools = document.getElementById('tl-tools'), views = document.getElementById('tl-views');
  tools.hidden = false;
  for (const button of tools.querySelectorAll('[data-go]')) {
    const go = {in: () => zoom(0.5), out: () => zoom(2), all: () => show(0, data.length)};
    button.addEventListener('click', go[button.dataset.go]);
  }
  for (const {label, start, end} of data.views) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label;
    button.addEventListener('click', () => show(start, end));
    views.append(button);
  }

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColors(); redraw(); });
  new ResizeObserver(redraw).observe(canvas.parentElement);
  readColors();
  draw();
  const count = list => list.reduce((sum, items) => sum + items.length, 0);
  canvas.dataset.lanes = data.lanes.map((_, i) => laneName(i)).join('; ');
  canvas.dataset.segments = count(segments);
  canvas.dataset.ops = count(ops);
}

if (canvas) makeTimeline();
