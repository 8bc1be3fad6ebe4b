// What the tests ask of a flame graph that is open in a browser.  A frame is
// called by the start of its tooltip, which begins with the function's name.

// The frames come in the order in which they are nested.
function frames() {
	return [...document.querySelectorAll('svg.frame')];
}

function frameOf(start) {
	return frames().find(frame => tooltip(frame).startsWith(start));
}

function tooltip(frame) {
	return frame.getAttribute('aria-label');
}

function tooltipOf(start) {
	return tooltip(frameOf(start));
}

function labelOf(start) {
	return frameOf(start).querySelector('text').textContent;
}

// Where something is drawn, in pixels of the window.
function box(element) {
	return element.getBoundingClientRect();
}

function boxOf(start) {
	return box(frameOf(start).querySelector('rect'));
}

// As a part of the window's width.
function widthOf(start) {
	return boxOf(start).width / box(document.documentElement).width;
}

// Is a frame's label large enough, and all within the frame?
function isReadable(start) {
	const text = box(frameOf(start).querySelector('text'));
	const frame = boxOf(start);

	return text.left >= frame.left && text.right <= frame.right &&
		text.height >= 11;
}

// The colour of a frame: red, green and blue.
function colourOf(start) {
	const fill = getComputedStyle(frameOf(start).querySelector('rect')).fill;

	return fill.match(/\d+/g).map(Number);
}

function isHidden(start) {
	return getComputedStyle(frameOf(start)).display === 'none';
}

function isMatched(start) {
	return frameOf(start).classList.contains('match');
}

// The name of the frame that keys act on.
function focused() {
	return tooltip(document.activeElement).split('\n')[0];
}

// How many elements there are of a CSS selector.
function count(selector) {
	return document.querySelectorAll(selector).length;
}

// How many of these elements run out of the window on its right.
function beyondWindow(elements) {
	return elements.filter(element => box(element).right > innerWidth + 1).length;
}

function framesBeyondWindow() {
	return beyondWindow(frames().map(frame => frame.querySelector('rect')));
}

// The texts above the frames; the details change with the pointer.
function headerTexts() {
	return [...document.querySelectorAll(':root > text:not(#details), .entry > text')];
}

function headerBeyondWindow() {
	return beyondWindow(headerTexts());
}

// The names of binaries in the legend that match a pattern.
function legend(pattern) {
	return headerTexts().map(text => text.textContent)
		.filter(text => new RegExp(pattern).test(text));
}

function isHeaderAboveFrames() {
	const header = [...document.querySelectorAll(
		':root > text, .entry > rect, foreignObject')];
	const top = box(frames()[0]).top;

	return header.every(element => box(element).bottom <= top + 1);
}

// Is a key with a modifier left to the browser?
function isLeftToBrowser(key, modifier) {
	return document.documentElement.dispatchEvent(new KeyboardEvent('keydown',
		{ key: key, [modifier]: true, cancelable: true }));
}

// How many frames hide although a frame that they are in was clicked: one
// frame in "step" is.
function lostByClicks(step) {
	const all = frames();
	let lost = 0;

	for (let i = 0; i < all.length; i += step) {
		const depth = +all[i].dataset.d;

		all[i].dispatchEvent(new MouseEvent('click', { bubbles: true }));
		for (let j = i + 1; j < all.length && +all[j].dataset.d > depth; j++)
			lost += all[j].style.display === 'none';
	}
	return lost;
}
