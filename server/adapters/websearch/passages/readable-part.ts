import { Parser } from 'htmlparser2'

/** Maximum depth. Real pages have less than half. Readability is worse than quadratic in it: a depth of 500 takes seconds. */
const MAX_DEPTH = 100
/** Maximum number of elements. DOM-based readers take a second for this many. */
const MAX_ELEMENTS = 30_000
/** Maximum number of text nodes: each entity, and each `<` that begins no tag, makes one. */
const MAX_TEXTS = 100_000
/** Maximum number of line breaks in a paragraph. The Markdown writer is quadratic in it: 75,000 take a minute. */
const MAX_BREAKS = 5_000

/**
 * How much of the HTML a DOM-based reader can handle: where to cut, or null when it can handle all. Found without building
 * the tree, in linear time.
 */
export function readablePart(html: string): number | null {
  let end: number | null = null
  let depth = 0
  let elements = 0
  let breaks = 0
  let texts = 0
  const stop = (): void => {
    end = parser.startIndex
    parser.pause()
  }
  const parser = new Parser({
    onopentagname(name) {
      depth++
      elements++
      if (name === 'br') breaks++
      if (depth > MAX_DEPTH || elements > MAX_ELEMENTS || breaks > MAX_BREAKS) stop()
    },
    ontext() {
      if (++texts > MAX_TEXTS) stop()
    },
    onclosetag() {
      depth--
    },
  })
  parser.write(html)
  return end
}
