// What the memory of the server's control group consists of: the rows of pg_leakhunt_memory.

// How many parts a part is in.
function levelOf(part) {
	return part.part_of === null ? 0 : levelOf(page.memory.parts[part.part_of - 1]) + 1;
}

function isWithin(part) {
	return part.number === 1 || levelOf(part) > 0;
}

// How much of all that is used it is, as a bar.
function shareBar(part) {
	const share = Math.max(0, Math.min(1, part.bytes / page.memory.used_bytes));

	return drawn('svg', { class: 'share', width: 100, height: 10, viewBox: '0 0 100 10', 'aria-hidden': 'true' },
		drawn('rect', { class: 'share-all', width: 100, height: 10 }),
		drawn('rect', { class: 'share-part', width: (100 * share).toFixed(1), height: 10 }));
}

function memoryRow(part) {
	const isPart = isWithin(part);

	return element('tr', null,
		element('th', { scope: 'row', class: 'level-' + Math.min(4, levelOf(part)) }, quoted(part.title, 'span')),
		element('td', { class: 'number' }, part.bytes === null ? 'none' : size(part.bytes)),
		element('td', null, isPart ? shareBar(part) : null, isPart ? ' ' + percent(part.bytes, page.memory.used_bytes) : null),
		element('td', { class: 'number' }, part.processes ? count(part.processes) : ''),
		element('td', null, part.detail || ''));
}

// The section, in a list that is empty where the reader does not see all processes.
function makeMemory() {
	if (!page.memory || !page.memory.parts.length) return [];
	const head = element('tr', null, ...['Part', 'Size', 'Of all', 'Processes', 'What it is']
		.map((title, i) => element('th', { scope: 'col', class: i === 1 || i === 3 ? 'number' : null }, title)));
	const table = element('table', null, element('caption', { class: 'hidden-text' }, 'What the memory consists of'),
		element('thead', null, head), element('tbody', null, ...page.memory.parts.map(memoryRow)));

	return [section('container', 'What the memory consists of',
		element('p', { class: 'note' }, 'Parts add up to the row that they are further in than. Limits are the last rows.'),
		element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table: What the memory consists of' }, table),
		element('p', { class: 'tools' }, copyButton('SELECT', () => 'SELECT * FROM pg_leakhunt_memory();')))];
}
