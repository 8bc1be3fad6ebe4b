// The page of a process or a dump.

function makeProcess() {
	readModel();
	Object.assign(state, readAddress());
	cutWindow();
	addEventListener('hashchange', () => choose(readAddress()));
	const main = document.getElementById('page');
	const title = main.querySelector('h1');

	title.after(makeFacts());
	document.getElementById('plain').replaceWith(makeWords());
	main.append(makeChart(), makeSites(), makeContexts(),
		makeHolders(page.proof, 'SELECT * FROM pg_leakhunt_proof(' + sourceOf() + ');'), makeFooter(), news, hover);
	document.addEventListener('keydown', pageKey);
	title.append(themeButton());
}

// The page of a process that has no profile: of what it allocated nothing is known.
function makeUnprofiled() {
	const main = document.getElementById('page');

	main.querySelector('h1').after(makeFacts());
	document.getElementById('plain').replaceWith(section('words', 'What pg_leakhunt says', ...makeCards(page.explanation), makeWordTools(page.explanation), ...redactedNote(),
		element('p', { class: 'note' }, 'This process has no profile, so there is no chart, no graph and no call site.')));
	main.append(news, hover);
	main.querySelector('h1').append(themeButton());
}

// The flame graph, the tree and the table of call sites, and how they are chosen.
function makeSites() {
	const measures = ['live', 'growth', 'peak', 'total', 'window', 'difference'].map(name => [name, MEASURES[name].title,
		name === 'growth' && !model.hasGrowth ? 'There is no baseline: call pg_leakhunt_baseline first.' :
			name === 'window' && page.history.at.length < 2 ? 'There is no history.' :
				name === 'difference' ? 'Drop another page or profile onto this page.' : null]);
	const measure = choice('What is shown', measures, state.measure, name => {
		if (name === 'window' && !state.window) chooseWindow(Math.floor((page.history.at.length - 1) / 2), page.history.at.length - 1);
		else if (name === 'window') choose({ measure: 'window' });
		else choose({ measure: name, window: null });
	});
	const comparison = makeComparison();
	const group = choice('Stacks', [['calls', 'By site'], ['context', 'By context'], ['statement', 'By statement'], ['routine', 'By routine']],
		state.group, name => choose({ group: name }));
	const view = choice('View', [['graph', 'Graph'], ['tree', 'Tree']], state.view, name => choose({ view: name }));
	const up = element('button', { type: 'button', 'aria-pressed': 'false', click: () => choose({ up: !state.up }) }, 'Bottom-up');
	const search = element('input', {
		type: 'search', id: 'search', placeholder: 'Search', 'aria-label': 'Search functions, a text or a regular expression', value: state.search,
		input: () => choose({ search: search.value }),
		keydown: event => {
			if (event.key === 'Enter') nextMatch(event.shiftKey ? -1 : 1);
			else if (event.key === 'Escape') { search.value = ''; choose({ search: '' }); search.blur(); } else return;
			event.preventDefault();
		}
	});
	const unzoom = element('button', { type: 'button', class: 'small', id: 'unzoom', hidden: true, click: () => zoom(graph.root) }, 'Show all');
	const told = element('p', { class: 'told', role: 'status' });
	const hidden = element('p', { class: 'told' });
	const legend = element('div');
	const canvas = makeGraphCanvas();
	const tree = makeTreeTable();
	const table = makeSiteTable();
	const made = section('sites', 'Where it was allocated',
		element('div', { class: 'tools' }, measure, group, view, up),
		element('div', { class: 'tools' }, search, element('span', { id: 'matched', role: 'status' }), unzoom, comparison.button),
		comparison.said, told, hidden, legend, canvas, tree, graph.details, makeDetail(), element('h3', null, 'Call sites'), table.element);

	// what is asked by id must be there
	document.getElementById('page').append(made);
	follow(['window'], cutWindow);
	follow(['measure', 'group', 'up', 'hidden', 'window', 'compared'], () => {
		measure.lastChild.disabled = !model.other;
		press(measure, state.measure);
		press(group, state.group);
		up.setAttribute('aria-pressed', String(state.up));
		graph.root = graph.zoomed = graph.current = makeTree();
		showZoom();
		told.textContent = totalWords();
		hidden.replaceChildren(...(state.hidden.length ? [hiddenWords() + ' ',
			element('button', { type: 'button', class: 'small', click: unhideAll }, 'Bring all back')] : []));
		legend.replaceChildren(makeGraphLegend());
		setCurrent(graph.root);
		searchGraph();
		markSite(state.site);
		if (state.view === 'tree') fillTree();
		sortTable(table);
	});
	follow(['search'], () => {
		if (search.value !== state.search) search.value = state.search;
		searchGraph();
		drawGraph();
		if (state.view === 'tree') fillTree();
	});
	follow(['site'], () => {
		markSite(state.site);
		chooseRow(table, state.site === null ? null : model.sites[state.site]);
	});
	follow(['view'], () => {
		press(view, state.view);
		canvas.hidden = state.view !== 'graph';
		tree.hidden = state.view !== 'tree';
		if (state.view === 'tree') fillTree();
		else drawGraph();
	});
	new ResizeObserver(drawGraph).observe(canvas);
	redraws.push(drawGraph);
	return made;
}

