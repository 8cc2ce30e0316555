import { createHash } from 'node:crypto'
import { GUIDE_PATH, type Guide, type GuideHit, type GuidePage, guideAddress } from '../../core/guide/guide'

const STYLE = `
:root{color-scheme:light dark;--text:#1c2024;--muted:#5b6470;--line:#d9dde2;--soft:#f3f5f7;--back:#fff;--link:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--muted:#a3acb8;--line:#363b42;--soft:#20242a;--back:#15181c;--link:#84b1ff}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.6 system-ui,sans-serif;overflow-wrap:break-word}
a{color:var(--link)}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:1rem;background:var(--back);padding:.5rem}
header{display:flex;flex-wrap:wrap;gap:.75rem 1.5rem;align-items:center;padding:.75rem 1.25rem;border-bottom:1px solid var(--line)}
header>a{font-weight:600;text-decoration:none;color:var(--text)}
header nav{display:flex;gap:1rem}
form{display:flex;gap:.5rem;flex:1 1 14rem;min-width:0;max-width:30rem;margin-left:auto}
input{flex:1;min-width:0;font:inherit;padding:.35rem .6rem;border:1px solid var(--muted);border-radius:.4rem;background:var(--back);color:var(--text)}
button{font:inherit;padding:.35rem .9rem;border:1px solid var(--muted);border-radius:.4rem;background:var(--soft);color:var(--text);cursor:pointer}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.layout{display:grid;grid-template:'menu main contents'/15rem minmax(0,48rem) 13rem;gap:2.5rem;max-width:84rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
.side{font-size:.9rem;line-height:1.5}
.side h2{font-size:.8rem;margin:1.25rem 0 .35rem;color:var(--muted);font-weight:600}
.side ul{list-style:none;margin:0;padding:0}
.side li{margin:.25rem 0}
.side a{text-decoration:none}.side a:hover,.side a[aria-current]{text-decoration:underline}
.side a[aria-current]{font-weight:600}
main{grid-area:main}.menu{grid-area:menu}.contents{grid-area:contents}
main h1{font-size:1.9rem;line-height:1.25;margin:.2rem 0 1rem}
main h2{font-size:1.35rem;margin:2.2rem 0 .6rem;padding-top:.4rem;border-top:1px solid var(--line)}
main h3{font-size:1.1rem;margin:1.6rem 0 .4rem}
.anchor{text-decoration:none;opacity:0;font-weight:400}
h2:hover .anchor,h3:hover .anchor,h4:hover .anchor,.anchor:focus{opacity:1}
pre{overflow:auto;padding:.8rem 1rem;border-radius:.4rem;background:var(--soft);font-size:.85rem;line-height:1.5}
code{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.9em}
:not(pre)>code{background:var(--soft);border-radius:.25rem;padding:.05rem .3rem}
.table{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;width:100%}
td code,th code{overflow-wrap:anywhere}
td:first-child code{white-space:nowrap}
th,td{border:1px solid var(--line);padding:.4rem .6rem;text-align:left;vertical-align:top;min-width:6rem}
th{background:var(--soft)}
blockquote{margin:1rem 0;padding-left:1rem;border-left:3px solid var(--line);color:var(--muted)}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:.4rem}
.hit{margin:1.4rem 0}.hit p{margin:.2rem 0;color:var(--muted)}
.to-menu{display:none}
@media(max-width:70rem){.layout{grid-template:'menu main'/14rem minmax(0,1fr)}.contents{display:none}}
@media(max-width:48rem){.layout{display:block;padding-top:.5rem}form{margin-left:0}.to-menu{display:inline}.menu{border-top:1px solid var(--line);margin-top:2rem}
.table table,.table tbody,.table tr,.table td{display:block;border:0;padding:0}.table thead{position:absolute;left:-999rem}.table tr{padding:.6rem 0;border-top:1px solid var(--line)}
.table td:first-child{font-weight:600}.table td:empty{display:none}.table td:first-child code{white-space:normal}.table [data-column]::before{content:attr(data-column) ": ";color:var(--muted)}}
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** No scripts at all: search is a form, and menus are `details`. */
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`

/** A page of the guide. */
export function guidePage(guide: Guide, page: GuidePage): Response {
  return respond(guide, page.title, page.html, { path: page.path, contents: contentsOf(page) })
}

/** The results of a search. */
export function searchPage(guide: Guide, query: string, hits: readonly GuideHit[]): Response {
  const shown = Bun.escapeHTML(query)
  const none = '<p>Nothing found. Try another word, or look through the pages in the menu.</p>'
  const body = `<h1>Search: ${shown}</h1>${hits.length === 0 ? none : hits.map(hitHtml).join('')}`
  return respond(guide, `Search: ${query}`, body, { query })
}

/** For an address without a page. */
export function missingGuidePage(guide: Guide): Response {
  const body = `<h1>There is no such page</h1><p>Search for it, or look through the pages in the menu.</p>`
  return respond(guide, 'There is no such page', body, { status: 404 })
}

function hitHtml({ path, page, heading, id, snippet }: GuideHit): string {
  const address = `${guideAddress(path)}${id === '' ? '' : `#${encodeURIComponent(id)}`}`
  const title = heading === '' ? page : `${page} › ${heading}`
  return `<div class="hit"><a href="${Bun.escapeHTML(address)}">${Bun.escapeHTML(title)}</a><p>${Bun.escapeHTML(snippet)}</p></div>`
}

function contentsOf({ headings }: GuidePage): string {
  const items = headings
    .filter(({ level }) => level === 2)
    .map(({ id, text }) => `<li><a href="#${id}">${Bun.escapeHTML(text)}</a></li>`)
  if (items.length < 2) return ''
  return `<nav class="side contents" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`
}

function menuOf(guide: Guide, current: string | undefined): string {
  const shelves = guide.shelves().map(({ reader, pages }) => {
    const items = pages.map(({ path, title }) => {
      const here = path === current ? ' aria-current="page"' : ''
      return `<li><a href="${guideAddress(path)}"${here}>${Bun.escapeHTML(title)}</a></li>`
    })
    return `<h2>${Bun.escapeHTML(reader)}</h2><ul>${items.join('')}</ul>`
  })
  return `<nav class="side menu" id="pages" aria-label="Pages">${shelves.join('')}</nav>`
}

interface Shown {
  readonly path?: string
  readonly query?: string
  readonly contents?: string
  readonly status?: number
}

function respond(guide: Guide, title: string, body: string, { path, query = '', contents = '', status = 200 }: Shown) {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)} · Guide</title>
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><a href="${GUIDE_PATH}">Guide</a><nav aria-label="Gateway"><a class="to-menu" href="#pages">Pages</a><a href="/">Dashboard</a><a href="/docs">API reference</a></nav>
<form role="search" action="${GUIDE_PATH}"><input type="search" name="q" value="${Bun.escapeHTML(query)}" maxlength="200" aria-label="Search the guide" placeholder="Search the guide" required><button>Search</button></form></header>
<div class="layout"><main id="content">${body}</main>${menuOf(guide, path)}${contents}</div>
</body>
</html>
`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'referrer-policy': 'strict-origin-when-cross-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}
