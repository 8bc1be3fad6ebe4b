// Memory contexts by size, as areas.  What samples do not account for is hatched: free
// space, the headers of chunks, and what was allocated before sampling began.

// Memory contexts as areas, as they were last counted.
function contextAreas(contexts) {
	return contexts
		.filter(([, , instances, bytes]) => instances !== null && bytes > 0)
		.map(([name, lifetime, instances, bytes, live]) => ({
			name: name === null ? '[no context]' : name, bytes: bytes, used: Math.min(bytes, live), fill: lifetime === 'session' ? 'lasting' : 'passing',
			words: plural(instances, 'context', 'contexts') + ', lifetime ' + lifetime
		}));
}

function outsideArea(bytes) {
	return { name: 'malloc outside of contexts', bytes: bytes, used: bytes, fill: 'family-malloc', words: 'given out by malloc to others than memory contexts' };
}

// Those, and what else the process has.
function makeAreas() {
	const totals = page.totals;
	const areas = contextAreas(page.contexts);

	areas.push(outsideArea(totals.outside_bytes),
		{ name: 'freed, and kept by malloc', bytes: totals.malloc_free_bytes, used: 0, fill: 'family-none', words: 'not given back to the kernel' },
		{ name: 'neither', bytes: totals.other_bytes, used: totals.other_bytes, fill: 'family-none', words: 'belongs neither to memory contexts nor to malloc' });
	return areas.filter(area => area.bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

// Lay out areas as squares as far as possible (Bruls, Huizing and van Wijk).
function squarify(areas, x, y, width, height) {
	const placed = [];
	let rest = areas;
	let left = rest.reduce((sum, area) => sum + area.bytes, 0);
	const worst = (row, sum, side, scale) => Math.max(...row.map(area => {
		const length = sum * scale / side, other = area.bytes * scale / length;

		return Math.max(length / other, other / length);
	}));

	while (rest.length && width > 1 && height > 1) {
		const side = Math.min(width, height), scale = width * height / left;
		const row = [rest[0]];
		let sum = rest[0].bytes;

		while (row.length < rest.length) {
			const next = rest[row.length];

			if (worst(row.concat(next), sum + next.bytes, side, scale) > worst(row, sum, side, scale)) break;
			row.push(next);
			sum += next.bytes;
		}
		const depth = sum * scale / side;
		let at = 0;

		for (const area of row) {
			const length = area.bytes * scale / depth;

			placed.push(width < height ? { area, x: x + at, y, width: length, height: depth } :
				{ area, x, y: y + at, width: depth, height: length });
			at += length;
		}
		if (width < height) { y += depth; height -= depth; } else { x += depth; width -= depth; }
		rest = rest.slice(row.length);
		left -= sum;
	}
	return placed;
}

function makeTreemap(areas, none) {
	const isHatched = areas.some(area => area.used < area.bytes);
	const plot = drawn('svg', { class: 'treemap', role: 'img', 'aria-label': 'Areas of ' + plural(areas.length, 'part', 'parts') + ' of the memory; the table below has the same.' });
	const draw = () => {
		const width = Math.max(260, plot.parentNode ? plot.parentNode.clientWidth : 600);
		const height = Math.max(220, Math.min(360, width * 0.5));

		plot.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
		plot.setAttribute('width', width);
		plot.setAttribute('height', height);
		plot.replaceChildren(...(isHatched ? [drawn('defs', null, hatch('map-free'))] : []));
		squarify(areas, 0, 0, width, height).forEach(place => drawArea(plot, place));
	};

	if (!areas.length)
		return element('p', { class: 'empty' }, none);
	redraws.push(draw);
	queueMicrotask(() => { new ResizeObserver(draw).observe(plot.parentNode); });
	return plot;
}

function drawArea(plot, place) {
	const { area, x, y } = place;
	const width = Math.max(0, place.width - 1.5), height = Math.max(0, place.height - 1.5);
	const used = area.bytes ? area.used / area.bytes : 0;
	const group = drawn('g', {
		mousemove: event => showHover(event, [area.name, size(area.bytes) + (area.used < area.bytes && area.fill.endsWith('ing') ? ', of which samples account for ' + size(area.used) : ''), area.words]),
		mouseleave: hideHover
	});
	const fill = drawn('rect', { x: x, y: y + height * (1 - used), width: width, height: height * used });

	fill.style.fill = 'var(--' + area.fill + ')';
	group.append(drawn('rect', { x: x, y: y, width: width, height: height, fill: 'url(#map-free)' }), fill,
		drawn('rect', { x: x, y: y, width: width, height: height, class: 'outline' }));
	const letters = Math.floor((width - 10) / 7);

	if (letters > 4 && height > 20) {
		const name = shorten(visible(area.name), letters);

		group.append(drawn('rect', { x: x + 3, y: y + 3, width: name.length * 6.9 + 6, height: 16, rx: 2, class: 'plate' }),
			drawn('text', { x: x + 6, y: y + 15, class: 'area-name' }, name));
		if (height > 42) group.append(drawn('rect', { x: x + 3, y: y + 20, width: size(area.bytes).length * 6.9 + 6, height: 16, rx: 2, class: 'plate' }),
			drawn('text', { x: x + 6, y: y + 32, class: 'area-size' }, size(area.bytes)));
	}
	plot.append(group);
}

function makeAreaLegend(areas) {
	const fills = new Set(areas.map(area => area.fill));

	return makeLegend(null, [['lasting', 'contexts of the session'], ['passing', 'contexts of a statement or transaction'],
		['family-malloc', 'malloc outside of contexts'], ['family-none', 'neither']].filter(([fill]) => fills.has(fill)));
}

const CONTEXT_COLUMNS = [
	{ title: 'Memory context', key: 'context_name', value: row => row[0], show: row => row[0] === null ? '[no context]' : row[0] },
	{ title: 'Lifetime', key: 'lifetime', value: row => row[1], show: row => row[1] || '' },
	{ title: 'Contexts', key: 'instances', number: true, value: row => row[2], show: row => row[2] === null ? '' : count(row[2]) },
	{ title: 'Blocks, exact', key: 'context_bytes', number: true, value: row => row[3], show: row => row[3] === null ? '' : size(row[3]) },
	{ title: 'Live, sampled', key: 'live_bytes', number: true, value: row => row[4], show: row => size(row[4]) },
	{ title: 'Growth', key: 'growth_bytes', number: true, value: row => row[6], show: row => row[6] === null ? '' : signedSize(row[6]) },
	{ title: 'Call sites', key: 'sites', number: true, value: row => row[7], show: row => count(row[7]) },
	{ title: 'What they are of', key: 'examples', wide: true, value: row => row[8].join('; '), show: row => row[8].join('; ') }
];

function leftOutNote(left, ...more) {
	return element('p', { class: 'note' }, (left ? count(left) + ' smaller rows are left out here. ' : '') + more.join(''));
}

function makeContexts() {
	const table = makeTable({ id: 'contexts', label: 'Memory contexts', sorted: 3, rows: () => page.contexts, columns: CONTEXT_COLUMNS });
	const areas = makeAreas();
	const free = page.totals.context_free_bytes;
	const isCounted = page.counted_at !== null;

	sortTable(table);
	return section('memory', 'What the memory is made of',
		leftOutNote(page.contexts_left_out, isCounted ? 'As counted at ' + moment(page.counted_at) + '. ' : '',
			free === null ? '' : 'Free within memory contexts: ' + size(free) + ', exact. ',
			isCounted ? 'Hatched is what samples do not account for: free space, headers of chunks, and what was allocated before sampling began.' : ''),
		makeTreemap(areas, 'The process has not counted its memory contexts yet.'), makeAreaLegend(areas), table.element);
}
