/** The URL of a goggle's text, given the page that people copy from their browser: the raw file of a GitHub or GitLab page. */
export function rawAddress(page: URL): URL {
  const url = new URL(page)
  url.hash = ''
  const steps = url.pathname.split('/').filter(Boolean)
  if (url.hostname === 'github.com' && (steps[2] === 'blob' || steps[2] === 'raw') && steps.length > 4) {
    url.hostname = 'raw.githubusercontent.com'
    url.pathname = `/${[...steps.slice(0, 2), ...steps.slice(3)].join('/')}`
  } else if (url.hostname === 'gist.github.com' && steps.length <= 2) {
    url.pathname = `/${[...steps, 'raw'].join('/')}`
  } else if (url.hostname === 'gitlab.com') {
    const dash = steps.indexOf('-')
    if (steps[dash + 1] === 'blob') steps[dash + 1] = 'raw'
    if (dash >= 0 && steps[dash + 1] === 'snippets' && steps.length === dash + 3) steps.push('raw')
    url.pathname = `/${steps.join('/')}`
  }
  return url
}
