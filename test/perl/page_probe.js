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

// The cells of all rows whose first cell begins so, those that the table keeps back at first
// too: a difference below zero is the last of many.
function cellsOf(table, start, column) {
	const more = [...document.querySelector(table).children].find(child => child.textContent.startsWith('Show more'));

	while (!more.hidden) more.click();
	return [...document.querySelectorAll(table + ' tbody tr')]
		.filter(made => made.firstChild.textContent.startsWith(start))
		.map(row => row.children[columnsOf(table).indexOf(column)].textContent.replace(/\u00a0/g, ' '));
}

// The statements below the chart whose text runs over an edge of their bar.
function textsOverTheirBars() {
	return [...document.querySelectorAll('.lane')].filter(bar => {
		const box = bar.getBoundingClientRect(), text = bar.nextSibling.getBoundingClientRect();

		return text.left < box.right && text.right > box.left && (text.left < box.left || text.right > box.right);
	}).map(bar => bar.nextSibling.firstChild.textContent);
}

// The parts of the server whose colour is too near to that of the text on it: axe does not
// see into a canvas.
function faintParts() {
	const style = getComputedStyle(document.documentElement);
	const luminance = name => {
		const parts = [1, 3, 5].map(at => parseInt(style.getPropertyValue(name).trim().slice(at, at + 2), 16) / 255)
			.map(part => part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4));

		return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
	};
	const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

	return Array.from({ length: 10 }, (_, i) => '--part-' + i)
		.filter((name, i) => contrast(luminance(name), luminance(i === 9 ? '--on-routine' : '--on-part')) < 4.5);
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