function totalWords() {
	const sum = graph.root;
	const measure = MEASURES[state.measure];
	const sites = model.sites.filter(site => bytesOf(site, state.measure) !== 0).length;

	return 'Shown is what ' + measure.words + ': ' +
		estimate(sum.bytes, errorOfSum(sum, state.measure), measure.signed) +
		', at ' + plural(sites, 'call site', 'call sites') + '.' +
		(page.sites_left_out ? ' The smallest ' + count(page.sites_left_out) + ' of ' + count(model.sites.length + page.sites_left_out - 1) + ' call sites are added up in one row, so that this file stays small.' : '');
}

function makeSiteTable() {
	const bytes = (title, key, measure) => ({
		title: title, key: key, number: true, value: site => site[measure],
		show: site => site[measure] === null ? '' : measure === 'growth' ? signedSize(site[measure]) : size(site[measure])
	});
	const differs = (title, key, figure, show) => {
		const value = site => model.differences.has(site) ? figure(model.differences.get(site)) : null;

		return { title: title, key: key, number: true, isShown: () => model.other !== null, value: value, show: site => value(site) === null ? '' : show(value(site)) };
	};
	const table = makeTable({
		id: 'sites-table', label: 'Call sites', none: 'There is no call site.',
		isEmpty: site => bytesOf(site, state.measure) === 0 && site.index !== state.site,
		rows: () => model.sites.filter(site => !isHidden(site)),
		open: site => choose({ site: state.site === site.index ? null : site.index }),
		over: site => {
			markSite(site ? site.index : state.site);
			pointedSite = site ? site.index : null;
			redrawChart();
		},
		columns: [
			{ title: 'Call site', key: 'site', value: site => site.name, show: site => site.name },
			{
				title: 'Live', key: 'live_bytes', number: true, value: site => site.live, show: site => estimate(site.live, site.error),
				errorKey: 'error_bytes', error: site => site.error
			},
			...(model.hasGrowth ? [bytes('Growth', 'growth_bytes', 'growth')] : []),
			{
				title: 'Selected time', key: 'selected_bytes', number: true, isShown: () => state.window !== null,
				value: site => state.window ? model.inWindow[site.index] : null,
				show: site => state.window ? signedSize(model.inWindow[site.index]) : ''
			},
			differs('Other file', 'other_bytes', difference => difference.other.live, size),
			differs('Difference', 'difference_bytes', difference => difference.bytes, signedSize),
			bytes('Peak', 'peak_bytes', 'peak'),
			bytes('Ever allocated', 'total_bytes', 'total'),
			{
				title: 'Kept', key: 'survival', number: true, value: site => site.total > 0 ? site.live / site.total : null,
				show: site => site.total > 0 ? percent(site.live, site.total) : ''
			},
			{ title: 'Context', key: 'context_name', value: site => site.context, show: site => site.context || '' },
			{ title: 'Routine', key: 'routine', wide: true, isShown: () => model.sites.some(site => site.routine !== null), value: site => site.routine, show: site => site.routine || '' },
			{ title: 'Statement', key: 'query', wide: true, value: site => site.query, show: site => site.query || '' }
		]
	});

	if (firstMeasure() === 'peak') table.sorted = table.options.columns.findIndex(column => column.key === 'peak_bytes');
	return table;
}

// Keys that work everywhere but in a field.
function pageKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select')) return;
	switch (event.key) {
		case 't': case 'T': choose({ view: state.view === 'tree' ? 'graph' : 'tree' }); break;
		case 'i': case 'I': choose({ up: !state.up }); break;
		case 'r': case 'R': unhideAll(); break;
		case 'n': nextMatch(1); break;
		case 'N': nextMatch(-1); break;
		case '/': document.getElementById('search').focus(); break;
		default: return;
	}
	event.preventDefault();
}

function makeFooter() {
	const key = (name, what) => element('li', null, element('kbd', null, name), ' ' + what);

	return makeHelp('Keys and figures',
		element('ul', { class: 'keys' }, key('T', 'tree or graph'), key('I', 'bottom-up'), key('/', 'search'), key('N', 'next match, Shift+N the one before'),
			key('Ctrl+click', 'or X takes a function out'), key('R', 'brings all back'), key('Esc', 'shows all again')),
		element('p', { class: 'note' }, 'What was sampled is an estimate: the figure behind +/- is its 95% error bound. What was counted is exact. ' +
			'This page fetches nothing, and says nothing that a SELECT does not say, too. The address of the page, with what follows #, shows the same to others who have the file.'));
}
