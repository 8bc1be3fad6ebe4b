// What a reader wants to know who looks for ten seconds: leak or cache, who, since when.

const KINDS = {
	leak: 'A leak: it was allocated again and again, and is not freed.',
	growing: 'Not sure yet: it grows, as a leak does, or a cache that still fills.',
	held: 'Kept, not growing steadily: a cache, or what was forgotten once.',
	contexts: 'Objects that pile up: memory contexts of one kind, not freed.',
	query: 'Neither: the memory of one statement or transaction, freed at its end.',
	malloc: 'Memory outside of memory contexts that a library has not given back.',
	mapped: 'Memory that is mapped: neither memory contexts nor malloc have it.',
	freed: 'Neither: it has been freed, and malloc keeps it.'
};

const LITTLE_GROWTH = 1048576;

// What is said where there is no finding.
function noFinding() {
	const verdict = page.explanation.sentences.find(sentence => sentence.startsWith('Verdict: none')) || '';

	return [element('b', null, 'No finding.'), ' ', verdict.replace(/^Verdict: none( yet)?\. ?/, '')];
}

// The words for a finding: the judge knows PostgreSQL's caches, and says so.
function kindOf(finding) {
	return finding.verdict === 'growing' && finding.evidence.includes('This is no leak.') ? 'A cache of PostgreSQL that still fills.' :
		KINDS[finding.verdict] || finding.verdict;
}

// What a family of memory contexts is for, as the heading of its card says.
function familyOf(finding) {
	const [, verdict, family] = /^Verdict: (\w+) \((.*?)\)\./.exec(page.explanation.sentences.find(sentence => sentence.startsWith('Verdict:'))) || [];

	return verdict === finding.verdict && ['contexts', 'growing'].includes(verdict) ? family : null;
}

// Who has it: family of contexts, function and context, routine, statement.  Where no call
// site is known, what to look at first.
function whoHasIt(finding) {
	const family = familyOf(finding);
	const lines = family ? [element('div', null, quoted(family, 'b'))] : [];
	const where = [finding.site, finding.context_name].filter(Boolean).join(' in ');

	if (where) lines.push(element('div', { class: 'where' }, quoted(where)));
	if (finding.routine) lines.push(element('div', { class: 'where' }, quoted(finding.routine)));
	if (finding.query) lines.push(element('div', { class: 'where' }, quoted(shorten(finding.query.replace(/\s+/g, ' '), 160))));
	return lines.length ? lines : [element('div', null, 'No call site is known. ', quoted((/^.*?\.(?= [A-Z])/.exec(finding.next) || [finding.next])[0]))];
}

// When the call site of a finding was sampled first; null where it has none.
function firstSampleOf(finding) {
	const times = model.sites
		.filter(site => site.first !== null && site.name === finding.site && site.context === finding.context_name)
		.map(site => site.first);

	return times.length ? Math.min(...times) : null;
}

// The part of the history in which own memory rose to its most, and what it is now.
function findRise() {
	const { at, own } = page.history;
	const points = at.map((time, i) => ({ at: time, own: own[i] })).filter(point => point.own !== null);
	const now = presentPoint();

	if (now) points.push(now);
	if (points.length < 2) return null;
	const most = Math.max(...points.map(point => point.own));
	const top = points.findIndex(point => point.own >= 0.95 * most);
	const before = points.slice(0, top + 1);
	const least = Math.min(...before.map(point => point.own));
	const begin = before.filter(point => point.own <= least + 0.05 * (most - least)).pop();

	return { from: begin, to: points[top], last: points[points.length - 1] };
}

function riseWords() {
	const rise = findRise();

	if (!rise) return null;
	const { from, to, last } = rise;

	if (to.own - from.own < LITTLE_GROWTH)
		return 'Own memory has hardly changed: ' + size(last.own) + '.';
	return 'Own memory rose from ' + size(from.own) + ' at ' + clock(page.origin + from.at, true) + ' to ' + size(to.own) + ' at ' +
		clock(page.origin + to.at) + (Math.abs(last.own - to.own) < 0.1 * to.own ? '' : ', and was ' + size(last.own) + ' at ' + clock(page.origin + last.at)) + '.';
}

function sinceWhen(finding) {
	const first = finding ? firstSampleOf(finding) : null;
	const lines = [];

	if (first !== null)
		lines.push(element('div', null, element('b', null, 'Since ' + moment(page.origin + first)), ', its first sample, ' + duration(page.at - page.origin - first) + ' before ' + (page.file ? 'the dump' : page.crash ? 'its end' : 'this page') + '.'));
	const rise = riseWords();

	if (rise) lines.push(element('div', null, rise));
	return lines.length ? lines : [element('div', null, 'Not known: there is no history.')];
}

function makeAnswers() {
	const [largest, ...others] = page.explanation.findings;
	const answers = element('dl', { class: 'answers' });
	const answer = (question, ...lines) => answers.append(element('div', null, element('dt', null, question), element('dd', null, ...lines)));

	answer('Leak or cache?', ...(largest ? [element('b', null, kindOf(largest))] : noFinding()),
		others.length ? element('div', null, 'The largest of ' + count(others.length + 1) + ' findings.') : null);
	if (largest) answer('Who?', ...whoHasIt(largest));
	answer('Since when?', ...sinceWhen(largest));
	return answers;
}
