// The memory of the process over time, by families of contexts; a part of the time is
// selected with the pointer, or with two sliders.

const CHART_FAMILIES = 6;
const CHART_STATEMENTS = 4;
const SAME_MOMENT = 1e6;	// a count of less time ago is of now
const LANE = 18;
const LANE_LETTER = 6.8;
const LANE_TEXT = 240;

// The colours of families: what a part of the server holds has the hue that the code of that part
// has in the flame graph; the others have those that are left.
const PART_FILLS = { 1: 'family-2', 2: 'family-1', 3: 'family-3', 4: 'family-4' };

function familyFills(families) {
	const left = new Set(['family-1', 'family-5', 'family-6', 'family-2', 'family-3', 'family-4']);
	const fills = families.map(family => {
		const fill = PART_FILLS[family.part];

		return left.delete(fill) ? fill : null;
	});

	return fills.map(fill => {
		const taken = fill || [...left][0];

		left.delete(taken);
		return taken;
	});
}

// Layers from the bottom up: title, colour, bytes at each point.
function makeLayers() {
	const history = page.history;
	const points = history.at.length;
	const largest = page.families
		.map(family => ({ title: family.name || '[no name]', part: family.part, bytes: family.bytes }))
		.sort((a, b) => Math.max(...b.bytes, 0) - Math.max(...a.bytes, 0))
		.slice(0, CHART_FAMILIES);
	const named = i => largest.reduce((sum, family) => sum + (family.bytes[i] || 0), 0);
	const each = figure => Array.from({ length: points }, (_, i) => Math.max(0, figure(i)));
	const known = (series, i) => series[i] || 0;
	const fills = familyFills(largest);
	const layers = largest.map((family, i) => ({
		title: family.title, fill: fills[i], bytes: each(at => family.bytes[at] || 0), given: family.bytes
	}));

	layers.push(
		{ title: 'other memory contexts', fill: 'family-other', bytes: each(i => known(history.contexts, i) - named(i)) },
		{ title: 'malloc outside of contexts', fill: 'family-malloc',
			bytes: each(i => history.malloc[i] === null ? 0 : history.malloc[i] - known(history.contexts, i)) },
		{ title: 'freed, and kept by malloc', fill: 'free', bytes: each(i => known(history.malloc_free, i)) },
		{ title: 'neither', fill: 'family-none',
			bytes: each(i => history.malloc[i] === null ? 0 :
				known(history.own, i) - Math.max(history.malloc[i], known(history.contexts, i)) - known(history.malloc_free, i)) });
	return layers.filter(layer => layer.bytes.some(bytes => bytes > 0));
}

// The statements whose samples matter most, with the time of the first and the last.
function statementsOverTime() {
	const found = new Map();

	for (const site of model.sites) {
		if (site.query === null || site.first === null) continue;
		const key = site.queryId || site.shape;
		const entry = found.get(key) || { query: site.query, first: Infinity, last: -Infinity, bytes: 0 };

		entry.first = Math.min(entry.first, site.first);
		entry.last = Math.max(entry.last, site.last);
		entry.bytes += Math.max(site.live, site.peak);
		found.set(key, entry);
	}
	return [...found.values()].sort((a, b) => b.bytes - a.bytes)
		.slice(0, innerWidth < 700 ? 2 : CHART_STATEMENTS)
		.sort((a, b) => a.first - b.first);
}

