// The script of a flame graph: zoom, search, keys.  The SVG contains it.  Names of
// functions are handled as text only, so that none can become markup.
//
// Each frame is an <svg class="frame"> with its start and end in bytes (data-x and
// data-end), its depth (data-d), and its tooltip as <title>.
(function () {
'use strict';

var root = document.documentElement;
var frames = Array.prototype.slice.call(document.querySelectorAll('svg.frame'));
var input = document.getElementById('search');
var matched = document.getElementById('matched');
var details = document.getElementById('details');
var reset = document.getElementById('reset');
var zoomed = frames[0];
var current = frames[0];

function x(frame) { return +frame.dataset.x; }
function end(frame) { return +frame.dataset.end; }
// The width is never 0, even in a picture of no bytes: it is a divisor.
function w(frame) { return end(frame) - x(frame) || 1; }
function depth(frame) { return +frame.dataset.d; }
function title(frame) { return frame.querySelector('title').textContent; }
function holds(outer, inner) {
	return x(outer) <= x(inner) && end(inner) <= end(outer);
}

// Show the name of a frame if it has room for a few letters.
function label(frame) {
	var pixels = frame.querySelector('rect').getBoundingClientRect().width;
	frame.querySelector('text').style.display = pixels < 24 ? 'none' : '';
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

function show(frame) {
	details.textContent = title(frame).replace(/\n/g, '   ');
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
root.addEventListener('keydown', keydown);
root.addEventListener('click', function (event) {
	var frame = event.target.closest('svg.frame');
	if (frame) zoom(frame);
});
root.addEventListener('mouseover', function (event) {
	var frame = event.target.closest('svg.frame');
	if (frame) show(frame);
});
reset.addEventListener('click', function () { zoom(frames[0]); });
input.addEventListener('input', search);
window.addEventListener('resize', draw);
focus(frames[0]);
details.textContent = 'Click a frame to zoom, / to search, arrow keys and Enter to go about, Esc to go back.';
draw();
})();
