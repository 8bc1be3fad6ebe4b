// What is asked of speedscope, the viewer, while it shows a profile.

// The rows of its table: [function, bytes of its own, bytes with all that it calls].
function rows() {
	return [...document.querySelectorAll('table tr')]
		.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent.trim()))
		.filter(cells => cells.length === 3)
		.map(([self, total, name]) => [name, self, total]);
}

function rowOf(name) {
	return rows().find(row => row[0] === name);
}

function says(text) {
	return document.body.textContent.includes(text);
}
