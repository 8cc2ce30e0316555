/**
 * Unicode's control (Cc), format (Cf: bidi controls, zero-width characters, tags), surrogate and line-separator characters, and all
 * others that draw nothing (Default_Ignorable: fillers, joiners, selectors of variants; one that belongs to a pictograph stays). In a
 * name they forge other names; on a terminal they move the cursor, write to the clipboard or turn the direction of writing.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})\ufe0f/u
const HIDDEN_ALL = new RegExp(HIDDEN.source, 'gu')

/** What `isPlainLine` asks for, as the end of a sentence that begins with "must be text". */
export const PLAIN_LINE_RULE = 'without control, direction or zero-width characters'

/** Whether a name can be shown anywhere: no hidden character, and no line break. */
export function isPlainLine(text: string): boolean {
  return !HIDDEN.test(text)
}

/** As `isPlainLine`, for longer texts: line breaks and tabs pass. */
export function isPlainText(text: string): boolean {
  return isPlainLine(text.replaceAll(/\r?\n|\t/g, ' '))
}

/** The text without its hidden characters; line breaks and tabs stay. Safe to print on a terminal. Free to repeat. */
export function printable(text: string): string {
  return text.replaceAll(HIDDEN_ALL, (sign) => (sign === '\n' || sign === '\t' ? sign : ''))
}

/** A stranger's name as one line that fits a page: without hidden characters, cut at `most` characters. */
export function shownName(text: string, most: number): string {
  const signs = [...text.replaceAll(HIDDEN_ALL, ' ').replaceAll(/\s+/g, ' ').trim()]
  return signs.length > most ? `${signs.slice(0, most - 1).join('')}…` : signs.join('')
}

/** A value as JSON whose hidden characters are escaped, so that printing it is safe and reading it gives the same value. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(HIDDEN_ALL, (sign) =>
    sign === '\n' ? sign : Array.from({ length: sign.length }, (_, at) => escaped(sign.charCodeAt(at))).join(''),
  )
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
