// What a reader wants to know who looks for ten seconds: leak or cache, who, since when.

const LITTLE_GROWTH = 1048576;

// What holds less is not worth a name where there is no finding.
const LITTLE_HELD = 16777216;

// A statement is not taken for more times as old as the oldest of what it holds.
const MOST_TIMES_OLDER = 5;

function noFinding() {
	const { is_undecided: isOpen, summary } = page.explanation.doubt || { summary: 'Findings are hidden by pg_leakhunt_suppressions.' };

	return [element('b', null, isOpen ? 'Not known yet.' : 'No finding.'), ' ', quoted(summary)];
}

function where(text) {
	return element('div', { class: 'where' }, quoted(text));
}

// Who holds memory: function and context, routine, statement.
function holderLines(holder) {
	const place = [holder.site_words, holder.context_name].filter(Boolean).join(' in ');

	return [place && where(place), holder.routine && where(holder.routine),
		holder.query && where(shorten(holder.query.replace(/\s+/g, ' '), 160))].filter(Boolean);
}

// Who has it.  Where no call site is known, what to look at first.
function whoHasIt(finding) {
	const lines = (finding.family ? [element('div', null, quoted(finding.family, 'b'))] : []).concat(holderLines(finding));

	if (finding.site || finding.context_name) return lines;
	if (lines.length === 0) lines.push(element('div', null, 'No call site is known. ', quoted(finding.loaded || finding.next_summary)));
	else if (finding.loaded) lines.push(element('div', null, quoted(finding.loaded)));
	if (!finding.loaded && finding.libraries) lines.push(element('div', null, 'Loaded by this session: ', quoted(finding.libraries, 'b'), '.'));
	return lines;
}

// Without a finding: what holds most now, or held most when the process did; null where
// that is little.
function whoHoldsMost() {
	const loaded = page.explanation.doubt && page.explanation.doubt.loaded;

	if (loaded) return [element('div', null, quoted(loaded))];
	for (const [measure, words] of [['live', 'Holds most now, as samples show:'], ['peak', 'Held most' + (page.peak_at ? ' at the peak, ' + moment(page.peak_at) : '') + ':']]) {
		const largest = model.sites.reduce((most, site) => site.stackId !== null && site[measure] > (most ? most[measure] : LITTLE_HELD) ? site : most, null);

		if (largest) return [element('div', null, words), ...holderLines({ site_words: largest.name, context_name: largest.context, routine: largest.routine, query: largest.query })];
	}
	return null;
}

// Since when the call sites of a finding hold what they do: their first sample.  Null where
// there is none.
function beginOf(finding) {
	const sites = model.sites.filter(site => site.first !== null && site.name === finding.site && site.context === finding.context_name);

	if (!sites.length) return null;
	const first = Math.min(...sites.map(site => site.first));

	return finding.verdict === 'query' && beginOfStatement(sites, first) || { at: first, words: ', its first sample, ' };
}

// The first sample of a statement may be of an earlier run: so what it holds is asked how old
// it is.  What grows by doubling is as young as its last copy: then own memory began to rise
// before that.
function beginOfStatement(sites, first) {
	const ages = sites.flatMap(site => site.ages.filter((_, i) => i % 5 === 0 && site.ages[i + 2] > 0));

	if (!ages.length) return null;
	const oldest = Math.min(...ages);
	const now = page.at - page.origin;
	const rise = ownRise();

	return rise && rise.grown >= LITTLE_GROWTH && rise.from.at >= first && rise.from.at < oldest && now - rise.from.at <= MOST_TIMES_OLDER * (now - oldest) ?
		{ at: rise.from.at, words: ', when own memory began to rise, ' } : { at: oldest, words: ', the oldest of what it holds, ' };
}

// The points of a series of the history that are known, and what was counted after these.
function pointsOf(series, counted) {
	const points = page.history.at.map((time, i) => ({ at: time, bytes: series[i] })).filter(point => point.bytes !== null);
	const at = page.counted_at === null ? -1 : page.counted_at - page.origin;

	if (counted !== null && points.length && at > points[points.length - 1].at) points.push({ at: at, bytes: counted });
	return points;
}

