// What doc/look.html shows; null while it reads.
function shown() {
	const explanation = document.getElementById('explanation');

	return explanation.hidden ? null : {
		text: explanation.dataset.text,
		paragraphs: [...explanation.children].map(child => child.textContent),
		markup: explanation.querySelectorAll('*:not(p)').length,
		width: document.documentElement.scrollWidth,
		title: document.title
	};
}

// What a page of pg_leakhunt_look shows.
function shownPage() {
	const texts = selector => [...document.querySelectorAll(selector)].map(found => found.textContent);

	return {
		words: texts('#words .card p'),
		sections: texts('section > h2'),
		areas: [...document.querySelectorAll('.treemap')].map(map => map.querySelectorAll('g').length),
		contexts: [...document.querySelectorAll('table')].filter(table => table.caption && table.caption.textContent === 'Memory contexts')
			.map(table => [...table.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))),
		holders: texts('#held tbody tr'),
		title: document.title,
		width: document.documentElement.scrollWidth
	};
}

function news() {
	return document.getElementById('news').textContent;
}

// What is explained next is not to be taken for what was explained before.
function forget() {
	document.getElementById('explanation').hidden = true;
}

function enter(text) {
	document.getElementById('text').value = text;
}

function drop(text) {
	const data = new DataTransfer();

	data.setData('text/plain', text);
	document.getElementById('text').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));
}
