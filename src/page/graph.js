// The flame graph: a canvas, whose frames are of the tree of makeTree.  The outermost
// function is at the top.

const ROW = 21;
const INNERMOST = 6;		// frames of a single stack that are not folded
const LEAST_LETTERS = 6;	// a shorter part of a name says nothing
const NARROWEST = 0.4;		// narrower frames are not drawn

const graph = {
	root: null,			// the whole tree
	zoomed: null,		// the node that is as wide as the canvas
	current: null,		// the node that keys act on
	frames: [],			// what is drawn: node, x, y, width
	matches: [],		// nodes that a search finds
	matched: new Set(),
	marked: new Set(),	// nodes of the chosen site, or of the one under the pointer
	canvas: null,
	letter: 7,			// the width of a letter, in pixels
	details: null
};

// Nodes that only pass on to one other, all of it: such frames at the trunk are one.  Of a
// single stack the innermost frames are left as they are.
function trunkOf(node) {
	const folded = [node];

	while (childrenOf(node).length === 1 && childrenOf(node)[0].width >= 0.999 * node.width) {
		node = childrenOf(node)[0];
		folded.push(node);
	}
	return childrenOf(node).length ? folded : folded.slice(0, Math.max(1, folded.length - INNERMOST));
}

function nameOf(frame) {
	if (!frame.folded) return frame.node.text;
	const first = frame.folded[frame.folded[0].parent ? 0 : 1];

	return first.text + ' ... ' + frame.node.text + ' (' + frame.folded.length + ' frames)';
}

function layOut(width) {
	const frames = [];
	const callers = [];

	for (let node = graph.zoomed.parent; node; node = node.parent) callers.unshift(node);
	let y = 0;

	if (callers.length) {
		frames.push({ node: callers[callers.length - 1], folded: callers.length > 1 && callers, x: 0, y: 0, width: width, caller: true });
		y += ROW;
	}
	const trunk = trunkOf(graph.zoomed);
	const isFolded = trunk.length > 3;
	const top = isFolded ? trunk[trunk.length - 1] : graph.zoomed;

	frames.push({ node: top, folded: isFolded && trunk, x: 0, y: y, width: width });
	const scale = width / (top.width || 1);
	const place = (node, x, y) => {
		for (const child of childrenOf(node)) {
			const wide = child.width * scale;

			if (wide < NARROWEST) break;
			frames.push({ node: child, x: x, y: y, width: wide });
			place(child, x, y + ROW);
			x += wide;
		}
	};

	place(top, 0, y + ROW);
	return frames;
}

// The fill and the colour of the text of a node.
function paintOf(node) {
	if (node.bytes < 0 || state.measure === 'growth' || state.measure === 'difference') {
		const part = node.width ? node.bytes / node.width : 0;

		return part > 0.15 ? ['grew', 'on-grew'] : part < -0.15 ? ['shrank', 'on-shrank'] : ['part-0', 'on-part'];
	}
	return ['part-' + (node.frame.part || 0), node.frame.part === ROUTINE ? 'on-routine' : 'on-part'];
}

function drawGraph() {
	const canvas = graph.canvas;
	const width = canvas.parentNode.clientWidth;

	if (!width || !graph.root) return;
	graph.frames = layOut(width);
	const rows = 1 + Math.max(...graph.frames.map(frame => frame.y / ROW));
	const on = sizeCanvas(canvas, width, rows * ROW + 2);
	const paints = {};
	const paint = name => paints[name] || (paints[name] = colour(name));

	on.clearRect(0, 0, width, rows * ROW + 2);
	on.font = '12px ' + colour('mono');
	on.textBaseline = 'middle';
	graph.letter = on.measureText('0').width;
	for (const frame of graph.frames) drawFrame(on, frame, paint);
}

