// Trees as rows that open and close: the call tree, which has the same figures as the
// flame graph, for those who read or use keys; and the tree of what is held.
//
// A tree tells of a node its children and what its row has behind its name; what is to be
// done when a row is chosen, or its node is taken out; and what else a row shows.

const TREE_STEP = 200;	// the most children of a node that are shown at once

// Columns are pairs: a title, and whether it is of figures.
function makeTreeGrid(id, label, columns) {
	const body = element('tbody', { keydown: treeKey });
	const table = element('table', { role: 'treegrid', class: 'tree', 'aria-label': label },
		element('thead', null, element('tr', null,
			...columns.map(([title, isNumber]) => element('th', { scope: 'col', class: isNumber ? 'number' : null }, title)))), body);

	return element('div', { id: id, class: 'scroll', tabindex: -1 }, table);
}

// Show a tree from its root, which is open.
function plantTree(grid, tree, root) {
	const body = grid.querySelector('tbody');

	body.replaceChildren(treeRow(tree, root));
	expand(body.firstChild);
	body.firstChild.tabIndex = 0;
	return body.firstChild;
}

function treeRow(tree, node) {
	const leaf = !tree.children(node).length;
	const name = element('td', null, element('span', { class: 'twist', 'aria-hidden': 'true' }, leaf ? '' : '\u25b8'), quoted(node.text));
	const row = element('tr', {
		role: 'row', 'aria-level': node.depth + 1, 'aria-expanded': leaf ? null : 'false', tabindex: -1,
		click: () => {
			moveTree(row);
			if (row.getAttribute('aria-expanded') === 'true') collapse(row);
			else expand(row);
		}
	}, name, ...tree.cells(node));

	name.style.paddingLeft = Math.min(node.depth, 40) * 14 + 6 + 'px';
	row.tree = tree;
	row.node = node;
	if (tree.furnish) tree.furnish(row, node);
	return row;
}

function figure(text) {
	return element('td', { class: 'number' }, text);
}

// The call tree.
const callTree = {
	children: node => childrenOf(node),
	cells: node => {
		const measure = MEASURES[state.measure];
		const error = errorOfSum(node, state.measure);

		return [figure(measure.signed ? signedSize(node.bytes) : size(node.bytes)),
			figure(error === null ? 'not known' : error > 0 ? size(error) : 'exact'),
			figure(percent(node.width, graph.root.width)),
			element('td', null, node.frame.module ? quoted(node.frame.module) : '')];
	},
	furnish: (row, node) => {
		if (graph.matched.has(node)) row.classList.add('matched');
		if (graph.marked.has(node) && node.parent) row.classList.add('marked');
	},
	chosen: node => {
		graph.current = node;
		if (!childrenOf(node).length) chooseSiteOf(node);
	},
	removed: node => hideNode(node)
};

function makeTreeTable() {
	const grid = makeTreeGrid('tree', 'Call tree', [['Function'], ['Bytes', true], ['+/-', true], ['Part', true], ['Binary']]);

	grid.hidden = true;
	return grid;
}

function fillTree() {
	let row = plantTree(document.getElementById('tree'), callTree, graph.root);

	// down to where it branches
	while (childrenOf(row.node).length === 1 && row.nextSibling) {
		row = row.nextSibling;
		expand(row);
	}
}

function expand(row) {
	if (row.getAttribute('aria-expanded') !== 'false') return;
	const children = row.tree.children(row.node);

	row.setAttribute('aria-expanded', 'true');
	row.querySelector('.twist').textContent = '\u25be';
	row.after(...children.slice(0, TREE_STEP).map(child => treeRow(row.tree, child)));
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
	if (row.tree.chosen) row.tree.chosen(row.node);
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
		case 'x': if (row.tree.removed) row.tree.removed(row.node); break;
		default: return;
	}
	event.preventDefault();
}
