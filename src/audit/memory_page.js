// The script of the memory page: curves of allocated and reserved memory over the events, and below them what lay where after the event
// that is chosen. All arrays come packed; drawing costs by pixels, not by events.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

function unpack(id, type) {
  const text = atob(document.getElementById(id).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new type(bytes.buffer);
}

const n = data.events;
const blocks = {address: unpack('b-address', Float64Array), size: unpack('b-size', Float64Array), born: unpack('b-born', Uint32Array),
                freed: unpack('b-freed', Uint32Array), died: unpack('b-died', Uint32Array), stack: unpack('b-stack', Uint32Array)};
const segments = {address: unpack('s-address', Float64Array), size: unpack('s-size', Float64Array), born: unpack('s-born', Uint32Array),
                  died: unpack('s-died', Uint32Array)};
const times = unpack('times', Float64Array); // seconds, of every data.time_step-th state

// ---- curves: a value a state, and the most of ever larger groups of states ---------------------------------------------

function curve(sizes, born, died) {
  const change = new Float64Array(n + 2);
  for (let i = 0; i < sizes.length; i++) {
    change[born[i]] += sizes[i];
    if (died[i] <= n) change[died[i]] -= sizes[i];
  }
  for (let i = 1; i <= n; i++) change[i] += change[i - 1];
  const levels = [change.subarray(0, n + 1)];
  while (levels[levels.length - 1].length > 512) {
    const below = levels[levels.length - 1], level = new Float64Array((below.length + 3) >> 2);
    for (let i = 0; i < below.length; i++) if (below[i] > level[i >> 2]) level[i >> 2] = below[i];
    levels.push(level);
  }
  return levels;
}

const allocated = curve(blocks.size, blocks.born, blocks.freed), reserved = curve(segments.size, segments.born, segments.died);

// The most of the states from a to b.
function most(levels, a, b) {
  let level = 0, best = 0;
  while (b - a > 64 && level + 1 < levels.length) a = a >> 2, b = b >> 2, level++;
  for (let i = a; i <= b && i < levels[level].length; i++) best = Math.max(best, levels[level][i]);
  return best;
}

// ---- texts -------------------------------------------------------------------------------------------------------------

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (value >= 1024 && i < 4) value /= 1024, i++;
  return (i ? value.toFixed(2) : value) + ' ' + units[i];
}

const count = value => value.toLocaleString('en');
const timeOf = state => times.length ? times[Math.min(Math.floor(state / data.time_step), times.length - 1)] : 0;
const site = stack => data.stacks[stack] ? data.stacks[stack].site : data.before;

function stackText(stack) {
  const s = data.stacks[stack];
  return s ? s.frames.map(f => data.frames[f]).join('\n') : data.before;
}

// ---- the timeline --------------------------------------------------------------------------------------------------------

const canvas = document.getElementById('curve'), context = canvas.getContext('2d');
const map = document.getElementById('map'), mapContext = map.getContext('2d');
const detail = document.getElementById('detail');
const top_ = Math.max(most(allocated, 0, n), most(reserved, 0, n), 1);
const AXIS = 22, HEIGHT = 260;
let from = 0, to = Math.max(n, 1), chosen = data.peak, queued = false, colors = {};

function readColors() {
  const style = getComputedStyle(document.documentElement), one = name => style.getPropertyValue('--' + name).trim();
  colors = {ink: one('ink'), soft: one('soft'), rule: one('rule'), accent: one('accent'), bad: one('bad'), paper: one('paper'), card: one('card'),
            groups: ['load', 'copy', 'forward', 'backward', 'optimizer', 'x0', 'x1', 'x2', 'x3'].map(name => one('c-' + name)), other: one('c-other')};
}

function fit(element, context, height) {
  const ratio = window.devicePixelRatio || 1, width = element.parentElement.clientWidth - 2;
  element.style.height = height + 'px';
  element.width = Math.round(width * ratio);
  element.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  return width;
}

let width = 0;
const x = state => (state - from) / (to - from) * width;
const stateAt = px => Math.min(Math.max(Math.round(from + px / width * (to - from)), 0), n);
const y = value => HEIGHT - (HEIGHT - AXIS) * value / top_;

function drawCurve(levels, color, filled) {
  context.fillStyle = context.strokeStyle = color;
  context.beginPath();
  for (let px = 0; px < width; px++) {
    const a = stateAt(px), b = Math.max(stateAt(px + 1) - 1, a), at = y(most(levels, a, b));
    if (filled) context.rect(px, at, 1, HEIGHT - at);
    else if (px) context.lineTo(px + 0.5, at);
    else context.moveTo(0.5, at);
  }
  if (!filled) return context.stroke();
  context.globalAlpha = 0.35;
  context.fill();
  context.globalAlpha = 1;
}

