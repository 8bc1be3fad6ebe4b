// The page of the server: its processes, what they are suspected of, and the statements
// that took most.

const HOUR = 3600e6;

// Growth of less time than this is not told per hour.
const RATE_TIME = 300e6;

function processName(process) {
	return [process.pid, process.backend_type, process.application_name].filter(Boolean).join(', ');
}

// What is alike in each process that has this cause: a place in C counts without the number of its
// call sites.
function commonCause(finding) {
	return finding.kind?.startsWith('SITE_') && finding.site_words ? finding.site_words + ' in ' + finding.context_name : finding.cause;
}

// What processes are suspected of, over all of them; alike as in pg_leakhunt_explain.  What
// processes that have crashed held is gone, and stands by itself.

function findCauses() {
	const found = new Map();

	for (const process of page.processes) {
		for (const finding of process.findings) {
			const key = finding.verdict + ' ' + commonCause(finding) + (process.crash ? ' crashed' : '');
			const cause = found.get(key) || { verdict: finding.verdict, cause: finding.cause, about: finding.about, crashed: Boolean(process.crash), bytes: 0, error: 0, rates: [], processes: [] };

			cause.bytes += finding.bytes;
			cause.error = Math.hypot(cause.error, finding.error_bytes);
			if (finding.bytes_per_hour !== null && !process.crash) cause.rates.push(finding);
			if (!cause.processes.includes(process)) cause.processes.push(process);
			found.set(key, cause);
		}
	}
	return [...found.values()].sort((a, b) => b.bytes - a.bytes);
}

// The growth of a cause: what it gained, in what time, and how fast.  Null where nothing
// of it grows.
function growthOf(cause) {
	if (!cause.rates.length) return null;
	const sum = figure => cause.rates.reduce((total, rate) => total + figure(rate), 0);

	return {
		bytes: Math.round(sum(rate => rate.bytes_per_hour * rate.rate_us / HOUR)), perHour: sum(rate => rate.bytes_per_hour),
		us: Math.max(...cause.rates.map(rate => rate.rate_us)), least: Math.min(...cause.rates.map(rate => rate.rate_us))
	};
}

// What is known of seconds says nothing of an hour.
function growthWords(growth) {
	if (growth === null) return '';
	return growth.least >= RATE_TIME ? signedSize(growth.perHour) + ' per hour' : signedSize(growth.bytes) + ' in ' + duration(growth.us);
}

function verdictWords(verdicts) {
	return element('ul', { class: 'kinds' }, ...[...new Set(verdicts)]
		.map(verdict => element('li', null, verdictChip(verdict), ' ', page.verdicts[verdict].meaning)));
}

// What a process had as its own over time, and has now: its last point may be long ago.
function courseOf(process) {
	return process.before.map((before, i) => ({ before: before, kilobytes: process.own_kb[i] }))
		.concat(process.own_bytes === null || process.crash ? [] : [{ before: 0, kilobytes: Math.round(process.own_bytes / 1024) }]);
}

// A small chart of what a process had as its own.
function sparkline(process) {
	const plot = drawn('svg', { class: 'spark', width: 120, height: 24, viewBox: '0 0 120 24', 'aria-hidden': 'true' });

	if (!process.before || process.before.length < 2) return plot;
	const course = courseOf(process);
	const most = course.reduce((most, point) => Math.max(most, point.kilobytes), 1);
	const first = course[0].before;
	const last = course[course.length - 1].before;
	const points = course.map(point => ((first - point.before) / Math.max(1, first - last) * 118 + 1).toFixed(1) + ',' +
		(22 - point.kilobytes / most * 20).toFixed(1));

	plot.append(drawn('polygon', { class: 'spark-area', points: '1,23 ' + points.join(' ') + ' 119,23' }),
		drawn('polyline', { class: 'spark-line', points: points.join(' ') }));
	return plot;
}