function makeChart() {
	const at = page.history.at;

	if (at.length < 2) {
		return section('time', 'Memory over time', element('p', { class: 'empty' },
			'There is no history yet: a process notes a point with a sample or at a commit, at most one a second.'));
	}
	const layers = makeLayers();
	const lanes = statementsOverTime();
	const plot = drawn('svg', { class: 'chart', role: 'img', 'aria-label': chartWords() });
	const said = element('p', { class: 'window', role: 'status' });
	const sliders = ['first', 'last'].map((name, i) => element('input', {
		type: 'range', min: i, max: at.length - 2 + i, value: i ? at.length - 1 : 0,
		'aria-label': 'Selected time: ' + name + ' point', input: () => select(i)
	}));
	const clear = element('button', { type: 'button', class: 'small', click: clearWindow }, 'Whole time');
	const legend = element('ul', { class: 'legend' });
	const select = moved => {
		let [from, to] = sliders.map(slider => Number(slider.value));

		if (from >= to && moved) to = from + 1;
		else if (from >= to) from = to - 1;
		chooseWindow(from, to);
	};

	brushBy(plot, at);
	const draw = () => {
		drawChart(plot, layers, lanes);
		fillLegend(legend, layers);
	};

	redraws.push(draw);
	redrawChart = draw;
	queueMicrotask(() => { new ResizeObserver(draw).observe(plot.parentNode); });
	follow(['window', 'site'], () => {
		draw();
		const ends = state.window || [0, at.length - 1];

		sliders.forEach((slider, i) => {
			slider.value = ends[i];
			slider.setAttribute('aria-valuetext', moment(page.origin + at[ends[i]]));
		});
		clear.hidden = !state.window;
		said.textContent = windowWords();
	});
	return section('time', 'Memory over time', plot, legend,
		element('div', { class: 'brush' }, element('span', null, 'Select a time:'), ...sliders, clear,
			element('button', { type: 'button', class: 'small', click: () => saveChart(layers) }, 'Save as CSV')),
		said);
}

function chartWords() {
	const { own, at } = page.history;
	const known = own.filter(bytes => bytes !== null);

	return 'Chart: own memory from ' + size(known[0] || 0) + ' to ' + size(known[known.length - 1] || 0) +
		' within ' + duration(at[at.length - 1] - at[0]) + ', at most ' + size(Math.max(0, ...known)) + '.';
}

// What the selection means, as the reader may not expect it.
function windowWords() {
	if (!state.window)
		return 'Drag over the chart to select a time: all below then shows what came within it and was still there at its end.';
	const [from, to] = state.window;
	const { at, own, contexts } = page.history;
	const change = series => series[to] === null || series[from] === null ? 'by what is not known' :
		signedSize(series[to] - series[from]);

	return 'Selected: ' + clock(page.origin + at[from], true) + ' to ' + moment(page.origin + at[to]) + ' (' +
		duration(at[to] - at[from]) + '). Own memory ' + change(own) + ', memory contexts ' + change(contexts) +
		'. Below is what came within this time and was still there at its end' + cutWords() + '.';
}

function cutWords() {
	const { followed, aged } = cutWindow();

	if (!aged) return '';
	return ': of ' + plural(followed, 'call site', 'call sites') + ' by their history; of ' +
		count(aged) + ' by the ages of what they hold now, which leaves out what was freed since';
}

function chooseWindow(from, to) {
	choose({ window: [from, to], measure: 'window' });
}

function clearWindow() {
	choose({ window: null, measure: state.measure === 'window' ? firstMeasure() : state.measure });
}

function brushBy(plot, at) {
	let began = null;
	const pointOf = event => {
		const time = plot.timeAt ? plot.timeAt(event.clientX - plot.getBoundingClientRect().left) : 0;

		return at.reduce((nearest, each, i) => Math.abs(each - time) < Math.abs(at[nearest] - time) ? i : nearest, 0);
	};

	plot.addEventListener('pointerdown', event => {
		if (event.button !== 0) return;
		began = pointOf(event);
		plot.setPointerCapture(event.pointerId);
	});
	plot.addEventListener('pointermove', event => {
		const point = pointOf(event);

		if (began === null) {
			if (event.pointerType === 'mouse') showHover(event, pointWords(point));
			return;
		}
		hideHover();
		plot.showBrush(Math.min(began, point), Math.max(began, point));
	});
	plot.addEventListener('pointerup', event => {
		const point = pointOf(event);
		const first = began;

		began = null;
		if (first === null) return;
		if (first === point) clearWindow();
		else chooseWindow(Math.min(first, point), Math.max(first, point));
		plot.showBrush(...(state.window || [null, null]));
	});
	plot.addEventListener('pointercancel', () => { began = null; });
	plot.addEventListener('pointerleave', hideHover);
}

