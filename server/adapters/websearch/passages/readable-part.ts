import { Parser } from 'htmlparser2'

/** Pages that people write stand below half of it. Readability's time grows faster than the square of it: 500 deep take seconds. */
const MAX_DEPTH = 100
/** Readers of trees take a second for as many. */
const MAX_ELEMENTS = 30_000
/** A `<` that begins no tag, and each entity, is a text of its own. */
const MAX_TEXTS = 100_000
/** The Markdown writer's time grows with the square of the line breaks of a paragraph: 75,000 take a minute. */
const MAX_BREAKS = 5_000

/**
 * How much of the HTML a DOM-based reader can handle: where to cut, or null when it can handle all. Found without building
 * the tree, and in a time that grows with the length alone.
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
