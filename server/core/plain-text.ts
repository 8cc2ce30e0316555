/**
 * Characters that are invisible: Unicode's control (Cc), format (Cf: bidi controls, zero-width characters, tags), surrogate and
 * line-separator characters, and everything else that draws nothing (Default_Ignorable: fillers, joiners, variation selectors,
 * except after an emoji). In a name they imitate other names. On a terminal they move the cursor, write to the clipboard or
 * reverse the direction of text. Two are visible where they belong: a joiner between emojis, which makes one of them, and joiners between
 * letters of scripts that are written with them, such as Persian and Hindi (Unicode 15, 23.2).
 */
const HIDDEN =
  /(?!(?<=[\p{sc=Arab}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{M}])(?:\u200c|\u200d)(?=\p{L})|(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic}))(?:[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?!\ufe0f)\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})\ufe0f)/u
const HIDDEN_ALL = new RegExp(HIDDEN.source, 'gu')

/** The rule of `isPlainLine` in words, to follow "must be text". */
export const PLAIN_LINE_RULE = 'without control, direction or zero-width characters'

/** Whether text is safe to show anywhere on one line: no hidden characters and no line breaks. */
export function isPlainLine(text: string): boolean {
  return !HIDDEN.test(text)
}

/** Like `isPlainLine`, but allows line breaks and tabs. */
export function isPlainText(text: string): boolean {
  return isPlainLine(text.replaceAll(/\r?\n|\t/g, ' '))
}

/** Removes hidden characters except line breaks and tabs, so that text is safe to print on a terminal. Idempotent. */
export function printable(text: string): string {
  return text.replaceAll(HIDDEN_ALL, (char) => (char === '\n' || char === '\t' ? char : ''))
}

/** An untrusted name as one line: without hidden characters, truncated to `maxLength` characters. */
export function shownName(text: string, maxLength: number): string {
  const chars = [...text.replaceAll(HIDDEN_ALL, ' ').replaceAll(/\s+/g, ' ').trim()]
  return chars.length > maxLength ? `${chars.slice(0, maxLength - 1).join('')}…` : chars.join('')
}

/** Text with the mark at its end that it may lack. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

/** A value as indented JSON with hidden characters escaped: safe to print, and it parses to the same value. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(HIDDEN_ALL, (char) =>
    char === '\n' ? char : Array.from({ length: char.length }, (_, at) => escapeUnit(char.charCodeAt(at))).join(''),
  )
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
