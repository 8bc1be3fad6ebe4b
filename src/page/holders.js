// Who holds the memory: the chunks as they were last proven, from what holds them downward,
// and what nothing points to.

const HELD_AREAS = 40;	// of holders; the others are one area

// A branch of the tree under that text, which is made where it is not there yet.
function branch(parent, text) {
	let node = parent.branches.get(text);

	if (!node) {
		node = { text: text, bytes: 0, resettable: 0, depth: parent.depth + 1, branches: new Map() };
		parent.branches.set(text, node);
	}
	return node;
}

// Add to a branch, and to what is below it: the context, and the kind of its chunks.
function addChunks(parent, text, kind, bytes, resettable) {
	const [context, , what, content] = kind;
	const path = [text, context === null ? '[no name]' : context, what + (content === null ? '' : ': ' + content)];
	let node = parent;

	for (const step of path) {
		node = branch(node, step);
		node.bytes += bytes;
		node.resettable += resettable;
	}
}

// What a branch has that none of those below it does.
function addRest(parent, text, bytes, resettable) {
	if (bytes <= 0) return;
	Object.assign(branch(parent, text), { bytes: bytes, resettable: resettable, isRest: true });
}

function sumOf(nodes, figure) {
	return [...nodes].reduce((sum, node) => sum + node[figure], 0);
}

function makeHeldTree(proof) {
	const root = { text: 'All chunks', bytes: proof.bytes, resettable: 0, depth: 0, branches: new Map() };
	const held = proof.bytes - proof.lost_bytes;

	for (const kind of proof.kinds)
		if (kind[7] > 0) addChunks(root, 'Nothing: it is lost', kind, kind[7], kind[8]);
	const lost = root.branches.get('Nothing: it is lost');

	if (lost) {
		addRest(lost, 'others, too small to be listed', proof.lost_bytes - lost.bytes, proof.resettable_bytes - lost.resettable);
		lost.bytes = proof.lost_bytes;
		lost.resettable = proof.resettable_bytes;
		lost.isLost = true;
	}
	for (const [holder, kind, bytes] of proof.holdings)
		addChunks(root, proof.holders[holder] || 'a holder without a name', proof.kinds[kind], bytes, 0);
	addRest(root, 'others, in parts too small to be listed', held - (sumOf(root.branches.values(), 'bytes') - proof.lost_bytes), 0);
	return root;
}

function heldChildren(node) {
	return [...node.branches.values()].sort((a, b) => b.bytes - a.bytes);
}

// How the tree is shown, of which all chunks have so many bytes.
function heldTree(bytes) {
	return {
		children: heldChildren,
		cells: node => [figure(size(node.bytes)), figure(percent(node.bytes, bytes)), figure(node.resettable > 0 ? size(node.resettable) : '')],
		furnish: (row, node) => { if (node.isLost) row.classList.add('lost'); }
	};
}

function heldArea(node) {
	const [fill, words] = node.isLost ? ['lost', 'nothing points to it'] : node.isRest ? ['family-none', 'can be reached'] :
		['lasting', 'leads to chunks in ' + plural(node.branches.size, 'kind of contexts', 'kinds of contexts')];

	return { name: node.isLost ? 'lost' : node.text, bytes: node.bytes, used: node.bytes, fill: fill, words: words };
}

function heldAreas(root) {
	const nodes = heldChildren(root);
	const rest = nodes.slice(HELD_AREAS);
	const areas = nodes.slice(0, HELD_AREAS).map(heldArea);

	if (rest.length) areas.push({ name: 'others', bytes: sumOf(rest, 'bytes'), used: sumOf(rest, 'bytes'), fill: 'family-none', words: plural(rest.length, 'smaller holder', 'smaller holders') });
	return areas.filter(area => area.bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

function proofWords(proof) {
	const held = proof.bytes - proof.lost_bytes;

	const when = proof.at === null ? '' : 'As proven at ' + moment(proof.at) + ', ';
	const begin = text => when === '' ? text[0].toUpperCase() + text.slice(1) : when + text;

	if (proof.lost_bytes === 0)
		return begin('nothing was lost: pointers lead to all ') + size(proof.bytes) + ' in chunks.';
	return begin('nothing points to ') + size(proof.lost_bytes) + ' of ' + size(proof.bytes) + ' in chunks' +
		(proof.resettable_bytes > 0 ? '; ' + size(proof.resettable_bytes) + ' of that can still be freed with its memory context' : '') +
		'. Pointers lead to the other ' + size(held) + '.';
}

function makeHeldLegend(areas) {
	const fills = new Set(areas.map(area => area.fill));

	return makeLegend(null, [['lost', 'nothing points to it'], ['lasting', 'can be reached, by holder'], ['family-none', 'can be reached, of small holders']]
		.filter(([fill]) => fills.has(fill)));
}

// The same in SQL, where there is a server to be asked.
function heldInSql(select) {
	return select === null ? [] : [element('h4', null, 'The same in SQL'), element('pre', { tabindex: 0 }, quoted(select)), copyButton('SELECT', () => select)];
}

// Nothing where there is no proof.
function makeHolders(proof, select) {
	if (!proof || proof.bytes <= 0) return '';
	const root = makeHeldTree(proof);
	const grid = makeTreeGrid('held', 'Holders', [['Holder, memory context, kind of chunks'], ['Bytes', true], ['Part', true], ['Can still be freed', true]]);

	plantTree(grid, heldTree(proof.bytes), root);
	return section('holders', 'Who holds it',
		element('p', null, proofWords(proof)),
		element('p', { class: 'note' }, 'A chunk counts for the first holder that leads to it. All figures are counted, not sampled. ' +
			(proof.closed_contexts ? plural(proof.closed_contexts, 'context', 'contexts') + ' of a layout that is not known (' + size(proof.closed_bytes) + ') could not be looked into. ' : '')),
		makeTreemap(heldAreas(root), 'There is no chunk.'),
		makeHeldLegend(heldAreas(root)),
		grid, ...heldInSql(select));
}
