import { MAX_TITLE } from '../../core/apis/api-rules'
import { printable, shownName } from '../../core/plain-text'

const MAX_DESCRIPTION = 1_000
/** The part of a text that is read at most, before markup is removed. */
const MAX_READ = 5_000

/** A member of a document that should be text. Numbers and booleans are written; of all else nothing is. */
export function textIn(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : ''
}

/** A title of a stranger as plain text on one line. */
export function plainTitle(value: unknown): string {
  return typeof value === 'string' ? shownName(withoutTags(value.slice(0, MAX_READ)), MAX_TITLE) : ''
}

/** A description of a stranger as plain text. Line breaks stay. */
export function plainDescription(value: unknown): string {
  if (typeof value !== 'string') return ''
  // Hidden characters first: without them, what follows a `<` may be a tag.
  const plain = withoutTags(printable(value.slice(0, MAX_READ).replaceAll(/\r\n?/g, '\n')))
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
  if (plain.length <= MAX_DESCRIPTION) return plain
  const chars = [...plain]
  return chars.length > MAX_DESCRIPTION ? `${chars.slice(0, MAX_DESCRIPTION - 1).join('')}…` : plain
}

/** Text without HTML: what remains cannot be read as a tag, even by a reader that decodes nothing. */
function withoutTags(text: string): string {
  return text
    .replaceAll(/<!--[\s\S]*?(?:-->|$)/g, ' ')
    .replaceAll(/<[a-z/!?][^<>]*>/gi, ' ')
    .replaceAll(/<+(?=[a-z/!?])/gi, '')
}
