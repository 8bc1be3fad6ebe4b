// Figures and times in words, as PostgreSQL and pg_leakhunt_explain write them.

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

// As pg_size_pretty does.
function size(bytes) {
	let unit = 0;
	let value = Math.abs(bytes);

	while (value >= 10240 && unit < UNITS.length - 1) {
		value /= 1024;
		unit++;
	}
	return (bytes < 0 ? '-' : '') + Math.round(value) + '\u00a0' + UNITS[unit];
}

function signedSize(bytes) {
	return (bytes > 0 ? '+' : '') + size(bytes);
}

// An estimate with its error, which is null where it is not known.
function estimate(bytes, error, signed) {
	const text = signed ? signedSize(bytes) : size(bytes);

	return error > 0 ? text + ' (+/-\u00a0' + size(error) + ')' : text;
}

function percent(part, whole) {
	if (!whole) return '';
	const value = 100 * part / whole;

	return (Math.abs(value) >= 9.95 ? value.toFixed(0) : value.toFixed(1)) + '%';
}

function count(number) {
	return number.toLocaleString('en-US');
}

function plural(number, one, many) {
	return count(number) + ' ' + (number === 1 ? one : many);
}

// A time in the zone of the session that made the page.
function clock(us, withDate) {
	const date = new Date(us / 1000 + 1000 * page.utc_offset);
	const text = date.toISOString();

	return (withDate ? text.slice(0, 10) + ' ' : '') + text.slice(11, 19);
}

function moment(us) {
	return clock(us, true) + ' ' + page.zone;
}

// A span of time in the largest unit of which there are two.
function duration(us) {
	const seconds = Math.max(0, us / 1e6);

	if (seconds < 9.95) return seconds.toFixed(1) + ' s';
	if (seconds < 120) return Math.round(seconds) + ' s';
	if (seconds < 7200) return Math.round(seconds / 60) + ' min';
	if (seconds < 172800) return Math.round(seconds / 3600) + ' h';
	return Math.round(seconds / 86400) + ' days';
}

// Characters that are not seen, or change the order of others, by their codes.
function visible(text) {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
		c => c === '\n' || c === '\t' ? ' ' :
			'<' + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0') + '>');
}

// A text of at most that many characters, shortened in its middle.
function shorten(text, most) {
	if (text.length <= most) return text;
	if (most < 4) return '';
	const end = Math.floor((most - 3) / 2);

	return text.slice(0, most - 3 - end) + '...' + (end ? text.slice(-end) : '');
}