function drawFrame(on, frame, paint) {
	const node = frame.node;
	const [fill, text] = paintOf(node);
	const wide = Math.max(frame.width - (frame.width > 2 ? 1 : 0), NARROWEST);
	const faded = frame.caller || (graph.marked.size && !graph.marked.has(node));

	on.globalAlpha = faded ? 0.55 : 1;
	on.fillStyle = graph.matched.has(node) ? paint('match') : paint(fill);
	on.fillRect(frame.x, frame.y, wide, ROW - 1);
	const room = Math.floor((frame.width - 7) / graph.letter);

	if (room >= LEAST_LETTERS || (room > 0 && node.text.length <= room)) {
		const label = shorten(visible(nameOf(frame)), room);

		on.globalAlpha = 1;
		on.fillStyle = graph.matched.has(node) ? paint('on-match') : paint(text);
		on.fillText(label, frame.x + 4, frame.y + ROW / 2);
	}
	on.globalAlpha = 1;
	if (node === graph.current && document.activeElement === graph.canvas) {
		on.strokeStyle = paint('focus');
		on.lineWidth = 2;
		on.strokeRect(frame.x + 1, frame.y + 1, Math.max(wide - 2, 1), ROW - 3);
	}
}

// What there is to say of a node.
function nodeWords(node) {
	const measure = MEASURES[state.measure];
	const error = errorOfSum(node, state.measure);
	const objects = countOf(model.sites[0] || {}, state.measure) !== null && node.count;
	const lines = [node.text, estimate(node.bytes, error, measure.signed) +
		(objects ? ' in ' + plural(Math.abs(node.count), 'object', 'objects') : '') +
		(graph.root.width ? ', ' + percent(node.width, graph.root.width) + ' of what is shown' : '')];

	if (error === null) lines.push('its error is not known');
	else if (!['live', 'difference'].includes(state.measure) && error > 0) lines.push('the error is a bound, that of small chunks');
	if (node.frame.module) lines.push(node.frame.module + ', ' + page.parts[node.frame.part]);
	return lines;
}

function frameAt(event) {
	const box = graph.canvas.getBoundingClientRect();
	const x = event.clientX - box.left, y = event.clientY - box.top;

	return graph.frames.find(frame => x >= frame.x && x < frame.x + Math.max(frame.width, 1) &&
		y >= frame.y && y < frame.y + ROW);
}

function zoom(node) {
	graph.zoomed = node;
	setCurrent(node);
	showZoom();
	drawGraph();
}

function setCurrent(node) {
	graph.current = node;
	graph.details.textContent = visible(nodeWords(node).join('; ') +
		(node === graph.zoomed ? '' : '. Enter zooms, X takes it out.'));
}

function showZoom() {
	document.getElementById('unzoom').hidden = graph.zoomed === graph.root;
}

// Take out all stacks that a function is in.
function hideNode(node) {
	if (!node.parent || node.frame.level) return;
	choose({ hidden: state.hidden.concat(node.frame.name) });
}

function unhideAll() {
	choose({ hidden: [] });
}

// The nearest node in a direction, of those that are drawn.
function moveFrom(node, key) {
	const frames = graph.frames.filter(frame => !frame.caller);
	const at = frames.find(frame => frame.node === node) || frames[0];
	const middle = at.x + at.width / 2;
	const row = frames.filter(frame => frame.y === at.y + ({ ArrowDown: ROW, ArrowUp: -ROW }[key] || 0));

	if (key === 'ArrowUp') return row.find(frame => frame.x <= middle && middle <= frame.x + frame.width);
	if (key === 'ArrowDown') return row.find(frame => frame.x >= at.x - 0.5 && frame.x < at.x + at.width);
	return row[row.indexOf(at) + (key === 'ArrowRight' ? 1 : -1)];
}

function graphKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey) return;
	if (event.key.startsWith('Arrow')) {
		const next = moveFrom(graph.current, event.key);

		if (next) setCurrent(next.node);
	} else if (event.key === 'Enter') zoom(graph.current);
	else if (event.key === 'Escape' || event.key === 'Backspace') zoom(graph.root);
	else if (event.key === 'x' || event.key === 'X') hideNode(graph.current);
	else return;
	event.preventDefault();
	drawGraph();
}

function graphClick(event) {
	const frame = frameAt(event);

	if (!frame) return;
	if (event.ctrlKey || event.metaKey) hideNode(frame.node);
	else {
		zoom(frame.node);
		chooseSiteOf(frame.node);
	}
}

// The largest site below a node becomes the chosen one, where the node is where it ends.
function chooseSiteOf(node) {
	if (childrenOf(node).length) return;
	let best = null;

	for (const site of model.sites) {
		const bytes = Math.abs(bytesOf(site, state.measure));

		if (bytes && !isHidden(site) && nodesOf(site).pop() === node &&
			(best === null || bytes > Math.abs(bytesOf(best, state.measure)))) best = site;
	}
	if (best) choose({ site: best.index });
}