function pointWords(point) {
	const history = page.history;
	const known = (title, series) => series[point] === null ? [] : [title + ': ' + size(series[point])];

	return [moment(page.origin + history.at[point]), ...known('own memory', history.own),
		...known('memory contexts', history.contexts), ...known('malloc, in use', history.malloc),
		...known('freed, and kept by malloc', history.malloc_free),
		'sampled: ' + estimate(history.live[point] || 0, history.live_error[point])];
}

// When the process came to rest, if it did: what was counted later it had then.
function restTime() {
	const { rests_since: since } = page.explanation.course || {};

	return since ? since - page.origin : null;
}

// The points of a line through a series of the history, where it is known.  What grew until the
// process came to rest is no growth until the next count, which may be hours later.
function linePoints(series, x, y) {
	const rest = restTime();
	const at = page.history.at;

	return series.flatMap((bytes, i) => {
		const times = i > 0 && rest !== null && rest > at[i - 1] && rest < at[i] ? [rest, at[i]] : [at[i]];

		return bytes === null ? [] : times.map(time => x(time).toFixed(1) + ',' + y(bytes).toFixed(1));
	});
}

function drawChart(plot, layers, lanes) {
	const width = Math.max(280, plot.parentNode ? plot.parentNode.clientWidth : 800);
	const height = width < 600 ? 190 : 240;
	const left = 58, right = 14, top = 14;
	const bottom = top + height;
	const { at, own, live, live_error } = page.history;
	const first = at[0];
	const now = presentPoint();
	const last = Math.max(at[at.length - 1], now ? now.at : 0, first + 1);
	const x = time => left + (time - first) / (last - first) * (width - left - right);
	const sums = at.map((_, i) => layers.reduce((sum, layer) => sum + layer.bytes[i], 0));
	const most = 1.04 * Math.max(1, ...sums, ...own.map(bytes => bytes || 0), now ? now.own : 0, ...live.map(bytes => bytes || 0));
	const y = bytes => bottom - Math.max(0, Math.min(bytes, most)) / most * height;
	const line = series => linePoints(series, x, y).join(' ');
	const outline = (above, below) => linePoints(above, x, y).concat(linePoints(below, x, y).reverse()).join(' ');

	plot.setAttribute('viewBox', '0 0 ' + width + ' ' + (bottom + 26 + lanes.length * LANE));
	plot.setAttribute('width', width);
	plot.setAttribute('height', bottom + 26 + lanes.length * LANE);
	plot.timeAt = pixels => first + (pixels - left) / (width - left - right) * (last - first);
	plot.replaceChildren(drawn('defs', null, hatch('chart-free')));
	drawScales(plot, { width, left, right, top, bottom, x, y, most, first, last });

	let below = at.map(() => 0);
	for (const layer of layers) {
		const above = below.map((bytes, i) => bytes + layer.bytes[i]);

		plot.append(drawn('polygon', { points: outline(above, below), class: 'layer', 'data-fill': layer.fill }));
		plot.lastChild.style.fill = layer.fill === 'free' ? 'url(#chart-free)' : 'var(--' + layer.fill + ')';
		below = above;
	}
	plot.append(
		drawn('polygon', { points: outline(live.map((bytes, i) => bytes + live_error[i]), live.map((bytes, i) => bytes - live_error[i])), class: 'band' }),
		drawn('polyline', { points: line(live), class: 'sampled' }),
		drawn('polyline', { points: line(own), class: 'own' }));
	if (now) drawPresent(plot, now, own, x, y, bottom);
	drawMark(plot, page.peak_at, 'sampled peak', { x, top, bottom, first, last, width, label: top + 2 });
	drawMark(plot, page.baseline_at, 'baseline', { x, top, bottom, first, last, width, label: top + 16 });
	drawSite(plot, x, y);
	drawLanes(plot, lanes, { x, left, right, width, first, last, top: bottom + 24 });
	drawBrush(plot, x, top, bottom);
}

