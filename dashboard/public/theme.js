// Runs before the first paint, so that a stored choice never flashes. A file, not inline: the page's policy forbids inline scripts.
try {
  const theme = localStorage.getItem('theme')
  if (localStorage.getItem('staff')) document.documentElement.classList.add('staff')
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; the system's theme holds then.
}
