// Elements of the page, and what is done with them everywhere.

// Properties are attributes, or functions for events.
function furnish(made, properties, children) {
	for (const [name, value] of Object.entries(properties || {})) {
		if (typeof value === 'function') made.addEventListener(name, value);
		else if (value !== null && value !== undefined && value !== false)
			made.setAttribute(name, value === true ? '' : value);
	}
	made.append(...children.filter(child => child !== null && child !== undefined));
	return made;
}

function element(tag, properties, ...children) {
	return furnish(document.createElement(tag), properties, children);
}

// An element of SVG.
function drawn(tag, properties, ...children) {
	return furnish(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children);
}

// A name or a statement from the server, apart from the text around it.
function quoted(text, tag) {
	return element(tag || 'bdi', { dir: 'ltr' }, visible(text));
}

function section(id, title, ...children) {
	return element('section', { id: id, 'aria-labelledby': id + '-title' },
		element('h2', { id: id + '-title' }, title), ...children);
}

function makeHelp(title, ...children) {
	return section('help', title, ...children,
		element('p', { class: 'tools' }, element('button', { type: 'button', class: 'small', click: () => print() }, 'Print')));
}

// What has just been done, for those who do not see it.
const news = element('p', { id: 'news', role: 'status', 'aria-live': 'polite' });

function tell(text) {
	news.textContent = '';
	news.textContent = text;
}

function copyText(text, what) {
	const done = () => tell(what + ' copied.');

	// without https, as in a file, the clipboard is not there
	if (navigator.clipboard && isSecureContext) {
		navigator.clipboard.writeText(text).then(done, () => copySelected(text, done));
		return;
	}
	copySelected(text, done);
}

function copySelected(text, done) {
	const area = element('textarea', { class: 'unseen', 'aria-label': 'Text to copy' });
	const before = document.activeElement;

	area.value = text;
	document.body.append(area);
	area.select();
	if (document.execCommand('copy')) done();
	area.remove();
	if (before) before.focus();
}

function copyButton(what, textOf) {
	return element('button', { type: 'button', class: 'small', click: () => copyText(textOf(), what) },
		'Copy ' + (what === 'SELECT' ? what : what.toLowerCase()));
}

// Save rows as a file of comma-separated values.
function saveCsv(name, rows) {
	const cell = value => value === null || value === undefined ? '' :
		/^[-+0-9.]+$/.test(value) ? String(value) :
			// a program for tables would run what begins so
			'"' + String(value).replace(/^[=+\-@\t\r]/, "'$&").replace(/"/g, '""') + '"';
	const text = rows.map(row => row.map(cell).join(',')).join('\r\n') + '\r\n';
	const link = element('a', {
		href: URL.createObjectURL(new Blob(['\ufeff' + text], { type: 'text/csv' })),
		download: 'pg_leakhunt-' + name + '.csv'
	});

	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
	tell('Saved ' + link.download + '.');
}

// Buttons of which one is pressed.
function choice(label, options, chosen, choose) {
	const group = element('div', { class: 'choice', role: 'group', 'aria-label': label });

	for (const [value, text, why] of options) {
		group.append(element('button', {
			type: 'button', 'aria-pressed': String(value === chosen), 'data-value': value,
			disabled: Boolean(why), title: why || null, click: () => choose(value)
		}, text));
	}
	return group;
}

function press(group, chosen) {
	for (const button of group.children)
		button.setAttribute('aria-pressed', String(button.dataset.value === chosen));
}

// An entry of a legend: a colour, and what it means.
function legendEntry(background, ...children) {
	const key = element('span', { class: 'key' });

	key.style.background = background;
	return element('li', null, key, ...children);
}

// A legend with the colours of the style.
function makeLegend(id, entries) {
	return element('ul', { class: 'legend', id: id }, ...entries.map(([fill, text]) => legendEntry('var(--' + fill + ')', text)));
}

// A box beside the pointer.
const hover = element('div', { id: 'hover', 'aria-hidden': 'true', hidden: true });

function showHover(event, lines) {
	hover.replaceChildren(...lines.map((line, i) => element(i ? 'div' : 'strong', null, visible(line))));
	hover.hidden = false;
	const room = hover.getBoundingClientRect();
	const right = event.clientX + 14 + room.width > innerWidth;
	const below = event.clientY + 18 + room.height > innerHeight;

	hover.style.left = Math.max(4, right ? event.clientX - room.width - 10 : event.clientX + 14) + 'px';
	hover.style.top = Math.max(4, below ? event.clientY - room.height - 10 : event.clientY + 18) + 'px';
}

function hideHover() {
	hover.hidden = true;
}

// What draws on a canvas: after a change of colours it must do so again.
const redraws = [];

// The value of a colour of the style.
function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

// A canvas of that size, sharp on any screen; returns its context.
function sizeCanvas(canvas, width, height) {
	const ratio = Math.min(devicePixelRatio || 1, 16000 / Math.max(height, 1));

	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.height = height + 'px';
	const context = canvas.getContext('2d');

	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}
