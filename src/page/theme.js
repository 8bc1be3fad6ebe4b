// Dark or light: as the system has it, or as chosen.

const SYSTEM_DARK = '(prefers-color-scheme: dark)';
const systemDark = matchMedia(SYSTEM_DARK);

// The rule of the style that has the dark colours, once: a choice changes its condition.
const darkRule = [...(document.querySelector('style').sheet?.cssRules || [])].find(rule => rule.media?.mediaText === SYSTEM_DARK);
let chosenTheme = null;

function isDark() {
	return chosenTheme ? chosenTheme === 'dark' : systemDark.matches;
}

// Show dark or light; with null as the system has it.
function showTheme(theme) {
	if (darkRule) darkRule.media.mediaText = theme === 'dark' ? 'all' : theme === 'light' ? 'not all' : SYSTEM_DARK;
	redraws.forEach(draw => draw());
}

function chooseTheme(theme) {
	chosenTheme = theme;
	showTheme(theme);
}

function themeButton() {
	const button = element('button', {
		type: 'button', class: 'small', id: 'theme', click: () => {
			chooseTheme(isDark() ? 'light' : 'dark');
			remember(chosenTheme);
			name();
		}
	});
	const name = () => { button.textContent = isDark() ? 'Light' : 'Dark'; };

	chooseTheme(['dark', 'light'].includes(remembered()) ? remembered() : null);
	systemDark.addEventListener('change', () => { name(); redraws.forEach(draw => draw()); });
	name();
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
addEventListener('beforeprint', () => {
	document.documentElement.dataset.printing = '1';
	showTheme('light');
});
addEventListener('afterprint', () => {
	delete document.documentElement.dataset.printing;
	showTheme(chosenTheme);
});
