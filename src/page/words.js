// What pg_leakhunt says, before any picture: the sentences of pg_leakhunt_explain.

// The lines from a verdict to what to do next are one card.  Cards come first: a reader who
// looks for ten seconds is to see them.
function makeCards(told) {
	const verdicts = ['verdict', 'no_verdict', 'no_verdict_yet'];
	const findings = told.findings.slice();
	const parts = [];
	let card = null;

	told.sentences.forEach((sentence, i) => {
		const id = told.sentence_ids[i];

		if (verdicts.includes(id)) {
			card = element('article', { class: 'card' }, id === 'verdict' ? findingHeading(findings.shift()) : doubtHeading(told.doubt));
			parts.push(card);
		} else if (card && id === 'next') {
			card.append(element('p', { class: 'next' }, quoted(sentence, 'span')));
			card = null;
		} else {
			(card || { append: p => parts.push(p) }).append(element('p', null, quoted(sentence, 'span')));
		}
	});
	return parts.filter(part => part.tagName === 'ARTICLE').concat(parts.filter(part => part.tagName !== 'ARTICLE'));
}

function verdictChip(verdict) {
	const known = page.verdicts[verdict];

	return element('span', { class: 'verdict', 'data-verdict': verdict, 'data-tone': known ? known.tone : 'none' }, verdict);
}

function findingHeading(finding) {
	return element('h3', null, verdictChip(finding.verdict), ' ', quoted([finding.cause + '.', finding.share].filter(Boolean).join(' '), 'span'));
}

function doubtHeading(doubt) {
	return element('h3', null, verdictChip(doubt.is_undecided ? 'none yet' : 'none'), ' ', quoted(doubt.words, 'span'));
}

function makeWordTools(told) {
	return element('p', { class: 'tools' },
		copyButton('These words', () => told.sentences.join('\n')),
		copyButton('SELECT', () => 'SELECT explanation FROM pg_leakhunt_explain(' + sourceOf() + ');'));
}

function makeWords() {
	const told = page.explanation;
	const words = section('words', 'What pg_leakhunt says', makeAnswers(), ...makeCards(told), makeWordTools(told), ...redactedNote());

	if (page.unseen.length)
		words.append(element('div', { class: 'unseen-part' },
			element('h3', null, 'What samples do not show'),
			element('ul', null, ...page.unseen.map(text => element('li', null, quoted(text, 'span'))))));
	return words;
}

// What a page without names and literals has still, which whoever sends it should know.
function redactedNote() {
	return page.redacted ? [element('p', { class: 'note redacted' }, 'Redacted: roles, databases and applications are letters, and statements have no literals. ' +
		'Names of schemas, tables, columns, functions, settings and memory contexts are left in.')] : [];
}

function sqlLiteral(text) {
	return "'" + text.replace(/'/g, "''") + "'";
}

// The process or dump of the page, as an argument in SQL.
function sourceOf() {
	return page.file === null ? String(page.pid) : sqlLiteral(page.file);
}

// Who it is, in one line under the title.
function makeFacts() {
	const told = page.explanation;
	const known = [['user', told.username], ['database', told.database], ['application', told.application_name]]
		.filter(([, name]) => name);
	const facts = element('p', { class: 'facts' });

	for (const [what, name] of known) facts.append(element('span', null, what + ' ', quoted(name, 'b')));
	if (page.crash) facts.append(element('span', { class: 'bad' }, quoted(page.crash, 'span')));
	facts.append(
		element('span', null, (page.file ? 'dump of ' : page.crash ? 'ended ' : 'as of ') + moment(page.at)),
		element('span', null, 'PostgreSQL ' + Math.floor(page.pg_version / 10000) + '.' + page.pg_version % 10000));
	if (page.sampling) facts.append(element('span', null, page.sampling + ', ' + page.scope));
	return facts;
}