// The part of a series in which it rose to its most: it ends where it went on at less than
// a quarter of that rate.  Null of less than two points.
function findRise(points) {
	if (points.length < 2) return null;
	const most = Math.max(...points.map(point => point.bytes));
	const top = points.find(point => point.bytes === most);
	const before = points.slice(0, points.indexOf(top) + 1);
	const least = Math.min(...before.map(point => point.bytes));
	const begin = before.filter(point => point.bytes <= least + 0.05 * (most - least)).pop();
	const rate = (from, to) => (to.bytes - from.bytes) / Math.max(1, to.at - from.at);
	const end = before.find(point => point.at > begin.at && point.bytes >= least + 0.5 * (most - least) && rate(point, top) < rate(begin, point) / 4);

	return { from: begin, to: end || top, last: points[points.length - 1], first: points[0], grown: most - least };
}

function ownRise() {
	const now = presentPoint();

	return findRise(pointsOf(page.history.own, page.totals.counted_own_bytes).concat(now ? [{ at: now.at, bytes: now.own }] : []));
}

// How that rose which a finding without samples is on; null where the history does not tell.
function partRise(finding) {
	const { own, contexts, malloc, malloc_free } = page.history;
	const family = finding.family;
	const followed = family && page.families.find(part => part.name === family || 'contexts named ' + part.name === family);
	const outside = i => malloc[i] === null || contexts[i] === null ? null : Math.max(0, malloc[i] - contexts[i]);
	const elsewhere = i => outside(i) === null || own[i] === null ? null : Math.max(0, own[i] - Math.max(malloc[i], contexts[i]) - (malloc_free[i] || 0));
	const points = followed ? pointsOf(followed.bytes, null) :
		finding.verdict === 'malloc' ? pointsOf(own.map((_, i) => outside(i)), page.totals.outside_bytes) :
			finding.verdict === 'mapped' ? pointsOf(own.map((_, i) => elsewhere(i)), page.totals.other_bytes) : [];
	const rise = findRise(points);

	return rise && rise.grown >= LITTLE_GROWTH ? rise : null;
}

// "from 12 MB at ... to 103 MB at ...", and what it was in the end, where that differs.
function riseWords({ from, to, last }) {
	const day = point => clock(page.origin + point.at, true).slice(0, 10);
	const time = point => clock(page.origin + point.at, day(point) !== day(from));

	return 'from ' + size(from.bytes) + ' at ' + clock(page.origin + from.at, true) + ' to ' + size(to.bytes) + ' at ' + time(to) +
		(Math.abs(last.bytes - to.bytes) < 0.1 * to.bytes ? '' : ', and was ' + size(last.bytes) + ' at ' + time(last)) + '.';
}

function ownWords(finding) {
	const rise = ownRise();

	if (!rise) return null;
	if (rise.grown >= LITTLE_GROWTH) return 'Own memory rose ' + riseWords(rise);
	return 'Own memory has hardly changed since ' + clock(page.origin + rise.first.at, true) + ', when it was noted first: it ' + (page.alive ? 'is ' : 'was ') + size(rise.last.bytes) + '.' +
		(finding && finding.bytes > 2 * rise.last.bytes ? ' Most of what was allocated was never written to, and takes none.' : '');
}

function sinceWhen(finding) {
	const begin = finding ? beginOf(finding) : null;
	const part = finding && !begin ? partRise(finding) : null;
	const own = ownWords(finding);
	const lines = [];

	if (begin)
		lines.push(element('div', null, element('b', null, 'Since ' + moment(page.origin + begin.at)), begin.words,
			duration(page.at - page.origin - begin.at) + ' before ' + (page.file ? 'the dump' : page.crash ? 'its end' : 'this page') + '.'));
	if (part) lines.push(element('div', null, element('b', null, 'Since ' + moment(page.origin + part.from.at)), ': it rose ' + riseWords(part)));
	if (own) lines.push(element('div', null, own));
	return lines.length ? lines : [element('div', null, 'Not known: there is no history.')];
}

function makeAnswers() {
	const [largest, ...others] = page.explanation.findings;
	const answers = element('dl', { class: 'answers' });
	const answer = (question, ...lines) => answers.append(element('div', null, element('dt', null, question), element('dd', null, ...lines)));

	answer('Leak or cache?', ...(largest ? [element('b', null, largest.answer)] : noFinding()),
		others.length ? element('div', null, 'The largest of ' + count(others.length + 1) + ' findings.') : null);
	const who = largest ? whoHasIt(largest) : whoHoldsMost();

	if (who) answer('Who?', ...who);
	answer('Since when?', ...sinceWhen(largest));
	return answers;
}
