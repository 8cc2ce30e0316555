import { Tokenizer } from 'htmlparser2'

/** Elements that are never content, for pages without a recognizable article. */
export const NOT_CONTENT = new Set(['head', 'title', 'script', 'style', 'nav', 'header', 'footer', 'noscript'])
const STARTS_PARAGRAPH = new Set(['p', 'div', 'br', 'li', 'tr', 'pre', 'table', 'ul', 'ol', 'article', 'section'])

/**
 * The text of HTML, with headings and paragraphs separated, without building a tree: for pages that DOM-based readers cannot handle.
 * Takes linear time.
 */
export function plainText(html: string): string {
  const parts: string[] = []
  /** The element being skipped, which ends only with its own name, and how deeply it is nested in itself. */
  let skipped: string | null = null
  let inside = 0
  const opened = (name: string): void => {
    if (name === skipped) inside++
    if (skipped !== null) return
    const [, level] = /^h([1-6])$/.exec(name) ?? []
    if (level) parts.push(`\n\n${'#'.repeat(Number(level))} `)
    else parts.push(STARTS_PARAGRAPH.has(name) ? '\n\n' : ' ')
    if (!NOT_CONTENT.has(name)) return
    skipped = name
    inside = 1
  }
  const closed = (name: string): void => {
    if (name === skipped && --inside === 0) skipped = null
    if (skipped === null) parts.push(/^h[1-6]$/.test(name) ? '\n\n' : ' ')
  }
  const nothing = (): void => {}
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (from, to) => skipped === null && parts.push(html.slice(from, to)),
      ontextentity: (codepoint) => skipped === null && parts.push(String.fromCodePoint(codepoint)),
      onopentagname: (from, to) => opened(html.slice(from, to).toLowerCase()),
      onclosetag: (from, to) => closed(html.slice(from, to).toLowerCase()),
      onattribdata: nothing,
      onattribentity: nothing,
      onattribend: nothing,
      onattribname: nothing,
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onend: nothing,
      onopentagend: nothing,
      onprocessinginstruction: nothing,
      onselfclosingtag: nothing,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return parts
    .join('')
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n\s*/g, (blank) => (blank.indexOf('\n') === blank.lastIndexOf('\n') ? '\n' : '\n\n'))
    .trim()
}
