// What the tests ask of a page that is open in a browser.

function textOf(selector) {
	const found = document.querySelector(selector);

	return found ? found.textContent : null;
}

function count(selector) {
	return document.querySelectorAll(selector).length;
}

// The titles of the columns of a table that are shown.
function columnsOf(table) {
	return [...document.querySelectorAll(table + ' thead th')].filter(cell => !cell.hidden)
		.map(cell => cell.textContent);
}

// The cell of the first row whose first cell begins so.
function cellOf(table, start, column) {
	const row = [...document.querySelectorAll(table + ' tbody tr')]
		.find(made => made.firstChild.textContent.startsWith(start));

	return row ? row.children[columnsOf(table).indexOf(column)].textContent.replace(/\u00a0/g, ' ') : null;
}

// The button of a text; of several the first.
function buttonOf(text) {
	return [...document.querySelectorAll('button')].find(button => button.textContent === text);
}

// The row of the tree whose function begins so.
function treeRowOf(start) {
	return [...document.querySelectorAll('#tree tbody tr')].find(row => row.firstChild.lastChild.textContent.startsWith(start));
}

// How much of the graph is painted, and in how many colours.
function coloursOfGraph() {
	const canvas = document.querySelector('#graph canvas');
	const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
	const colours = new Set();

	for (let i = 0; i < data.length; i += 16)
		if (data[i + 3] === 255) colours.add(data[i] + ',' + data[i + 1] + ',' + data[i + 2]);
	return colours.size;
}

// Does anything run out of the window on its right?
function isTooWide() {
	return document.documentElement.scrollWidth > innerWidth;
}