function drawTimeline() {
  width = fit(canvas, context, HEIGHT + 4);
  drawCurve(allocated, colors.accent, true);
  drawCurve(allocated, colors.accent, false);
  if (segments.size.length) drawCurve(reserved, colors.soft, false);
  context.fillStyle = colors.bad;
  for (const event of data.failures) if (event >= from && event <= to) context.fillRect(x(event), AXIS, 2, HEIGHT - AXIS);
  context.fillStyle = colors.ink;
  if (chosen >= from && chosen <= to) context.fillRect(Math.min(x(chosen), width - 1), AXIS - 4, 1.5, HEIGHT);
  context.fillStyle = colors.soft;
  context.fillText(bytes(top_) + ' at most', 4, 10);
  const right = 'events ' + count(Math.round(from)) + ' to ' + count(Math.round(to));
  context.fillText(right, width - context.measureText(right).width - 4, 10);
}

// ---- what lies where ---------------------------------------------------------------------------------------------------------

const ROW = 14, GAP = 3, LABEL = 84, ROWS = 600;
let rows = [], placed = [];

const alive = (table, i, state) => table.born[i] <= state && state < table.died[i];

function gather() {
  rows = [];
  placed = [];
  for (let i = 0; i < segments.size.length; i++)
    if (alive(segments, i, chosen)) rows.push({address: segments.address[i], size: segments.size[i], blocks: []});
  rows.sort((a, b) => a.address - b.address);
  for (let i = 0; i < blocks.size.length; i++) if (alive(blocks, i, chosen)) placed.push(i);
  placed.sort((a, b) => blocks.address[a] - blocks.address[b]);
  let row = 0;
  for (const i of placed) {
    while (row < rows.length && rows[row].address + rows[row].size <= blocks.address[i]) row++;
    if (row < rows.length && blocks.address[i] >= rows[row].address) rows[row].blocks.push(i);
  }
}

function holders() {
  const sums = new Map();
  let all = 0;
  for (const i of placed) {
    if (chosen >= blocks.freed[i]) continue;
    const name = site(blocks.stack[i]), sum = sums.get(name) || {name, bytes: 0, blocks: 0};
    sum.bytes += blocks.size[i];
    sum.blocks++;
    all += blocks.size[i];
    sums.set(name, sum);
  }
  return {all, list: Array.from(sums.values()).sort((a, b) => b.bytes - a.bytes)};
}

let colorOf = new Map(), marked = -1; // marked: of the blocks in the order of `placed`

function drawMap() {
  const shown = rows.slice(0, ROWS), w = fit(map, mapContext, shown.length * (ROW + GAP) + 4), full = Math.max(1, ...shown.map(row => row.size));
  shown.forEach((row, r) => {
    const top = r * (ROW + GAP), scale = (w - LABEL) / full;
    mapContext.fillStyle = colors.soft;
    mapContext.fillText(bytes(row.size), 2, top + ROW / 2);
    mapContext.fillStyle = colors.rule;
    mapContext.fillRect(LABEL, top, Math.max(row.size * scale, 1), ROW);
    for (const i of row.blocks) {
      mapContext.fillStyle = colorOf.get(site(blocks.stack[i])) || colors.other;
      mapContext.globalAlpha = chosen >= blocks.freed[i] ? 0.4 : 1;
      const px = LABEL + (blocks.address[i] - row.address) * scale, wide = blocks.size[i] * scale;
      mapContext.fillRect(px, top, Math.max(wide - (wide > 3 ? 0.5 : 0), 0.6), ROW);
    }
    mapContext.globalAlpha = 1;
    if (!row.blocks.includes(placed[marked])) return;
    const px = LABEL + (blocks.address[placed[marked]] - row.address) * scale;
    mapContext.strokeStyle = colors.ink;
    mapContext.lineWidth = 2;
    mapContext.strokeRect(px, top, Math.max(blocks.size[placed[marked]] * scale, 2), ROW);
  });
}

function showHolders() {
  const {all, list} = holders(), body = document.getElementById('holders').tBodies[0];
  colorOf = new Map(list.slice(0, colors.groups.length).map((g, i) => [g.name, colors.groups[i]]));
  body.replaceChildren(...list.slice(0, 20).map(g => {
    const row = document.createElement('tr'), cells = [bytes(g.bytes), (100 * g.bytes / (all || 1)).toFixed(1) + ' %', count(g.blocks), g.name];
    cells.forEach((text, i) => {
      const cell = document.createElement('td');
      if (i < 3) cell.className = 'n';
      if (i === 3) {
        const swatch = document.createElement('b');
        swatch.className = 'swatch';
        swatch.style.background = colorOf.get(g.name) || colors.other;
        cell.append(swatch);
      }
      cell.append(text);
      row.append(cell);
    });
    return row;
  }));
  const free = reserved[0][chosen] - placed.reduce((sum, i) => sum + blocks.size[i], 0);
  document.getElementById('state').textContent = 'After event ' + count(chosen) + ' (' + timeOf(chosen).toFixed(3) + ' s): ' + bytes(allocated[0][chosen]) +
    ' allocated' + (segments.size.length ? ', ' + bytes(reserved[0][chosen]) + ' reserved, of which ' + bytes(Math.max(free, 0)) + ' free; ' + count(rows.length) + ' segments' : '');
  document.body.dataset.allocated = allocated[0][chosen];
  document.body.dataset.segments = rows.length;
  document.body.dataset.blocks = placed.length;
}

