// Processes over time: a row for each, a colour for the own memory that it had then.

const HEAT_ROWS = 200;
const HEAT_NOW = 6;		// what is known of now has this width at least
const RAMP = ['#fde725', '#a0da39', '#4ac16d', '#1fa187', '#277f8e', '#365c8d', '#46327e', '#440154'];

// The colour of a size, by its place between the smallest and the largest.
function heatColour(kilobytes, least, most) {
	const place = most > least ? Math.log(Math.max(kilobytes, least) / least) / Math.log(most / least) : 1;
	const ramp = isDark() ? RAMP.slice().reverse() : RAMP;

	return ramp[Math.max(0, Math.min(RAMP.length - 1, Math.round(place * (RAMP.length - 1))))];
}

function makeHeat(open) {
	const followed = page.processes.filter(process => process.before && process.before.length > 1);
	const rows = followed.slice(0, HEAT_ROWS);

	if (!rows.length)
		return section('heat', 'Sessions over time', element('p', { class: 'empty' }, 'No process has a history yet.'));
	const longest = rows.reduce((most, process) => Math.max(most, process.before[0]), 1);
	const courses = rows.map(courseOf);
	const sizes = courses.flat().map(point => point.kilobytes).filter(kilobytes => kilobytes > 0);
	const least = sizes.reduce((a, b) => Math.min(a, b), Infinity);
	const most = sizes.reduce((a, b) => Math.max(a, b), 1);
	const row = Math.max(4, Math.min(18, Math.floor(560 / rows.length)));
	const left = row >= 12 ? 148 : 4;
	const canvas = element('canvas', {
		role: 'img', 'aria-label': 'Own memory of ' + plural(rows.length, 'process', 'processes') + ' over ' + duration(longest * 1000) + '; the table of processes has the same.'
	});
	const at = event => {
		const box = canvas.getBoundingClientRect();
		const process = rows[Math.floor((event.clientY - box.top) / row)];
		const before = longest * (1 - (event.clientX - box.left - left) / (box.width - left));

		return process ? { process, before, course: courses[rows.indexOf(process)] } : null;
	};
	const draw = () => drawHeat(canvas, rows, courses, { row, left, longest, least, most });

	canvas.addEventListener('mousemove', event => {
		const found = at(event);

		if (!found) return hideHover();
		const point = pointBefore(found.course, found.before);

		canvas.style.cursor = 'pointer';
		showHover(event, [processName(found.process)].concat(point === null ? [] :
			[moment(page.at - 1000 * point.before) + ': ' + size(1024 * point.kilobytes)],
		found.process.findings.map(finding => finding.verdict + ' ' + finding.cause)));
	});
	canvas.addEventListener('mouseleave', hideHover);
	canvas.addEventListener('click', event => { if (at(event)) open(at(event).process); });
	redraws.push(draw);
	queueMicrotask(() => { new ResizeObserver(draw).observe(canvas.parentNode); });
	return section('heat', 'Sessions over time',
		element('p', { class: 'note' }, 'A row is a process, the largest first' +
			(followed.length > rows.length ? ', of ' + count(followed.length) + ' the ' + rows.length + ' largest' : '') +
			'; from ' + moment(page.at - 1000 * longest) + ' to ' + moment(page.at) + '.'),
		heatLegend(least, most), element('div', { class: 'graph' }, canvas));
}

// The last point that is not after a time; null before the first.
function pointBefore(course, before) {
	return course.filter(point => point.before >= before).pop() || null;
}

function drawHeat(canvas, rows, courses, is) {
	const width = canvas.parentNode.clientWidth;

	if (!width) return;
	const on = sizeCanvas(canvas, width, rows.length * is.row);
	const x = before => is.left + (1 - before / is.longest) * (width - is.left);

	on.font = '11px ' + colour('mono');
	on.textBaseline = 'middle';
	on.fillStyle = colour('wash');
	on.fillRect(is.left, 0, width - is.left, rows.length * is.row);
	rows.forEach((process, i) => {
		courses[i].forEach((point, k) => {
			const end = k + 1 < courses[i].length ? x(courses[i][k + 1].before) : width;
			const from = Math.min(x(point.before), width - HEAT_NOW);

			on.fillStyle = heatColour(point.kilobytes, is.least, is.most);
			on.fillRect(from, i * is.row, Math.max(1, end - from + 0.5), is.row - (is.row > 6 ? 1 : 0));
		});
		if (is.left > 100) {
			on.fillStyle = colour('ink');
			on.fillText(shorten(visible(process.pid + ' ' + (process.application_name || process.backend_type || '')), 20), 0, i * is.row + is.row / 2);
		}
	});
}

function heatLegend(least, most) {
	const legend = element('ul', { class: 'legend' });
	const fill = () => {
		legend.replaceChildren(...RAMP.map((_, i) => {
			const kilobytes = least * Math.pow(most / least, i / (RAMP.length - 1));

			return legendEntry(heatColour(kilobytes, least, most), size(1024 * kilobytes));
		}));
	};

	redraws.push(fill);
	fill();
	return legend;
}