// The nodes of a site, from the root on.
function nodesOf(site) {
	const nodes = [graph.root];

	for (const frame of pathOf(site)) {
		const next = nodes[nodes.length - 1].children.get(frame.name + '\0' + frame.module);

		if (!next) break;
		nodes.push(next);
	}
	return nodes;
}

function markSite(site) {
	graph.marked = new Set(site === null || bytesOf(model.sites[site], state.measure) === 0 ? [] :
		nodesOf(model.sites[site]));
	drawGraph();
}

function searchGraph() {
	const matches = matcher(state.search);

	graph.matches = matches ? findMatches(graph.root, matches) : [];
	graph.matched = new Set(graph.matches);
	const bytes = graph.matches.reduce((sum, node) => sum + node.bytes, 0);
	const width = graph.matches.reduce((sum, node) => sum + node.width, 0);

	document.getElementById('matched').textContent = !matches ? '' :
		plural(graph.matches.length, 'match', 'matches') + ': ' +
		(MEASURES[state.measure].signed ? signedSize(bytes) : size(bytes)) + ', ' + percent(width, graph.root.width);
}

let matchNumber = -1;

// The next match becomes the current node, or the one before.
function nextMatch(step) {
	if (!graph.matches.length) return;
	matchNumber = (matchNumber + step + graph.matches.length) % graph.matches.length;
	let outer = graph.matches[matchNumber];

	graph.zoomed = graph.root;
	while (outer.parent && outer.width < 0.02 * graph.root.width) outer = outer.parent;
	if (outer.parent) graph.zoomed = outer;
	showZoom();
	setCurrent(graph.matches[matchNumber]);
	drawGraph();
	tell('Match ' + (matchNumber + 1) + ' of ' + graph.matches.length + ': ' + visible(graph.matches[matchNumber].text));
}

function hiddenWords() {
	if (!state.hidden.length) return '';
	const out = sumOf(model.sites.filter(isHidden), state.measure);
	const all = sumOf(model.sites, state.measure);

	return 'Taken out: ' + state.hidden.map(visible).join(', ') + ', with ' +
		(MEASURES[state.measure].signed ? signedSize(out.bytes) : size(out.bytes)) + ' (' + percent(out.bytes, all.bytes) + ').';
}

function makeGraphLegend() {
	if (state.measure === 'growth' || state.measure === 'difference')
		return makeLegend('graph-legend', [['grew', 'grew'], ['shrank', 'shrank'], ['part-0', 'grew and shrank by similar amounts']]);
	const parts = new Set(model.sites.flatMap(site => bytesOf(site, state.measure) ? site.frames.map(frame => frame.part) : []));
	const entries = page.parts.map((name, part) => ['part-' + part, part === NO_CODE ? 'context or statement' : name])
		.filter((_, part) => parts.has(part) && (part !== NO_CODE || state.group === 'context' || state.group === 'statement'));

	if (model.sites.some(site => bytesOf(site, state.measure) < 0)) entries.push(['shrank', 'shrank']);
	return makeLegend('graph-legend', entries);
}

function makeGraphCanvas() {
	const canvas = element('canvas', {
		tabindex: 0, role: 'application', 'aria-roledescription': 'flame graph', 'aria-describedby': 'graph-details',
		'aria-label': 'Flame graph. Arrow keys move, Enter zooms, Escape shows all, X takes a function out. T shows the same as a tree.',
		keydown: graphKey, click: graphClick, focus: drawGraph, blur: drawGraph,
		mousemove: event => {
			const frame = frameAt(event);

			canvas.style.cursor = frame ? 'pointer' : '';
			if (frame) showHover(event, frame.folded && !frame.caller ?
				nodeWords(frame.node).concat(frame.folded.length + ' frames with the same bytes: ' + shorten(frame.folded.map(node => node.text).join(' > '), 300)) :
				nodeWords(frame.node));
			else hideHover();
		},
		mouseleave: hideHover
	});

	graph.canvas = canvas;
	graph.details = element('p', { id: 'graph-details', class: 'details', 'aria-live': 'polite' });
	return element('div', { id: 'graph', class: 'graph' }, canvas);
}