function choose(state) {
  chosen = Math.min(Math.max(Math.round(state), 0), n);
  gather();
  marked = -1;
  detail.textContent = rows.length > ROWS ? 'The first ' + ROWS + ' of ' + count(rows.length) + ' segments are drawn.' : '';
  showHolders();
  drawMap();
  redraw();
}

// ---- moving ------------------------------------------------------------------------------------------------------------------

function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    drawTimeline();
  });
}

function show(a, b) {
  const length = Math.min(Math.max(b - a, Math.min(8, n)), Math.max(n, 1));
  from = Math.min(Math.max(a, 0), Math.max(n, 1) - length);
  to = from + length;
  redraw();
}
const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
const move = share => show(from + (to - from) * share, to + (to - from) * share);

function step(by) {
  choose(chosen + by);
  if (chosen < from || chosen > to) show(chosen - (to - from) / 2, chosen + (to - from) / 2);
}

const keys = {
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
  0: () => show(0, n), Home: () => step(-n), End: () => step(n), '.': () => step(1), ',': () => step(-1), '>': () => step(100), '<': () => step(-100),
  p: () => step(data.peak - chosen),
};
canvas.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
canvas.addEventListener('wheel', event => {
  if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
  event.preventDefault();
  if (event.shiftKey && !event.ctrlKey) move((event.deltaY || event.deltaX) / 1000);
  else zoom(1.0015 ** event.deltaY, stateAt(event.offsetX));
}, {passive: false});

let drag = null;
canvas.addEventListener('pointerdown', event => {
  drag = {px: event.offsetX, from, to, moved: 0};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', event => {
  if (!drag) return;
  const by = (drag.px - event.offsetX) / width * (drag.to - drag.from);
  drag.moved = Math.max(drag.moved, Math.abs(event.offsetX - drag.px));
  if (drag.moved > 3) show(drag.from + by, drag.to + by);
});
canvas.addEventListener('pointerup', event => {
  if (drag && drag.moved <= 3) choose(stateAt(event.offsetX));
  drag = null;
});
canvas.addEventListener('pointercancel', () => drag = null);

function pointed(event) {
  const r = Math.floor(event.offsetY / (ROW + GAP)), row = rows[r];
  if (!row) return;
  const full = Math.max(1, ...rows.slice(0, ROWS).map(one => one.size)), at = row.address + (event.offsetX - LABEL) / (map.clientWidth - LABEL) * full;
  const slack = full / (map.clientWidth - LABEL) * 2;
  const i = row.blocks.find(b => blocks.address[b] - slack <= at && at < blocks.address[b] + blocks.size[b] + slack);
  detail.textContent = i === undefined ? 'free, or the end of a segment of ' + bytes(row.size) + ' at 0x' + row.address.toString(16) : blockText(i);
}
function blockText(i) {
  return bytes(blocks.size[i]) + ' at 0x' + blocks.address[i].toString(16) + ', since event ' + count(blocks.born[i]) + (blocks.died[i] <= n ? ', until event ' + count(blocks.died[i]) : '') + '\n' + stackText(blocks.stack[i]);
}

// From block to block by keys: arrows by one, up and down by a segment.
function mark(to) {
  marked = Math.min(Math.max(to, 0), placed.length - 1);
  drawMap();
  if (marked >= 0) detail.textContent = blockText(placed[marked]);
}
function markRow(by) {
  const full = rows.filter(row => row.blocks.length), at = full.findIndex(row => row.blocks.includes(placed[marked]));
  const row = full[Math.min(Math.max(at + by, 0), full.length - 1)];
  if (row) mark(placed.indexOf(row.blocks[0]));
}
const mapKeys = {ArrowRight: () => mark(marked + 1), ArrowLeft: () => mark(marked - 1), ArrowDown: () => markRow(1), ArrowUp: () => markRow(-1),
                 Home: () => mark(0), End: () => mark(placed.length - 1)};
map.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !mapKeys[event.key]) return;
  event.preventDefault();
  mapKeys[event.key]();
});
map.addEventListener('pointermove', pointed);
map.addEventListener('click', pointed);

const actions = {in: () => zoom(0.5), out: () => zoom(2), all: () => show(0, n), peak: () => step(data.peak - chosen), end: () => step(n - chosen)};
for (const button of document.querySelectorAll('[data-go]')) button.addEventListener('click', () => actions[button.dataset.go]());
document.getElementById('tools').hidden = false;

function repaint() {
  readColors();
  drawTimeline();
  showHolders();
  drawMap();
}
addEventListener('resize', repaint);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
readColors();
choose(chosen);
document.body.dataset.ready = 'true';
