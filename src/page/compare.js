// Another page or profile is dropped onto this page: the browser reads it, and shows the
// difference.  Nothing leaves the browser.

const NEVER_A_PAGE = [
	['PLHPROF', 'This is a dump file. Make a page of it: SELECT pg_leakhunt_page(\'its name\').'],
	['heap profile', 'This is a text for jeprof. Take the page of the same process, or its profile for pprof.']
];

// The sites of a file, and who it is of.
async function readOther(file) {
	const bytes = await unpacked(new Uint8Array(await file.arrayBuffer()));
	const begin = new TextDecoder().decode(bytes.subarray(0, 200)).replace(/^--- symbol[\s\S]*/, 'heap profile');

	for (const [mark, advice] of NEVER_A_PAGE)
		if (begin.startsWith(mark)) throw new Error(advice);
	if (!/^\s*<!DOCTYPE html>/i.test(begin))
		return { sites: readProfile(bytes), title: file.name, at: null, exact: false };
	const text = new TextDecoder().decode(bytes);
	const start = text.indexOf('id="document">');
	const json = start < 0 ? null : JSON.parse(text.slice(start + 14, text.indexOf('<' + '/script>', start)));

	if (!json || json.kind !== 'process') throw new Error('This is not the page of a process or a dump.');
	return { sites: readSites(json), title: json.title, at: json.at, exact: true, origin: json.origin };
}

// What sites have in common that are the same, as for pg_leakhunt_diff.
function keyOf(site) {
	if (site.stackId === null) return JSON.stringify([site.name.startsWith('[') ? site.name.replace(/\d+ /, '') : site.name, site.context, site.queryId || site.shape]);
	return JSON.stringify([site.stackId, site.context, site.lifetime, site.queryId || site.shape]);
}

// In a profile for pprof there are names only.
function namesKeyOf(site) {
	return JSON.stringify([site.frames ? site.frames.map(frame => frame.name) : site.names, site.context]);
}

// Take the older bytes from the newer, site by site.
function compareWith(other) {
	const key = other.exact ? keyOf : namesKeyOf;
	const theirs = new Map();
	const sign = other.at !== null && other.at > page.at ? -1 : 1;

	endComparison();
	for (const site of other.sites) {
		const known = theirs.get(key(site));

		if (known) {
			known.live += site.live;
			known.variance += site.variance;
			known.samples += site.samples;
		} else theirs.set(key(site), { live: site.live, variance: site.variance, samples: site.samples, site: site });
	}
	for (const site of model.sites.slice()) {
		const same = theirs.get(key(site)) || { live: 0, variance: 0, samples: 0 };

		model.differences.set(site, { bytes: sign * (site.live - same.live), other: same });
		theirs.delete(key(site));
	}
	for (const left of theirs.values()) addOnlyThere(left, sign);
	model.other = { title: other.title, at: other.at, exact: other.exact, sign: sign };
}

function addOnlyThere(left, sign) {
	const site = Object.assign({}, left.site, {
		index: model.sites.length, live: 0, count: 0, error: 0, variance: 0, samples: 0, growth: model.hasGrowth ? 0 : null,
		growthCount: 0, peak: 0, total: 0, totalCount: 0, first: null, last: null, ages: []
	});

	if (!site.frames) {
		site.frames = site.names.map(name => ({ name: name, text: name, part: NO_CODE, module: null }));
		site.frame = site.frames[0] || { name: '[no stack]', text: '[no stack]', part: NO_CODE, module: null };
		Object.assign(site, { name: site.frame.text, stackId: null, lifetime: null, queryId: null, query: null, shape: null, routine: null });
	}
	model.sites.push(site);
	if (state.window) model.inWindow.push(0);
	model.differences.set(site, { bytes: -sign * left.live, other: left });
}

function endComparison() {
	model.sites = model.sites.slice(0, page.sites.length);
	model.differences = new Map();
	model.other = null;
}

function otherWords() {
	const other = model.other;

	if (!other) return '';
	const than = other.at === null ? '' : ' as of ' + moment(other.at);
	const sum = [...model.differences.values()].reduce((bytes, difference) => bytes + difference.bytes, 0);

	return 'Compared with ' + visible(other.title) + than + (other.sign < 0 ? ', which is newer: ' : ': ') + signedSize(sum) + '. ' +
		(other.exact ? 'Call sites are compared by stack, context, lifetime and statement, as by pg_leakhunt_diff.' :
			'A profile has no statements: call sites are compared by the names of functions and context.');
}

function makeComparison() {
	const input = element('input', { type: 'file', id: 'other', class: 'hidden-text', tabindex: -1, 'aria-label': 'File to compare with' });
	const button = element('button', { type: 'button', click: () => input.click() }, 'Compare...');
	const end = element('button', {
		type: 'button', class: 'small', hidden: true, click: () => {
			choose({ measure: firstMeasure(), site: null });
			endComparison();
			changed();
		}
	}, 'End comparison');
	const said = element('p', { class: 'told', role: 'status' });
	const changed = () => {
		end.hidden = !model.other;
		said.textContent = otherWords();
		choose({ compared: state.compared + 1 });
	};
	const read = async file => {
		try {
			const other = await readOther(file);

			choose({ site: null, window: null });
			compareWith(other);
			choose({ measure: 'difference' });
			changed();
		} catch (error) {
			said.textContent = visible(file.name) + ' cannot be compared. ' +
				(error.message.endsWith('.') ? error.message : 'It is neither a page nor a profile that can be read: ' + error.message + '.');
		}
	};

	input.addEventListener('change', () => { if (input.files[0]) read(input.files[0]); input.value = ''; });
	addEventListener('dragover', event => {
		if (![...event.dataTransfer.types].includes('Files')) return;
		event.preventDefault();
		document.body.classList.add('dropping');
	});
	for (const over of ['dragleave', 'drop']) addEventListener(over, () => document.body.classList.remove('dropping'));
	addEventListener('drop', event => {
		event.preventDefault();
		if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
	});
	return { button: element('span', null, button, input), said: element('div', null, said, end) };
}
