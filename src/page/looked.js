// The page of what pg_leakhunt_look has seen: processes from outside, or statistics in a text.
// There are no call sites, and nothing was sampled.

const LOOKED_COLUMNS = ['context_name', 'instances', 'context_bytes', 'examples'];

function lookedAreas(process) {
	return contextAreas(process.contexts).map(area => Object.assign(area, { used: area.bytes }))
		.concat(process.outside_bytes > 0 ? [outsideArea(process.outside_bytes)] : [])
		.sort((a, b) => b.bytes - a.bytes);
}

function makeLookedContexts(process, index) {
	const areas = lookedAreas(process);
	const table = makeTable({
		id: 'contexts-' + index, label: 'Memory contexts', sorted: LOOKED_COLUMNS.indexOf('context_bytes'),
		rows: () => process.contexts, columns: CONTEXT_COLUMNS.filter(column => LOOKED_COLUMNS.includes(column.key))
	});

	sortTable(table);
	return section('memory-' + index, process.title,
		leftOutNote(process.contexts_left_out),
		makeTreemap(areas, 'There is no memory context.'), makeAreaLegend(areas), table.element);
}

function makeLooked() {
	const main = document.getElementById('page');
	const words = page.parts.map(lines => element('article', { class: 'card' },
		...lines.map(line => element('p', { class: line.startsWith('Next: ') ? 'next' : null }, quoted(line, 'span')))));

	document.getElementById('plain').replaceWith(section('words', 'What pg_leakhunt_look says', ...words,
		element('p', { class: 'tools' }, copyButton('These words', () => page.parts.map(lines => lines.join('\n')).join('\n\n')))));
	page.processes.forEach((process, index) => {
		main.append(makeLookedContexts(process, index), makeHolders(process.proof, null));
	});
	main.append(news, hover);
	main.querySelector('h1').append(themeButton());
}
