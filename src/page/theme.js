// Dark or light: as the system has it, or as chosen.

const dark = matchMedia('(prefers-color-scheme: dark)');

function isDark() {
	const chosen = document.documentElement.dataset.theme;

	return chosen ? chosen === 'dark' : dark.matches;
}

function themeButton() {
	const button = element('button', {
		type: 'button', class: 'small', id: 'theme', click: () => {
			document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
			remember(document.documentElement.dataset.theme);
			show();
		}
	});
	const show = () => {
		button.textContent = isDark() ? 'Light' : 'Dark';
		redraw();
	};

	if (['dark', 'light'].includes(remembered())) document.documentElement.dataset.theme = remembered();
	dark.addEventListener('change', show);
	show();
	return button;
}

// A page that is a file, or in a mail, may have no storage.
function remembered() {
	try {
		return localStorage.getItem('pg_leakhunt-theme');
	} catch (error) {
		return null;
	}
}

function remember(theme) {
	try {
		localStorage.setItem('pg_leakhunt-theme', theme);
	} catch (error) {
		// then it is as the system has it the next time
	}
}

// Paper is light, and of its own width.
let before = null;

addEventListener('beforeprint', () => {
	before = document.documentElement.dataset.theme || '';
	document.documentElement.dataset.theme = 'light';
	document.documentElement.dataset.printing = '1';
	redraw();
});
addEventListener('afterprint', () => {
	if (before) document.documentElement.dataset.theme = before;
	else delete document.documentElement.dataset.theme;
	delete document.documentElement.dataset.printing;
	redraw();
});