function makeServer() {
	const pid = Number(new URLSearchParams(location.hash.slice(1)).get('pid'));
	const main = document.getElementById('page');
	const detail = element('div', { id: 'detail', class: 'detail', tabindex: -1, hidden: true });
	const table = makeProcessTable(process => openProcess(table, detail, process));
	// the largest causes come first; the table has all of them
	const causes = page.sentences.filter((_, i) => page.sentence_ids[i] === 'server_verdict');
	const sentences = page.sentences.filter((_, i) => !['server_verdict', 'server_more'].includes(page.sentence_ids[i]));

	main.querySelector('h1').after(element('p', { class: 'facts' }, element('span', null, 'as of ' + moment(page.at)),
		element('span', null, 'PostgreSQL ' + Math.floor(page.pg_version / 10000) + '.' + page.pg_version % 10000),
		element('span', null, plural(page.processes.length, 'process', 'processes'))));
	document.getElementById('plain').replaceWith(section('words', 'What pg_leakhunt says',
		...(causes.length ? [element('article', { class: 'card found' }, ...causes.map(words => element('p', null, quoted(words, 'span'))))] : []),
		...sentences.map(words => element('p', null, quoted(words, 'span'))),
		element('p', { class: 'tools' }, copyButton('These words', () => page.sentences.join('\n')),
			copyButton('SELECT', () => 'SELECT * FROM pg_leakhunt_explain();')), ...redactedNote()));
	const footer = makeHelp('Figures',
		element('p', { class: 'note' }, 'Own memory is the private memory of a process as the kernel tells it. What was sampled is an estimate: the figure behind +/- is its 95% error bound. ' +
			'This page fetches nothing, and says nothing that a SELECT does not say, too.'));

	main.append(makeCauses(table), ...makeMemory(), makeHeat(process => openProcess(table, detail, process)),
		section('processes', 'Processes', detail, table.element), makeStatements(), footer, news, hover);
	main.querySelector('h1').append(themeButton());
	sortTable(table);
	openProcess(table, detail, page.processes.find(process => process.pid === pid) || null, true);
}

function makeCauses(processes) {
	const causes = findCauses();
	const table = makeTable({
		id: 'causes-table', label: 'Causes over all sessions', sorted: 2, rows: () => causes,
		open: cause => {
			processes.only = processes.only === cause ? null : cause;
			chooseRow(table, processes.only);
			processes.shown = TABLE_STEP;
			sortTable(processes);
			document.getElementById('processes').scrollIntoView({ block: 'nearest' });
		},
		columns: [
			{ title: 'Cause', key: 'cause', value: cause => cause.about, show: cause => cause.about },
			{ title: 'Verdict', key: 'verdict', value: cause => cause.verdict, show: cause => cause.verdict, node: cause => verdictChip(cause.verdict) },
			{ title: 'Bytes', key: 'bytes', number: true, value: cause => cause.bytes, order: cause => cause.crashed ? cause.bytes - Number.MAX_SAFE_INTEGER : cause.bytes, show: cause => estimate(cause.bytes, cause.error), errorKey: 'error_bytes', error: cause => cause.error },
			{
				title: 'Processes', key: 'processes', number: true, value: cause => cause.processes.length,
				show: cause => count(cause.processes.length) + (cause.crashed ? ' crashed' : '')
			},
			{ title: 'Largest process', key: 'largest_process', value: cause => processName(cause.processes[0]), show: cause => processName(cause.processes[0]) },
			{
				title: 'Growth', key: 'growth_bytes', number: true, show: cause => growthWords(growthOf(cause)),
				value: cause => growthOf(cause)?.bytes ?? null, order: cause => growthOf(cause)?.perHour ?? null,
				errorKey: 'growth_seconds', error: cause => growthOf(cause) ? growthOf(cause).us / 1e6 : null
			}
		]
	});

	if (!causes.length) return section('causes', 'Causes over all sessions', element('p', { class: 'empty' }, 'There is no finding.'));
	sortTable(table);
	return section('causes', 'Causes over all sessions', element('p', { class: 'note' }, 'Choose a cause to see its processes only.'), table.element,
		verdictWords(causes.map(cause => cause.verdict)));
}

function makeProcessTable(open) {
	const table = makeTable({
		id: 'processes-table', label: 'Processes', sorted: 2, open: open,
		rows: () => table.only ? table.only.processes : page.processes,
		columns: [
			{ title: 'Process', key: 'pid', value: process => process.pid, show: process => process.pid + ' ' + (process.backend_type || '') },
			{ title: 'Application', key: 'application_name', value: process => process.application_name, show: process => process.application_name || '' },
			{ title: 'Own memory', key: 'own_bytes', number: true, value: process => process.own_bytes, show: process => process.own_bytes === null ? '' : size(process.own_bytes) },
			{ title: 'Over time', key: 'points', value: process => null, show: process => '', node: sparkline },
			{
				title: 'Verdict', key: 'verdict', value: process => process.findings.map(finding => finding.verdict + ' ' + finding.cause).join('; ') || null,
				show: () => '', node: process => element('span', null, ...process.findings.slice(0, 3).map(finding => verdictChip(finding.verdict)))
			},
			{
				title: 'Sampled', key: 'live_bytes', number: true, value: process => process.live_bytes === undefined ? null : process.live_bytes,
				show: process => process.live_bytes === undefined ? '' : estimate(process.live_bytes, process.error_bytes),
				errorKey: 'error_bytes', error: process => process.error_bytes
			},
			{ title: 'User', key: 'username', value: process => process.username, show: process => process.username || '' },
			{ title: 'Database', key: 'database', value: process => process.database, show: process => process.database || '' },
			{ title: 'State', key: 'state', value: process => process.crash || process.state, show: process => process.crash ? 'crashed' : process.state || '' }
		]
	});

	return table;
}

