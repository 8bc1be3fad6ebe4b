// Tables that sort and filter.

const TABLE_STEP = 50;	// rows are added in such steps
const CELL_TEXT = 400;	// a longer text is shortened in its middle

// A column: title, what is shown, "value" is what is saved as CSV, and what a row is sorted
// by where there is no "order".
// makeTable({ id, label, columns, rows, none, isEmpty, open, over }): "none" is said where there is
// no row; rows with nothing in what is shown come when they are asked for, or where all are such;
// "open" is called with a chosen row, "over" with the row under the pointer, or null.
function makeTable(options) {
	const table = {
		options: options, sorted: options.sorted || 1, down: options.down !== false, shown: TABLE_STEP,
		filter: '', rows: [], chosen: null, withEmpty: false
	};
	const head = element('tr');
	const body = element('tbody');
	const more = element('button', { type: 'button', class: 'small', click: () => { table.shown += 10 * TABLE_STEP; fillTable(table); } });
	const empty = element('button', { type: 'button', class: 'small', click: () => { table.withEmpty = true; fillTable(table); } });
	const said = element('span', { role: 'status', class: 'said' });
	const filter = element('input', {
		type: 'search', placeholder: 'Filter', 'aria-label': 'Filter ' + options.label,
		input: () => { table.filter = filter.value; table.shown = TABLE_STEP; sortTable(table); }
	});

	options.columns.forEach((column, i) => {
		head.append(element('th', { scope: 'col', class: column.number ? 'number' : null },
			element('button', { type: 'button', click: () => sortBy(table, i) }, column.title)));
	});
	Object.assign(table, { head: head, body: body, more: more, empty: empty, said: said });
	body.addEventListener('mouseleave', () => options.over && options.over(null));
	table.scroll = element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table: ' + options.label },
		element('table', null, element('caption', { class: 'hidden-text' }, options.label),
			element('thead', null, head), body));
	table.tools = element('div', { class: 'tools' }, filter, said,
		element('button', { type: 'button', class: 'small', click: () => saveTable(table) }, 'Save as CSV'));
	table.none = element('p', { class: 'empty', hidden: true }, options.none);
	table.element = element('div', { id: options.id, class: 'table' }, table.tools, table.none, table.scroll, more, empty);
	return table;
}

function sortBy(table, column) {
	table.down = table.sorted === column ? !table.down : Boolean(table.options.columns[column].number);
	table.sorted = column;
	sortTable(table);
}

function matchingRows(table) {
	const matches = matcher(table.filter);

	return table.options.rows().filter(row => !matches || table.options.columns.some(column =>
		!column.number && matches(String(column.value(row) === null ? '' : column.value(row)))));
}

function sortTable(table) {
	const column = table.options.columns[table.sorted];
	const value = column.order || column.value;
	const order = table.down ? -1 : 1;

	table.rows = matchingRows(table).sort((a, b) => {
		const left = value(a), right = value(b);

		// what is not known comes last
		if (left === null || right === null) return (left === null) - (right === null);
		return left < right ? -order : left > right ? order : 0;
	});
	[...table.head.children].forEach((cell, i) => {
		cell.hidden = !isColumnShown(table.options.columns[i]);
		if (i === table.sorted) cell.setAttribute('aria-sort', table.down ? 'descending' : 'ascending');
		else cell.removeAttribute('aria-sort');
	});
	fillTable(table);
}

function isColumnShown(column) {
	return !column.isShown || column.isShown();
}

// The rows that are shown, or would be if there were room.
function shownRows(table) {
	const { isEmpty } = table.options;
	const full = isEmpty && !table.withEmpty && table.filter === '' ? table.rows.filter(row => !isEmpty(row)) : table.rows;

	return full.length ? full : table.rows;
}

function fillTable(table) {
	const all = shownRows(table);
	const { columns, open, over } = table.options;

	table.body.replaceChildren(...all.slice(0, table.shown).map(row => {
		const cells = columns.map((column, i) => {
			if (!isColumnShown(column)) return null;
			const text = shorten(column.show(row), CELL_TEXT);
			const content = column.node ? column.node(row) : i === 0 && open ?
				element('button', { type: 'button', class: 'link', click: () => open(row) }, quoted(text)) :
				column.number ? text : quoted(text);

			return element(i === 0 ? 'th' : 'td', {
				scope: i === 0 ? 'row' : null, class: column.number ? 'number' : column.wide ? 'wide' : null,
				title: column.wide ? visible(String(column.value(row) || '')) : null
			}, content);
		});
		const made = element('tr', { class: table.chosen !== null && row === table.chosen ? 'chosen' : null }, ...cells);

		if (over) made.addEventListener('mouseenter', () => over(row));
		if (open) made.addEventListener('click', event => { if (!event.target.closest('button')) open(row); });
		made.row = row;
		return made;
	}));
	table.scroll.hidden = all.length === 0;
	table.tools.hidden = table.filter === '' && all.length === 0;
	table.none.hidden = !table.tools.hidden || !table.options.none;
	table.more.hidden = all.length <= table.shown;
	table.more.textContent = 'Show more of ' + count(all.length - table.shown) + ' further rows';
	table.empty.hidden = all.length === table.rows.length;
	table.empty.textContent = 'Show ' + plural(table.rows.length - all.length, 'row', 'rows') + ' with 0 bytes';
	table.said.textContent = plural(all.length, 'row', 'rows');
}

function chooseRow(table, row) {
	table.chosen = row;
	for (const made of table.body.children) made.classList.toggle('chosen', row !== null && made.row === row);
}

function saveTable(table) {
	const columns = table.options.columns;

	saveCsv(table.options.id, [columns.flatMap(column => [column.key || column.title].concat(column.errorKey || [])),
		...table.rows.map(row => columns.flatMap(column => [column.value(row)].concat(column.errorKey ? [column.error(row)] : [])))]);
}
