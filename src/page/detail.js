// The chosen call site: its figures, when it allocated, its stack, and the SELECT.

function makeDetail() {
	const detail = element('div', { id: 'detail', class: 'detail', tabindex: -1 });

	follow(['site'], () => {
		const site = state.site === null ? null : model.sites[state.site];

		detail.hidden = site === null;
		if (site) detail.replaceChildren(...describeSite(site));
	});
	return detail;
}

function pair(list, name, ...value) {
	list.append(element('div', null, element('dt', null, name), element('dd', null, ...value)));
}

function describeSite(site) {
	const facts = element('dl', { class: 'pairs' });
	const rest = bytes => estimate(bytes, mostErrorOf(bytes, page.sample_interval));
	const mean = site.count > 0 ? size(site.live / site.count) : '';

	pair(facts, 'Live', estimate(site.live, site.error), site.count ? ' in ' + plural(site.count, 'object', 'objects') + ', ' + mean + ' each on average' : '');
	if (site.growth !== null) pair(facts, 'Growth since the baseline', estimate(site.growth, errorOfSum({ bytes: site.growth, live: site.live, variance: site.variance, samples: site.samples }, 'growth'), true));
	pair(facts, 'At the peak of the process', rest(site.peak));
	pair(facts, 'Ever allocated', rest(site.total), site.totalCount ? ' in ' + plural(site.totalCount, 'object', 'objects') : '', site.total > 0 ? '; ' + percent(site.live, site.total) + ' of it was never freed' : '');
	pair(facts, 'Samples', count(site.samples));
	pair(facts, 'Memory context', site.context === null ? 'none' : quoted(site.context), site.lifetime ? ', lifetime ' + site.lifetime : '');
	if (site.routine) pair(facts, 'Routine', quoted(site.routine));
	if (site.first !== null) pair(facts, 'Sampled', moment(page.origin + site.first) + ' to ' + moment(page.origin + site.last));
	const stack = site.stackId === null ? [] : site.frames.map(frame => frame.text);
	const select = siteSelect(site);

	return [
		element('h3', null, quoted(site.name), element('button', { type: 'button', class: 'small', click: () => choose({ site: null }) }, 'Close')),
		facts,
		site.query === null ? '' : element('div', null, element('h4', null, 'Statement'), element('pre', { tabindex: 0 }, quoted(site.query)), copyButton('Statement', () => site.query)),
		makeAges(site),
		stack.length ? element('div', null, element('h4', null, 'Stack, the allocating function first'),
			element('ol', { class: 'stack' }, ...stack.map(text => element('li', null, quoted(text)))), copyButton('Stack', () => stack.join('\n'))) : '',
		select ? element('div', null, element('h4', null, 'The same in SQL'),
			element('pre', { tabindex: 0 }, quoted(select)), copyButton('SELECT', () => select)) : ''
	];
}

// What finds the row in pg_leakhunt_report; empty where nothing does.
function siteSelect(site) {
	if (site.stackId === null) return '';
	return 'SELECT * FROM pg_leakhunt_report(' + sourceOf() + ')\nWHERE stack_id = ' + site.stackId +
		(site.context === null ? '' : ' AND context_name = ' + sqlLiteral(site.context)) + (site.queryId ? ' AND query_id = ' + site.queryId : '') + ';';
}

// When it allocated what it holds, as bars: what is left is filled.
function makeAges(site) {
	if (!site.ages.length) return '';
	const bars = element('ol', { class: 'ages' });
	const most = Math.max(...site.ages.filter((_, i) => i % 5 === 4), 1);

	for (let i = 0; i < site.ages.length; i += 5) {
		const [from, until, live, error, total] = site.ages.slice(i, i + 5);
		const all = element('span', { class: 'all' }), left = element('span', { class: 'left' });

		all.style.width = 100 * total / most + '%';
		left.style.width = 100 * Math.min(live, total) / most + '%';
		bars.append(element('li', null,
			element('span', { class: 'when' }, clock(page.origin + from) + ' to ' + clock(page.origin + until)),
			element('span', { class: 'bar', 'aria-hidden': 'true' }, all, left),
			element('span', null, estimate(live, error) + ' left of ' + size(total))));
	}
	return element('div', null, element('h4', null, 'When it was allocated'), bars);
}
