// The flame graph as a tree: the same figures, for those who read or use keys.

const TREE_STEP = 200;	// the most children of a node that are shown at once

function makeTreeTable() {
	const body = element('tbody', { keydown: treeKey });
	const table = element('table', { role: 'treegrid', class: 'tree', 'aria-label': 'Call tree' },
		element('thead', null, element('tr', null,
			...['Function', 'Bytes', '+/-', 'Part', 'Binary'].map((title, i) =>
				element('th', { scope: 'col', class: i > 0 && i < 4 ? 'number' : null }, title)))), body);

	return element('div', { id: 'tree', class: 'scroll', hidden: true, tabindex: -1 }, table);
}

function fillTree() {
	const body = document.querySelector('#tree tbody');

	body.replaceChildren(treeRow(graph.root));
	expand(body.firstChild);
	let row = body.firstChild;

	// down to where it branches
	while (childrenOf(row.node).length === 1 && row.nextSibling) {
		row = row.nextSibling;
		expand(row);
	}
	body.firstChild.tabIndex = 0;
}

function treeRow(node) {
	const measure = MEASURES[state.measure];
	const error = errorOfSum(node, state.measure);
	const leaf = !childrenOf(node).length;
	const name = element('td', null, element('span', { class: 'twist', 'aria-hidden': 'true' }, leaf ? '' : '\u25b8'), quoted(node.text));
	const row = element('tr', {
		role: 'row', 'aria-level': node.depth + 1, 'aria-expanded': leaf ? null : 'false', tabindex: -1,
		click: () => {
			moveTree(row);
			if (row.getAttribute('aria-expanded') === 'true') collapse(row);
			else expand(row);
		}
	}, name,
	element('td', { class: 'number' }, measure.signed ? signedSize(node.bytes) : size(node.bytes)),
	element('td', { class: 'number' }, error === null ? 'not known' : error > 0 ? size(error) : 'exact'),
	element('td', { class: 'number' }, percent(node.width, graph.root.width)),
	element('td', null, node.frame.module ? quoted(node.frame.module) : ''));

	name.style.paddingLeft = Math.min(node.depth, 40) * 14 + 6 + 'px';
	row.node = node;
	if (graph.matched.has(node)) row.classList.add('matched');
	if (graph.marked.has(node) && node.parent) row.classList.add('marked');
	return row;
}

function expand(row) {
	if (row.getAttribute('aria-expanded') !== 'false') return;
	const children = childrenOf(row.node);

	row.setAttribute('aria-expanded', 'true');
	row.querySelector('.twist').textContent = '\u25be';
	row.after(...children.slice(0, TREE_STEP).map(treeRow));
}

function collapse(row) {
	if (row.getAttribute('aria-expanded') !== 'true') return;
	row.setAttribute('aria-expanded', 'false');
	row.querySelector('.twist').textContent = '\u25b8';
	while (row.nextSibling && row.nextSibling.node.depth > row.node.depth) row.nextSibling.remove();
}

function moveTree(row) {
	if (!row) return;
	for (const other of row.parentNode.querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
	row.tabIndex = 0;
	row.focus();
	graph.current = row.node;
	if (!childrenOf(row.node).length) chooseSiteOf(row.node);
}

function treeKey(event) {
	const row = event.target.closest('tr');

	if (event.ctrlKey || event.metaKey || event.altKey || !row) return;
	const open = row.getAttribute('aria-expanded');
	const parent = () => {
		let at = row.previousSibling;

		while (at && at.node.depth >= row.node.depth) at = at.previousSibling;
		return at;
	};

	switch (event.key) {
		case 'ArrowDown': moveTree(row.nextSibling); break;
		case 'ArrowUp': moveTree(row.previousSibling); break;
		case 'ArrowRight': if (open === 'false') expand(row); else moveTree(row.nextSibling); break;
		case 'ArrowLeft': if (open === 'true') collapse(row); else moveTree(parent()); break;
		case 'Home': moveTree(row.parentNode.firstChild); break;
		case 'End': moveTree(row.parentNode.lastChild); break;
		case 'Enter': if (open === 'true') collapse(row); else expand(row); break;
		case 'x': hideNode(row.node); break;
		default: return;
	}
	event.preventDefault();
}