// What a process that lives has as its own now: that is known, though it has not counted
// what that consists of.
function presentPoint() {
	const at = page.at - page.origin;

	if (!page.alive || page.totals.own_bytes === null || at <= page.history.at[page.history.at.length - 1]) return null;
	return { at: at, own: page.totals.own_bytes };
}

// What lies between the last count and now is not known.
function drawPresent(plot, now, own, x, y, bottom) {
	const last = page.history.at.length - 1;
	const from = x(page.history.at[last]);
	const rest = restTime();
	const turn = rest !== null && rest > page.history.at[last] && rest < now.at ? [x(rest) + ',' + y(now.own)] : [];

	plot.append(
		drawn('polyline', { points: [from + ',' + y(own[last] || 0), ...turn, x(now.at) + ',' + y(now.own)].join(' '), class: 'unknown' }),
		drawn('circle', { cx: x(now.at), cy: y(now.own), r: 4, class: 'present' }));
	if (x(now.at) - from > 230)
		plot.append(drawn('text', { x: from + 6, y: bottom - 6, class: 'scale start' }, 'no point of the history since'));
}

// Hatched is what is free.
function hatch(id) {
	return drawn('pattern', { id: id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
		drawn('rect', { width: 6, height: 6, class: 'hatch-ground' }),
		drawn('rect', { width: 2, height: 6, class: 'hatch-line' }));
}

function drawScales(plot, on) {
	let step = 1;

	while (step * 4 < on.most) step *= 2;
	for (let bytes = 0; bytes <= on.most; bytes += step) {
		plot.append(
			drawn('line', { x1: on.left, x2: on.width - on.right, y1: on.y(bytes), y2: on.y(bytes), class: 'grid' }),
			drawn('text', { x: on.left - 6, y: on.y(bytes) + 4, class: 'scale end' }, bytes ? size(bytes) : '0'));
	}
	// a scale has no finer steps than seconds
	const times = Math.max(1, Math.min(Math.floor((on.width - on.left - on.right) / 150), Math.floor((on.last - on.first) / 1e6)));

	for (let i = 0; i <= times; i++) {
		const time = on.first + (on.last - on.first) * i / times;

		plot.append(drawn('text', {
			x: on.x(time), y: on.bottom + 16, class: 'scale ' + (i === 0 ? 'start' : i === times ? 'end' : 'middle')
		}, clock(page.origin + time, on.last - on.first > 86400e6 && i % times === 0)));
	}
}

function drawMark(plot, us, title, on) {
	const time = us === null ? null : us - page.origin;

	if (time === null || time < on.first || time > on.last) return;
	const atEnd = on.x(time) > on.width - 110;

	plot.append(
		drawn('line', { x1: on.x(time), x2: on.x(time), y1: on.top - 6, y2: on.bottom, class: 'mark' }),
		drawn('text', { x: on.x(time) + (atEnd ? -5 : 5), y: on.label, class: 'scale ' + (atEnd ? 'end' : 'start') }, title));
}

// The site whose row the pointer is on, by its index.
let pointedSite = null;
let redrawChart = () => {};

// The chosen site, or the one that is pointed at: its course, or when it allocated.
function drawSite(plot, x, y) {
	const site = model.sites[pointedSite === null ? state.site : pointedSite];

	if (!site) return;
	const course = model.courses.get(site.index);

	if (course) plot.append(drawn('polyline', { class: 'chosen', points: linePoints(course, x, y).join(' ') }));
	else if (site.first !== null && site.live > 0)
		plot.append(drawn('line', { class: 'chosen', x1: x(Math.max(site.first, page.history.at[0])), x2: x(site.last), y1: y(site.live), y2: y(site.live) }));
}

// When samples were taken for the largest statements.  The text stands in its bar where
// that has room for it, else beside it, on the side that has more.
function drawLanes(plot, lanes, on) {
	const end = on.width - on.right;

	lanes.forEach((lane, i) => {
		const y = on.top + i * LANE;
		const from = on.x(Math.min(Math.max(lane.first, on.first), on.last));
		const to = Math.max(from + 3, on.x(Math.min(Math.max(lane.last, on.first), on.last)));
		const query = visible(lane.query.replace(/\s+/g, ' '));
		const beside = Math.max(end - to, from - on.left);
		const inside = to - from >= Math.min(beside, LANE_TEXT, query.length * LANE_LETTER + 10);
		const after = !inside && end - to === beside;
		const room = inside ? to - from : beside;

		plot.append(
			drawn('rect', { x: from, y: y, width: to - from, height: LANE - 4, rx: 3, class: 'lane' }),
			drawn('text', { x: inside ? from + 5 : after ? to + 5 : from - 5, y: y + 11, class: 'lane-text ' + (inside || after ? 'start' : 'end') },
				shorten(query, Math.floor((room - 10) / LANE_LETTER)), drawn('title', null, visible(lane.query))));
	});
}

function drawBrush(plot, x, top, bottom) {
	const at = page.history.at;
	const brush = drawn('rect', { class: 'brushed', y: top, height: bottom - top });

	plot.append(brush);
	plot.showBrush = (from, to) => {
		brush.style.display = from === null ? 'none' : '';
		if (from === null) return;
		brush.setAttribute('x', x(at[from]));
		brush.setAttribute('width', Math.max(1, x(at[to]) - x(at[from])));
	};
	plot.showBrush(...(state.window || [null, null]));
}

// What the colours mean, and what each part has at the end, or has gained in the window.
function fillLegend(legend, layers) {
	const last = page.history.at.length - 1;
	const [from, to] = state.window || [];
	const gained = (bytes, given) => !state.window ? size(bytes[last]) :
		given && (given[from] === null || given[to] === null) ? 'not known' : signedSize(bytes[to] - bytes[from]);
	const entry = (fill, title, text) => {
		const key = element('span', { class: 'key ' + (fill === 'free' ? 'hatched' : ''), 'data-fill': fill });

		if (!['free', 'own', 'sampled'].includes(fill)) key.style.background = 'var(--' + fill + ')';
		return element('li', null, key, quoted(title, 'span'), ' ', element('b', null, text));
	};

	const now = state.window ? null : presentPoint();
	const counted = page.history.at[last];

	legend.replaceChildren(
		entry('own', 'own memory', now ? size(now.own) + ' now' : gained(page.history.own.map(bytes => bytes || 0))),
		entry('sampled', 'sampled, with its 95% error', gained(page.history.live.map(bytes => bytes || 0))),
		...layers.slice().reverse().map(layer => entry(layer.fill, layer.title, gained(layer.bytes, layer.given))));
	if (now && now.at - counted > SAME_MOMENT)
		legend.append(element('li', null, 'All but own memory as of ' + clock(page.origin + counted, true) + '.'));
}

function saveChart(layers) {
	const { at, own, live, live_error, contexts, malloc, malloc_free } = page.history;

	saveCsv('history', [['at', 'own_bytes', 'live_bytes', 'error_bytes', 'context_bytes', 'malloc_bytes', 'malloc_free_bytes',
		...page.families.map(family => family.name)],
	...at.map((time, i) => [new Date((page.origin + time) / 1000).toISOString(), own[i], live[i], live_error[i], contexts[i],
		malloc[i], malloc_free[i], ...page.families.map(family => family.bytes[i])])]);
}
