// What the reader has chosen.  It is the address's part behind #, so that a link shows
// the same to others.

const state = {
	measure: 'live',	// what bytes count
	group: 'calls',		// what stacks begin with, or consist of
	view: 'graph',		// or the same as a tree
	up: false,			// from the functions that allocate to their callers
	search: '',
	window: null,		// two points of the history
	site: null,			// the row of the chosen site
	hidden: [],			// functions whose stacks are taken out
	compared: 0			// raised when another file was compared
};
const listeners = [];

// Call a function after changes of these; at once, too.
function follow(keys, react) {
	listeners.push({ keys: keys, react: react });
	react();
}

function choose(changes) {
	const changed = Object.keys(changes)
		.filter(key => JSON.stringify(state[key]) !== JSON.stringify(changes[key]));

	if (!changed.length) return;
	Object.assign(state, changes);
	writeAddress();
	for (const listener of listeners)
		if (listener.keys.some(key => changed.includes(key))) listener.react();
}

function writeAddress() {
	const words = new URLSearchParams();

	if (![firstMeasure(), 'window', 'difference'].includes(state.measure)) words.set('show', state.measure);
	if (state.group !== 'calls') words.set('by', state.group);
	if (state.view !== 'graph') words.set('as', state.view);
	if (state.up) words.set('up', '1');
	if (state.search) words.set('find', state.search);
	if (state.window) words.set('time', state.window.join('-'));
	if (state.site !== null) words.set('site', state.site);
	if (state.hidden.length) words.set('hide', JSON.stringify(state.hidden));
	try {
		history.replaceState(null, '', '#' + words);
	} catch (error) {
		// a page in a frame of a mail reader has no address to change
	}
}

// What an address says; it may be anybody's: what makes no sense is left out.
function readAddress() {
	const words = new URLSearchParams(location.hash.slice(1));
	const one = (name, values, otherwise) => values.includes(words.get(name)) ? words.get(name) : otherwise;
	const window = readWindow(words.get('time') || '');
	const site = Number(words.get('site'));

	return {
		group: one('by', ['context', 'statement', 'routine'], 'calls'),
		view: one('as', ['tree'], 'graph'),
		up: words.get('up') === '1',
		search: words.get('find') || '',
		window: window,
		measure: window ? 'window' : one('show', ['live', 'peak', 'total'].concat(model.hasGrowth ? ['growth'] : []), firstMeasure()),
		site: words.has('site') && Number.isInteger(site) && model.sites[site] ? site : null,
		hidden: readNames(words.get('hide') || '[]')
	};
}

// What is live, unless next to nothing is left of what there was.
function firstMeasure() {
	const { live_bytes, peak_bytes } = page.totals;

	return live_bytes < 0.05 * peak_bytes && model.sites.some(site => site.peak > 0) ? 'peak' : 'live';
}

// Two points of the history.
function readWindow(text) {
	const window = text.split('-').map(Number);

	return window.length === 2 && window.every(Number.isInteger) && window[0] >= 0 && window[0] < window[1] &&
		window[1] < page.history.at.length ? window : null;
}

function readNames(json) {
	try {
		const names = JSON.parse(json);

		return Array.isArray(names) ? names.filter(name => typeof name === 'string') : [];
	} catch (error) {
		return [];
	}
}
