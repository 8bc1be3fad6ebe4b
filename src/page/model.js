// The document of the page, as the parts of the page use it.

const page = JSON.parse(document.getElementById('document').textContent);

// The columns of a row of "sites", as page_sites.c writes them.
const COLUMNS = ['stack', 'context', 'lifetime', 'statement', 'live', 'count', 'error', 'variance',
	'growth', 'growthCount', 'peak', 'total', 'totalCount', 'samples', 'first', 'last', 'ages'];

// The parts of the server whose functions have colours of their own.
const NO_CODE = 0;
const ROUTINE = 9;

// Make the sites of a document, which may be that of another page.
function readSites(from) {
	const names = from.names;
	const frames = from.frames.map(([name, suffix, part, module]) => ({
		name: names[name], text: names[name] + names[suffix], part: part,
		module: module === null ? null : names[module]
	}));
	const stacks = from.stacks.map(([node, siteFrame, id]) => {
		const stack = [];

		// a node's caller comes before it: a damaged page can't make a circle
		for (let at = node; at > 0; at -= Math.max(1, from.nodes[2 * at - 2]))
			stack.push(frames[from.nodes[2 * at - 1]]);
		return { frames: stack, id: id, site: stack[siteFrame] || frames[0] };
	});

	return from.sites.map((row, index) => {
		const site = { index: index };

		COLUMNS.forEach((name, i) => { site[name] = row[i]; });
		const statement = site.statement === null ? null : from.statements[site.statement];
		const stack = stacks[site.stack];

		site.frames = stack.frames;
		site.stackId = stack.id;
		site.frame = stack.site;
		site.name = stack.site.text;
		site.context = site.context === null ? null : names[site.context];
		site.lifetime = site.lifetime === null ? null : names[site.lifetime];
		site.queryId = statement && statement[0];
		site.query = statement && statement[1];
		site.shape = statement && statement[2];
		const routine = stack.frames.find(frame => frame.part === ROUTINE);

		site.routine = routine ? routine.text : null;
		return site;
	});
}

// The 95% error bound of a sum of estimates (src/base/sampling.c).
const Z95 = 1.959964;

function errorOf(variance, bytes, samples) {
	if (variance <= 0 || samples <= 0) return 0;
	const each = bytes / samples;
	const correction = Math.min(1, variance / (each * each));

	return Z95 * Z95 / 2 * each * correction +
		Z95 * Math.sqrt(variance + Z95 * Z95 / 4 * each * each * correction);
}

// The most that the bound can be where samples are gone: that of small chunks; null where
// the interval is not known.
function mostErrorOf(bytes, interval) {
	if (interval === 0) return null;
	if (interval === 1) return 0;
	const coarse = interval < 262144 ? interval : 8 * interval;
	const coarseBytes = Math.min(Math.abs(bytes), 8388608 + coarse);
	const fineBytes = Math.abs(bytes) - coarseBytes;

	return errorOf(coarseBytes * coarse + fineBytes * interval, Math.abs(bytes),
		Math.max(1, Math.floor(coarseBytes / coarse + fineBytes / interval)));
}

const MEASURES = {
	live: { title: 'Live', words: 'was allocated and not freed yet' },
	growth: { title: 'Growth', words: 'was gained since the baseline', signed: true },
	peak: { title: 'Peak', words: 'was held when the process held most' },
	total: { title: 'Ever allocated', words: 'was ever allocated, freed memory included' },
	window: { title: 'Selected time', words: 'came within the selected time and was still there at its end', signed: true },
	difference: { title: 'Difference', words: 'is more than in the other file', signed: true }
};

function bytesOf(site, measure) {
	if (measure === 'window') return model.inWindow[site.index];
	if (measure === 'difference') return model.differences.has(site) ? model.differences.get(site).bytes : 0;
	return site[measure] || 0;
}

function countOf(site, measure) {
	return measure === 'live' ? site.count : measure === 'growth' ? site.growthCount :
		measure === 'total' ? site.totalCount : null;
}

// The error of a sum over sites; null where it is not known.
function errorOfSum(sum, measure) {
	if (measure === 'live') return errorOf(sum.variance, sum.bytes, sum.samples);
	if (measure === 'peak' || measure === 'total')
		return mostErrorOf(sum.bytes, page.sample_interval);
	const now = errorOf(sum.variance, sum.live, sum.samples);

	if (measure === 'difference')
		return model.other && model.other.exact && sum.other ?
			Math.hypot(now, errorOf(sum.other.variance, sum.other.live, sum.other.samples)) : null;
	const then = mostErrorOf(sum.live - sum.bytes, page.sample_interval);

	return then === null ? null : Math.hypot(now, then);
}

// What came to a site within a part of the history and was still there at its end.  Of a
// site that the history follows this is the difference of two of its points.  Of another
// one it is known from the ages of what it holds: what was freed since the end is missing.
function bytesInWindow(site, from, to) {
	const course = model.courses.get(site.index);
	const at = page.history.at;
	const end = to === at.length - 1 ? Infinity : at[to];

	if (course && course[to] !== null) {
		if (course[from] !== null) return course[to] - course[from];
		if (site.first !== null && site.first >= at[from]) return course[to];
	}
	let bytes = 0;

	for (let i = 0; i < site.ages.length; i += 5) {
		const [first, last, live] = site.ages.slice(i, i + 3);
		const within = Math.min(last, end) - Math.max(first, at[from]);

		if (within < 0) continue;
		bytes += last > first ? live * Math.min(1, within / (last - first)) : live;
	}
	return Math.round(bytes);
}

function sumOf(sites, measure) {
	const sum = { bytes: 0, live: 0, variance: 0, samples: 0, count: 0, other: null };

	for (const site of sites) addTo(sum, site, measure);
	return sum;
}

