// Decodes profiles for pprof by npm's pprof-format, and checks what they have.
//
// Usage: node decode_pprof.js BYTES FILE...
// BYTES is what the samples of each file hold in use; NODE_PATH has the decoder.
'use strict';

const fs = require('fs');
const path = require('path');
const { Profile } = require('pprof-format');

let failures = 0;

function check(file, condition, what) {
	if (condition)
		return;
	failures++;
	console.error(`not ok: ${path.basename(file)}: ${what}`);
}

// The functions of a sample, the innermost first.
function functions(profile, sample) {
	const texts = profile.stringTable.strings;
	const locations = sample.locationId.map(id => profile.location[Number(id) - 1]);

	return locations.flatMap(location => location.line).map(line =>
		texts[Number(profile.function[Number(line.functionId) - 1].name)]);
}

function decode(file, bytes) {
	const profile = Profile.decode(fs.readFileSync(file));
	const texts = profile.stringTable.strings;
	const types = profile.sampleType.map(type => texts[Number(type.type)]);
	const index = types.indexOf('inuse_space');
	const sum = profile.sample.reduce((total, sample) => total + Number(sample.value[index]), 0);
	const leak = profile.sample.filter(sample => functions(profile, sample).includes('leaking_top'));
	const unnamed = /unnamed/.test(file);

	check(file, index >= 0, `types are ${types}`);
	check(file, texts[Number(profile.defaultSampleType)] === 'inuse_space', 'no default type');
	check(file, texts[Number(profile.periodType.type)] === 'space' && profile.period > 0, 'no period');
	check(file, /\/postgres$/.test(texts[Number(profile.mapping[0].filename)]), 'the first mapping is not the server');
	check(file, sum === bytes, `${sum} bytes instead of ${bytes}`);
	check(file, leak.length === (unnamed ? 0 : 1), `${leak.length} samples of the leak`);
	check(file, unnamed || Number(leak[0].value[index]) === 640000, 'the leak has another size');
	check(file, profile.sample.every(sample => sample.label.every(label => Number(label.str) > 0)), 'a label is no text');
	check(file, !/limited/.test(file) || profile.sample.length === 3, `${profile.sample.length} samples`);
	console.log(`${path.basename(file)}: ${profile.sample.length} samples, ${sum} bytes`);
}

const [bytes, ...files] = process.argv.slice(2);

for (const file of files)
	decode(file, Number(bytes));
console.log(failures === 0 ? `pprof-format has decoded ${files.length} profiles` : `${failures} failures`);
process.exit(failures === 0 && files.length > 0 ? 0 : 1);
