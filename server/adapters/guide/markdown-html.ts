import type { GuideHeading } from '../../core/guide/guide'

/** Where a link of a page leads: an address, or null for what the gateway does not serve. */
export type LinkOf = (href: string) => string | null

interface Rendered {
  readonly html: string
  readonly headings: readonly GuideHeading[]
}

/** Links outside the guide may have these schemes only. */
const SCHEME = /^(https?:|mailto:)/i

/**
 * Renders Markdown as HTML. Raw HTML in it is shown as text, and every character of the text is escaped, so the result contains no
 * markup but the renderer's own. Headings have the ids that GitHub gives them, so links work in both places.
 */
export function markdownHtml(markdown: string, linkOf: LinkOf): Rendered {
  const headings: GuideHeading[] = []
  const ids = new Map<string, number>()
  const html = Bun.markdown.render(
    markdown,
    {
      ...BLOCKS,
      ...tables(),
      ...INLINE,
      heading: (children, { level }) => {
        const text = unescaped(children.replaceAll(/<[^>]*>/g, ''))
        const id = unique(slug(text), ids)
        headings.push({ level, id, text })
        const anchor = `<a class="anchor" href="#${id}" aria-label="Link to ${Bun.escapeHTML(text)}">#</a>`
        return `<h${level} id="${id}">${children} ${level === 1 ? '' : anchor}</h${level}>\n`
      },
      link: (children, { href }) => {
        const target = SCHEME.test(href) || href.startsWith('#') ? href : linkOf(href)
        return target === null ? children : `<a href="${Bun.escapeHTML(target)}">${children}</a>`
      },
      image: (children, { src }) => {
        const target = linkOf(src)
        return target === null ? children : `<img src="${Bun.escapeHTML(target)}" alt="${children}" loading="lazy">`
      },
    },
    { noHtmlBlocks: true, noHtmlSpans: true },
  )
  return { html, headings }
}

const wrapped = (tag: string) => (children: string) => `<${tag}>${children}</${tag}>\n`

const BLOCKS = {
  paragraph: wrapped('p'),
  blockquote: wrapped('blockquote'),
  // Scrolling parts can be reached by keyboard.
  code: (children: string) => `<pre tabindex="0"><code>${children}</code></pre>\n`,
  list: (children: string, { ordered, start = 1 }: { ordered: boolean; start?: number }) =>
    ordered ? `<ol${start === 1 ? '' : ` start="${start}"`}>${children}</ol>\n` : `<ul>${children}</ul>\n`,
  listItem: wrapped('li'),
  hr: () => '<hr>\n',
}

/** Each cell knows its column, because narrow screens show a row as a list. */
function tables() {
  let columns: string[] = []
  let cell = 0
  return {
    table: (children: string) => {
      columns = []
      return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${children}</table></div>\n`
    },
    thead: wrapped('thead'),
    tbody: wrapped('tbody'),
    tr: (children: string) => {
      cell = 0
      return `<tr>${children}</tr>\n`
    },
    th: (children: string) => {
      columns.push(children.replaceAll(/<[^>]*>/g, ''))
      return `<th scope="col">${children}</th>`
    },
    td: (children: string) => {
      const column = columns[cell++] ?? ''
      return `<td${cell === 1 || column === '' ? '' : ` data-column="${column}"`}>${children}</td>`
    },
  }
}

const INLINE = {
  text: (text: string) => Bun.escapeHTML(text),
  codespan: (children: string) => `<code>${children}</code>`,
  strong: (children: string) => `<strong>${children}</strong>`,
  emphasis: (children: string) => `<em>${children}</em>`,
  strikethrough: (children: string) => `<del>${children}</del>`,
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
}

/** Undoes `Bun.escapeHTML`. */
export function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity] ?? entity)
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

function unique(id: string, ids: Map<string, number>): string {
  const earlier = ids.get(id) ?? 0
  ids.set(id, earlier + 1)
  return earlier === 0 ? id : `${id}-${earlier}`
}