function addTo(sum, site, measure) {
	sum.bytes += bytesOf(site, measure);
	sum.live += site.live;
	sum.variance += site.variance;
	sum.samples += site.samples;
	sum.count += countOf(site, measure) || 0;
	if (measure !== 'difference' || !model.differences.has(site)) return;
	const other = model.differences.get(site).other;

	sum.other = sum.other || { live: 0, variance: 0, samples: 0 };
	sum.other.live += other.live;
	sum.other.variance += other.variance;
	sum.other.samples += other.samples;
}

const model = {
	sites: [],
	courses: new Map(),		// of sites that the history follows, by row
	inWindow: [],
	differences: new Map(),	// from the sites of another file
	other: null,			// that file
	hasGrowth: false
};

function readModel() {
	model.sites = readSites(page);
	model.hasGrowth = page.baseline_at !== null;
	for (const part of page.followed_sites)
		part.sites.forEach((row, i) => {
			if (row >= 0) model.courses.set(row, part.courses[i]);
		});
}

// How many sites of a window are known by the history, and how many by ages.
function cutWindow() {
	const cut = { followed: 0, aged: 0 };

	model.inWindow = [];
	if (!state.window) return cut;
	for (const site of model.sites) {
		const bytes = bytesInWindow(site, ...state.window);

		model.inWindow.push(bytes);
		if (bytes === 0) continue;
		if (model.courses.has(site.index)) cut.followed++;
		else cut.aged++;
	}
	return cut;
}

// A longer round of calls that repeats itself is not looked for.
const MOST_ROUND = 40;

// Does the end of a path repeat the frames before it?  Returns how many, or 0.
function roundOf(path) {
	for (let length = 1; length <= MOST_ROUND && 2 * length <= path.length; length++) {
		let same = 0;

		while (same < length && path[path.length - 1 - same] === path[path.length - 1 - same - length]) same++;
		if (same === length && path.slice(-length).some(frame => frame.part === ROUTINE)) return length;
	}
	return 0;
}

// Rounds of calls of a function in SQL or a procedural language that calls itself, by whatever
// way, are one.
function foldRecursion(frames) {
	const path = [];

	for (const frame of frames) {
		path.push(frame);
		path.length -= roundOf(path);
	}
	return path;
}

// The frames of a site as a picture is made of them, the outermost first.
function pathOf(site) {
	const frames = state.group === 'routine' ? site.frames.filter(frame => frame.part === ROUTINE) :
		site.frames.slice();

	if (state.group === 'routine' && !frames.length)
		frames.push({ name: '[no routine]', text: '[no routine]', part: NO_CODE, module: null });
	if (!state.up) frames.reverse();
	frames.splice(0, frames.length, ...foldRecursion(frames));
	if (state.group === 'context')
		frames.unshift(level(site.context === null ? '[no context]' : site.context));
	if (state.group === 'statement')
		frames.unshift(level(site.query === null ? '[no statement]' : site.query));
	return frames;
}

const levels = new Map();

function level(name) {
	if (!levels.has(name))
		levels.set(name, { name: name, text: name, part: NO_CODE, module: null, level: true });
	return levels.get(name);
}

// Is a site taken out, as one of its functions is?
function isHidden(site) {
	return state.hidden.length > 0 && site.frames.some(frame => state.hidden.includes(frame.name));
}

let nodeNumber = 0;

function makeNode(frame, parent) {
	return {
		number: nodeNumber++, frame: frame, parent: parent, depth: parent ? parent.depth + 1 : 0,
		bytes: 0, width: 0, live: 0, variance: 0, samples: 0, count: 0, other: null, children: new Map(), sorted: null,
		text: frame.text
	};
}

// Merge the sites into a tree of callers and callees: functions of one name in one module
// are one.  Widths are of what has changed in either direction.
function makeTree() {
	const root = makeNode({ name: 'all', text: 'all', part: NO_CODE, module: null }, null);

	nodeNumber = 1;
	root.number = 0;
	for (const site of model.sites) {
		const bytes = bytesOf(site, state.measure);

		if (bytes === 0 || isHidden(site)) continue;
		let node = root;

		addToNode(node, site, bytes);
		for (const frame of pathOf(site)) {
			const key = frame.name + '\0' + frame.module;
			let child = node.children.get(key);

			if (!child) {
				child = makeNode(frame, node);
				node.children.set(key, child);
			} else if (child.text !== frame.text) child.text = frame.name;
			node = child;
			addToNode(node, site, bytes);
		}
	}
	// what is an estimate of nothing has an error, too
	const all = sumOf(model.sites.filter(site => !isHidden(site)), state.measure);

	return Object.assign(root, { live: all.live, variance: all.variance, samples: all.samples, other: all.other });
}

function addToNode(node, site, bytes) {
	addTo(node, site, state.measure);
	node.width += Math.abs(bytes);
}

function childrenOf(node) {
	if (!node.sorted)
		node.sorted = [...node.children.values()].sort((a, b) => b.width - a.width || (a.text < b.text ? -1 : 1));
	return node.sorted;
}

// What a search means: a regular expression, or else a text.
function matcher(text) {
	if (!text) return null;
	try {
		const pattern = new RegExp(text, 'i');

		return name => pattern.test(name);
	} catch (error) {
		const lower = text.toLowerCase();

		return name => name.toLowerCase().includes(lower);
	}
}

// The outermost nodes whose names match: what is within them is counted with them.
function findMatches(root, matches) {
	const found = [];
	const visit = node => {
		if (node.parent && matches(node.text)) found.push(node);
		else childrenOf(node).forEach(visit);
	};

	visit(root);
	return found;
}
