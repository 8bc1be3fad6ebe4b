'use strict';

// What the page does: it hands a text to the program, piece by piece, and shows what it says.
// All of that is shown as text, and nothing is made markup.

const PROGRAM = '{{program}}';

const byId = id => document.getElementById(id);
const compiled = compile();

async function compile() {
	const packed = new Blob([Uint8Array.from(atob(PROGRAM), letter => letter.charCodeAt(0))]);
	const unpacked = new Response(packed.stream().pipeThrough(new DecompressionStream('gzip')));

	return WebAssembly.compile(await unpacked.arrayBuffer());
}

// The last reading that was begun: an earlier one that is still at work shows nothing.
let lastReading = 0;

// What is the same as before is not read aloud again.
function tell(text) {
	if (byId('news').textContent !== text) byId('news').textContent = text;
}

// What the program needs of a system: where it fails, it writes why, and ends.
function makeSystem() {
	const errors = [];
	let memory;
	const view = () => new DataView(memory.buffer);
	const nothing = () => 0;

	return {
		use: of => { memory = of; },
		functions: new Proxy({
			fd_write(fd, vectors, count, written) {
				let bytes = 0;

				for (let i = 0; i < count; i++) {
					const at = view().getUint32(vectors + 8 * i, true);
					const length = view().getUint32(vectors + 8 * i + 4, true);

					errors.push(new TextDecoder().decode(new Uint8Array(memory.buffer, at, length)));
					bytes += length;
				}
				view().setUint32(written, bytes, true);
				return 0;
			},
			proc_exit() {
				throw new Error(errors.join('').trim() || 'The program has ended.');
			}
		}, { get: (known, name) => known[name] || nothing })
	};
}

async function start() {
	const system = makeSystem();
	const instance = await WebAssembly.instantiate(await compiled, { wasi_snapshot_preview1: system.functions });

	system.use(instance.exports.memory);
	instance.exports._initialize();
	return instance.exports;
}

// Hand over bytes, of which a piece takes only so many.
function add(program, bytes) {
	for (let at = 0; at < bytes.length; at += program.pieceBytes()) {
		const piece = bytes.subarray(at, at + program.pieceBytes());

		new Uint8Array(program.memory.buffer, program.piece(), piece.length).set(piece);
		program.add(piece.length);
	}
}

function explanationOf(program) {
	const from = program.explanation();
	const memory = new Uint8Array(program.memory.buffer);

	return new TextDecoder().decode(memory.subarray(from, memory.indexOf(0, from)));
}

// A large log takes its time, and the page stays at hand.
async function addFile(program, file, isWanted) {
	const reader = file.stream().getReader();
	let read = 0;

	for (let part = await reader.read(); !part.done; part = await reader.read()) {
		if (!isWanted()) return reader.cancel();
		add(program, part.value);
		read += part.value.length;
		if (file.size > 2e7) tell(`${file.name}: ${10 * Math.floor(10 * read / file.size)}% read`);
	}
	program.end();
}

function show(text) {
	const explanation = byId('explanation');
	let isPart = false;

	explanation.replaceChildren();
	for (const line of text.split('\n')) {
		const paragraph = document.createElement('p');

		if (line !== '') {
			paragraph.textContent = line;
			if (isPart) paragraph.classList.add('part');
			if (line.startsWith('Next: ')) paragraph.classList.add('next');
			explanation.append(paragraph);
		}
		isPart = line === '';
	}
	explanation.hidden = byId('after').hidden = false;
	explanation.dataset.text = text;
}

// Explain what a function hands over.
async function explain(handOver) {
	const number = ++lastReading;
	const isWanted = () => number === lastReading;

	byId('explanation').hidden = byId('after').hidden = true;
	tell('Reading');
	try {
		const program = await start();

		program.begin(byId('redact').checked ? 1 : 0);
		await handOver(program, isWanted);
		if (!isWanted()) return;
		show(explanationOf(program));
		tell('Explained:');
	} catch (error) {
		if (isWanted()) tell('The text could not be explained: ' + error.message);
	}
}

function explainText() {
	explain(program => {
		add(program, new TextEncoder().encode(byId('text').value));
		program.end();
	});
}

function explainFiles(files) {
	explain(async (program, isWanted) => {
		for (const file of files)
			if (isWanted()) await addFile(program, file, isWanted);
	});
}

// What was explained last is explained again with other options.
let again = null;

function begin(what) {
	again = what;
	what();
}

document.querySelector('form').addEventListener('submit', event => {
	event.preventDefault();
	begin(explainText);
});
byId('files').addEventListener('change', event => {
	const files = [...event.target.files];

	// the same file may be chosen again, and be another one by then
	event.target.value = '';
	if (files.length > 0) begin(() => explainFiles(files));
});
byId('redact').addEventListener('change', () => again?.());
byId('text').addEventListener('paste', () => setTimeout(() => begin(explainText)));
// What is dragged within the page is left to the browser.
let isOwnDrag = false;

addEventListener('dragstart', () => { isOwnDrag = true; });
addEventListener('dragend', () => { isOwnDrag = false; });
addEventListener('dragover', event => {
	if (isOwnDrag) return;
	event.preventDefault();
	byId('text').classList.add('over');
});
addEventListener('dragleave', () => byId('text').classList.remove('over'));
addEventListener('drop', event => {
	if (isOwnDrag) return;
	const files = [...event.dataTransfer.files];
	const text = event.dataTransfer.getData('text');

	event.preventDefault();
	byId('text').classList.remove('over');
	if (files.length > 0) begin(() => explainFiles(files));
	else if (text !== '') {
		byId('text').value = text;
		begin(explainText);
	}
});
byId('copy').addEventListener('click', () => {
	const text = byId('explanation').dataset.text;
	const done = () => tell('Copied');
	const byHand = () => {
		getSelection().selectAllChildren(byId('explanation'));
		tell(document.execCommand('copy') ? 'Copied' : 'It is selected; copy it with your keyboard.');
	};

	// in a file the clipboard may not be there
	navigator.clipboard ? navigator.clipboard.writeText(text).then(done, byHand) : byHand();
});