function openProcess(table, detail, process, quietly) {
	const again = process !== null && table.chosen === process;
	const shown = again ? null : process;

	chooseRow(table, shown);
	detail.hidden = shown === null;
	try {
		if (!quietly) history.replaceState(null, '', shown ? '#pid=' + shown.pid : '#');
	} catch (error) {
		// a page in a frame of a mail reader has no address to change
	}
	if (!shown) return;
	const select = 'SELECT pg_leakhunt_page(' + shown.pid + ');';

	detail.replaceChildren(
		element('h3', null, quoted(processName(shown)), element('button', { type: 'button', class: 'small', click: () => openProcess(table, detail, shown) }, 'Close')),
		...(shown.sentences.length ? makeCards(shown) : [element('p', { class: 'note' },
			'It is like others of which the words are here, or there was no room for more.'),
		...shown.findings.map(finding => element('p', null, verdictChip(finding.verdict), ' ', quoted(finding.cause, 'span')))]),
		element('h4', null, 'All of it'), element('pre', { tabindex: 0 }, quoted(select)), copyButton('SELECT', () => select));
	if (!quietly) {
		detail.scrollIntoView({ block: 'nearest' });
		detail.focus({ preventScroll: true });
	}
}

// What held most at the highest peak: one call site, or the function that leads to most of them.
function heldMost(row) {
	if (row.shared_frame)
		return row.shared_percent + '% in ' + row.shared_frame + ' and functions that it calls';
	return row.site ? row.site + (row.context_name ? ' in ' + row.context_name : '') : '';
}

function makeStatements() {
	const table = makeTable({
		id: 'statements-table', label: 'Statements with the highest peaks', sorted: 1, rows: () => page.statements,
		columns: [
			{ title: 'Statement', key: 'query', wide: true, value: row => row.query, show: row => row.query === null ? 'not known' : row.query },
			{ title: 'Highest peak', key: 'max_peak_bytes', number: true, value: row => row.max_peak_bytes, show: row => estimate(row.max_peak_bytes, row.error_bytes), errorKey: 'error_bytes', error: row => row.error_bytes },
			{ title: 'Allowed', key: 'allowed_bytes', number: true, value: row => row.allowed_bytes, show: row => size(row.allowed_bytes) },
			{ title: 'Mean peak', key: 'mean_peak_bytes', number: true, value: row => row.mean_peak_bytes, show: row => size(row.mean_peak_bytes) },
			{ title: 'Calls', key: 'calls', number: true, value: row => row.calls, show: row => count(row.calls) },
			{ title: 'Beyond', key: 'calls_beyond', number: true, value: row => row.calls_beyond, show: row => count(row.calls_beyond) },
			{ title: 'Kept', key: 'kept_bytes', number: true, value: row => row.kept_bytes, show: row => size(row.kept_bytes) },
			{ title: 'Held most', key: 'site', value: row => row.shared_frame || row.site || null, show: heldMost },
			{ title: 'User', key: 'username', value: row => row.username, show: row => row.username || '' },
			{ title: 'Database', key: 'database', value: row => row.database, show: row => row.database || '' }
		]
	});

	if (!page.statements.length)
		return section('statements', 'Statements with the highest peaks', element('p', { class: 'empty' }, 'No statement took pg_leakhunt.statement_min_bytes yet.'));
	sortTable(table);
	return section('statements', 'Statements with the highest peaks',
		element('p', { class: 'note' }, 'Over all sessions, ended ones included, as in pg_leakhunt_statements. Allowed is what settings allowed a node of its plan; beyond counts the calls that took more than twice as much.'),
		table.element);
}
