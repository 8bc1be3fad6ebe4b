// Reads a profile in the format of pprof: as much as a comparison needs.

async function unpacked(bytes) {
	if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A number of protobuf, and where it ends.
function numberAt(bytes, at) {
	let value = 0, factor = 1;

	for (; at < bytes.length; factor *= 128) {
		const byte = bytes[at++];

		value += (byte & 127) * factor;
		// a negative number has 64 bits
		if (byte < 128) return [value >= 2 ** 63 ? value - 2 ** 64 : value, at];
	}
	throw new Error('it ends too early');
}

// The fields of a message of protobuf: [number, value], where a value is a number, or the
// bytes of a text or of another message.
function* fieldsOf(bytes) {
	let at = 0, value;
	const number = () => {
		[value, at] = numberAt(bytes, at);
		return value;
	};

	while (at < bytes.length) {
		const key = number();

		switch (key & 7) {
			case 0: yield [Math.floor(key / 8), number()]; break;
			case 1: at += 8; break;
			case 2: {
				const length = number();

				if (at + length > bytes.length) throw new Error('it ends too early');
				yield [Math.floor(key / 8), bytes.subarray(at, at + length)];
				at += length;
				break;
			}
			case 5: at += 4; break;
			default: throw new Error('it is none');
		}
	}
}

function numbersOf(value) {
	if (typeof value === 'number') return [value];
	const numbers = [];

	for (let at = 0, number; at < value.length; numbers.push(number)) [number, at] = numberAt(value, at);
	return numbers;
}

// The last value of each field, and all of those that may come several times.
function messageOf(bytes, ...several) {
	const message = {};

	for (const field of several) message[field] = [];
	for (const [field, value] of fieldsOf(bytes)) {
		if (several.includes(field)) message[field].push(value);
		else message[field] = value;
	}
	return message;
}

// The sites of a profile: stack, context and the bytes that are in use.
function readProfile(bytes) {
	const profile = messageOf(bytes, 1, 2, 4, 5, 6);
	const texts = profile[6].map(text => new TextDecoder().decode(text));
	const types = profile[1].map(type => texts[messageOf(type)[1]]);
	const which = types.indexOf('inuse_space');

	if (which < 0) throw new Error('it has no inuse_space');
	const functions = new Map(profile[5].map(bytes => messageOf(bytes)).map(made => [made[1], texts[made[2]]]));
	const locations = new Map(profile[4].map(bytes => messageOf(bytes, 4)).map(location =>
		[location[1], location[4].map(line => functions.get(messageOf(line)[1]) || '')]));

	return profile[2].map(bytes => {
		const sample = messageOf(bytes, 1, 2, 3);
		const labels = sample[3].map(label => messageOf(label)).find(label => texts[label[1]] === 'memory_context');
		const names = sample[1].flatMap(numbersOf).flatMap(id => locations.get(id) || []);

		return {
			names: names, context: labels ? texts[labels[2]] : null, live: sample[2].flatMap(numbersOf)[which] || 0,
			variance: 0, samples: 0
		};
	}).filter(site => site.live !== 0);
}
