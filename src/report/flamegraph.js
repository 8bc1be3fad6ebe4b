// The script of a flame graph: zoom, search, keys.  The SVG contains it.  Names of
// functions are handled as text only, so that none can become markup.
//
// Each frame is an <svg class="frame"> with its start and end in bytes (data-x and
// data-end), its row (data-d), and what there is to say of it as <title>.  The script shows
// that beside the pointer, and lays out what is above the frames for the window's width.
(function () {
'use strict';

var root = document.documentElement;
var frames = Array.prototype.slice.call(document.querySelectorAll('svg.frame'));
var input = document.getElementById('search');
var matched = document.getElementById('matched');
var details = document.getElementById('details');
var reset = document.getElementById('reset');
var header = Array.prototype.slice.call(document.querySelectorAll('svg > .title, svg > .fact'));
var entries = Array.prototype.slice.call(document.querySelectorAll('svg > .entry'));
var tools = document.querySelector('.tools');
var ROW = 18;
var LETTER = 7.3;
var framesTop = frames.length ? +frames[0].getAttribute('y') : 0;
var zoomed = frames[0];
var current = frames[0];

function x(frame) { return +frame.dataset.x; }
function end(frame) { return +frame.dataset.end; }
// The width is never 0, even in a picture of no bytes: it is a divisor.
function w(frame) { return end(frame) - x(frame) || 1; }
function depth(frame) { return +frame.dataset.d; }
function title(frame) { return frame.getAttribute('aria-label'); }
function holds(outer, inner) {
	return x(outer) <= x(inner) && end(inner) <= end(outer);
}

// A text of at most that many letters, shortened in its middle.
function shorten(text, most) {
	var end = Math.floor((most - 3) / 2);
	if (text.length <= most) return text;
	return most < 6 ? '' : text.slice(0, most - 3 - end) + '...' + text.slice(-end);
}

// Show as much of the name of a frame as it has room for.
function label(frame) {
	var pixels = frame.querySelector('rect').getBoundingClientRect().width;
	frame.querySelector('text').textContent = shorten(frame.fullName, Math.floor((pixels - 6) / LETTER));
}

// The lines of a text that are not longer than that.
function linesOf(text, most) {
	var lines = [''];
	text.split(' ').forEach(function (word) {
		var last = lines[lines.length - 1];
		if (last === '') lines[lines.length - 1] = word.slice(0, most);
		else if (last.length + 1 + word.length <= most) lines[lines.length - 1] = last + ' ' + word;
		else lines.push(word.slice(0, most));
	});
	return lines;
}

function setLines(text, lines, x, step) {
	text.textContent = '';
	lines.forEach(function (line, i) {
		var part = document.createElementNS(root.namespaceURI, 'tspan');
		part.setAttribute('x', x);
		part.setAttribute('dy', i ? step : 0);
		part.textContent = line;
		text.appendChild(part);
	});
}

// Lay out what is above the frames, which begin below it.
function layOut() {
	var width = document.documentElement.clientWidth || innerWidth;
	var x = 10, y = 24;
	header.forEach(function (text, i) {
		var lines = linesOf(text.fullText, Math.floor((width - 20) / (i ? LETTER : 10.5)));
		setLines(text, lines, 10, i ? ROW : 21);
		text.setAttribute('y', y);
		y += lines.length * (i ? ROW : 21) - (i ? 0 : 1);
	});
	y -= 7;
	entries.forEach(function (entry) {
		var wide = 34 + entry.textContent.length * LETTER;
		if (x > 10 && x + wide - 17 > width) { x = 10; y += ROW; }
		entry.setAttribute('transform', 'translate(' + x + ' ' + y + ')');
		x += wide;
	});
	y += ROW + 6;
	document.querySelector('foreignObject').setAttribute('y', y);
	matched.setAttribute('y', y + 16);
	reset.setAttribute('y', y + 16);
	reset.setAttribute('x', width < 500 ? 330 : 380);
	if (width < 400) { reset.setAttribute('x', 230); reset.setAttribute('y', y + 32); }
	details.setAttribute('y', y + 42);
	setLines(details, linesOf(details.fullText || '', Math.floor((width - 20) / LETTER)).slice(0, 3), 10, 15);
	framesTop = y + (width < 700 ? 84 : 51);
	frames.forEach(function (frame) { frame.setAttribute('y', framesTop + depth(frame) * ROW); });
	root.setAttribute('height', framesTop + ROW * (1 + Math.max.apply(Math, frames.map(depth))) + 10);
}

// Beside the pointer: what there is to say of a frame.
var box = document.createElementNS(root.namespaceURI, 'g');

function showBox(frame, event) {
	var place = root.getBoundingClientRect();
	var lines = title(frame).split('\n').map(function (line) { return shorten(line, 90); });
	var wide = 16 + LETTER * Math.max.apply(Math, lines.map(function (line) { return line.length; }));
	var high = 10 + lines.length * 16;
	var left = event.clientX - place.left + 14, top = event.clientY - place.top + 18;
	if (left + wide > innerWidth) left = Math.max(2, innerWidth - wide - 4);
	if (event.clientY + 24 + high > innerHeight) top -= high + 28;
	box.style.display = '';
	box.setAttribute('transform', 'translate(' + left + ' ' + top + ')');
	box.firstChild.setAttribute('width', wide);
	box.firstChild.setAttribute('height', high);
	setLines(box.lastChild, lines, 8, 16);
}

function draw() {
	frames.forEach(function (frame) {
		var inside = depth(frame) >= depth(zoomed) && holds(zoomed, frame);
		var caller = depth(frame) < depth(zoomed) && holds(frame, zoomed);
		frame.style.display = inside || caller ? '' : 'none';
		frame.classList.toggle('caller', caller);
		if (caller) {
			frame.setAttribute('x', '0%');
			frame.setAttribute('width', '100%');
		} else if (inside) {
			frame.setAttribute('x', 100 * (x(frame) - x(zoomed)) / w(zoomed) + '%');
			frame.setAttribute('width', 100 * w(frame) / w(zoomed) + '%');
		}
	});
	frames.forEach(function (frame) {
		if (frame.style.display === '') label(frame);
	});
	reset.style.display = zoomed === frames[0] ? 'none' : '';
}

function zoom(frame) {
	zoomed = frame;
	focus(frame);
	draw();
}

// Tab reaches only the current frame; arrow keys move on from there.
function focus(frame) {
	current.setAttribute('tabindex', '-1');
	current = frame;
	current.setAttribute('tabindex', '0');
	show(frame);
}

function say(text) {
	details.fullText = text;
	layOut();
}

function show(frame) {
	say(title(frame).replace(/\n/g, '   '));
}

// Mark matching frames and sum up their widths; nested ones count once.
function search() {
	var text = input.value.toLowerCase();
	var reached = -1;
	var sum = 0;
	var hits = frames.filter(function (frame) {
		var hit = text !== '' && title(frame).toLowerCase().indexOf(text) >= 0;
		frame.classList.toggle('match', hit);
		return hit;
	});
	hits.sort(function (a, b) { return x(a) - x(b) || w(b) - w(a); });
	hits.forEach(function (frame) {
		var from = Math.max(x(frame), reached);
		if (end(frame) > from) { sum += end(frame) - from; reached = end(frame); }
	});
	matched.textContent = text === '' ? '' :
		'Matched: ' + (sum / w(frames[0]) * 100).toFixed(1) + '%';
}

function visible(frame) {
	return frame.style.display !== 'none';
}

// Find the frame to which an arrow key leads.
function neighbour(key) {
	var d = depth(current) + (key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0);
	var row = frames.filter(function (frame) {
		return depth(frame) === d && visible(frame);
	});
	if (key === 'ArrowDown')
		return row.filter(function (f) { return holds(current, f); })
			.sort(function (a, b) { return w(b) - w(a); })[0];
	if (key === 'ArrowUp')
		return row.filter(function (f) { return holds(f, current); })[0];
	row.sort(function (a, b) { return x(a) - x(b); });
	return row[row.indexOf(current) + (key === 'ArrowLeft' ? -1 : 1)];
}

function keydown(event) {
	var modified = event.altKey || event.ctrlKey || event.metaKey;
	var next;
	if (event.target === input) {
		if (event.key === 'Escape') { input.value = ''; search(); current.focus(); }
		return;
	}
	if (event.key === 'f' ? event.ctrlKey || event.metaKey : event.key === '/' && !modified) {
		event.preventDefault();
		input.focus();
	} else if (modified) {
		// leave these keys to the browser: Alt+Left goes back
		return;
	} else if (event.key === 'Escape') {
		zoom(frames[0]);
	} else if (event.key === 'Enter' || event.key === ' ') {
		event.preventDefault();
		if (event.target === reset) zoom(frames[0]); else zoom(current);
	} else if (event.key.indexOf('Arrow') === 0) {
		event.preventDefault();
		next = neighbour(event.key);
		if (next) { focus(next); next.focus(); }
	}
}

if (frames.length === 0) return;
root.classList.add('scripted');
// the browser's own tooltip would come a second later, over ours
frames.forEach(function (frame) {
	frame.fullName = frame.querySelector('text').textContent;
	frame.setAttribute('aria-label', frame.querySelector('title').textContent);
	frame.removeChild(frame.querySelector('title'));
});
header.forEach(function (text) { text.fullText = text.textContent; });
root.addEventListener('keydown', keydown);
root.addEventListener('click', function (event) {
	var frame = event.target.closest('svg.frame');
	if (frame) zoom(frame);
});
root.addEventListener('mousemove', function (event) {
	var frame = event.target.closest('svg.frame');
	if (frame) showBox(frame, event); else box.style.display = 'none';
});
root.addEventListener('mouseleave', function () { box.style.display = 'none'; });
reset.addEventListener('click', function () { zoom(frames[0]); });
input.addEventListener('input', search);
window.addEventListener('resize', function () { layOut(); draw(); });
box.id = 'hover';
box.style.display = 'none';
box.appendChild(document.createElementNS(root.namespaceURI, 'rect')).setAttribute('rx', 4);
box.appendChild(document.createElementNS(root.namespaceURI, 'text')).setAttribute('y', 18);
root.appendChild(box);
focus(frames[0]);
say('Click a frame to zoom, / to search, arrow keys and Enter to go about, Esc to go back.');
draw();
})();
